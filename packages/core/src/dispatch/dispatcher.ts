import { type BroadcastStepper, startBroadcastWatch } from '../broadcasts/run.ts'
import { LIMITS } from '../contract/limits.ts'
import type { DispatchGate } from '../control/dispatch-control.ts'
import { createCreditSums } from '../credits/credit-sums.ts'
import { releaseHolds } from '../credits/holding.ts'
import { expireLots } from '../credits/lots.ts'
import { startLowBalanceWatch } from '../credits/low-balance.ts'
import { checkDueDomains } from '../domains/checks.ts'
import { createSigningKeys } from '../domains/signing-keys.ts'
import type { TxtLookup } from '../domains/txt-lookup.ts'
import type { Incoming } from '../inbound/inbound.ts'
import { PARTS_WAIT_MS } from '../inbound/parts.ts'
import { type BulkStepper, startBulkWatch } from '../messages/bulk-pauses.ts'
import { createRecipientIndex } from '../messages/index-recipients.ts'
import type { AuditRetention } from '../retention/audit-retention.ts'
import type { Retention } from '../retention/retention.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import {
  createTestPace,
  GATE_FORGETS_MS,
  type TestDeliveryQuotas,
} from '../rules/delivery-times.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { Sealer } from '../secrets/sealer.ts'
import { createCodeKey } from '../secrets/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { LowBalance } from '../storage/ports/stores.ts'
import type { SendReplies } from '../twiml/send-replies.ts'
import { removeOldCodes, sweepVerifications } from '../verifications/ends.ts'
import { type FallBack, startFallbackWatch } from '../verifications/fallbacks.ts'
import { startFailureMailWatch } from '../webhooks/failure-mails.ts'
import { HEALTH_HOURS } from '../webhooks/health.ts'
import { deliveryLane } from './delivery-lane.ts'
import type { LoadParts } from './in-flight.ts'
import { type RunningLane, startLane } from './lane.ts'
import type { CallParts } from './message-calls.ts'
import { messageLane } from './message-lane.ts'
import type { Performer } from './performer.ts'
import type { Listeners, ProviderWatch } from './provider-watch.ts'

import type { Routing } from './routing.ts'

/** The time for listeners to store the reports that arrived; connections that stay open longer are closed. */
const LISTENERS_GRACE_MS = 5_000

/** Sends messages and delivers webhooks. */
export interface Dispatcher {
  /** Reports that messages may be due. */
  wake(): void
  /** Reports that deliveries may be due. */
  wakeDeliveries(): void
  /** Attempts deliveries of this webhook at once, even if the receiver's breaker is open, because a caller requested one. */
  deliverNow(webhookId: string): void
  /** Resolves when nothing is due and nothing is in flight. Work scheduled for later does not count. */
  idle(): Promise<void>
  /** Sweeps now, without waiting for the next regular sweep. */
  sweep(): Promise<void>
  /** Stops claiming and waits at most `grace_ms` for the work in flight. The rest is recovered later. */
  stop(grace_ms: number): Promise<void>
}

/** Starts both lanes, the sweeper and the watches. Holds the right to dispatch until the last work is done. */
export function startDispatcher({
  storage,
  runtime,
  sealer,
  right,
  performer,
  routing,
  gate,
  lease_ms,
  connections,
  callsOf,
  receive,
  sendReplies = null,
  fallBack,
  stepBroadcast,
  stepBulk,
  unsubscribeUrl,
  mailLowBalance = () => true,
  mailWebhooks = () => false,
  watch,
  listeners,
  retention = null,
  history = null,
  auditRetention = null,
  verification_retention_days,
  partitions_ahead,
  txtLookup = null,
  tracing = null,
  quotas,
}: {
  storage: Storage
  runtime: Runtime
  /** Decrypts the secrets of webhooks. */
  sealer: Sealer
  right: { release(): Promise<void> }
  performer: Performer
  routing: Routing
  /** Nothing is claimed while the gate is paused. */
  gate?: Pick<DispatchGate, 'is_paused'>
  /** The length of a claim's lease; each lane has its default. */
  lease_ms?: number | undefined
  connections?: LoadParts['connections']
  callsOf?: LoadParts['callsOf']
  /** Stores the replies of recipients. */
  receive: (provider: string, incoming: readonly Incoming[]) => Promise<void>
  /** Sends the replies in answers with TwiML; null: they are ignored. */
  sendReplies?: SendReplies | null
  /** Sends a code by its next channel; absent: codes have no further channels. */
  fallBack?: FallBack
  /** Does the next step of a broadcast; absent: there are no broadcasts. */
  stepBroadcast?: BroadcastStepper
  /** Frees the messages of resumed bulks; absent: there are no bulks. */
  stepBulk?: BulkStepper
  /** The watch of providers; it stops with the dispatcher. */
  watch?: ProviderWatch
  /** The listeners close after the last provider call has ended. */
  listeners?: Listeners
  /** The link with which the recipient of a message unsubscribes. */
  unsubscribeUrl?: CallParts['unsubscribeUrl']
  /** Queues a mail to the owner; false if too many mails are queued. */
  mailLowBalance?: (low: LowBalance) => void
  /** Queues a mail to the owner about webhooks that fail. Returns false if too many mails wait. */
  mailWebhooks?: (workspaceId: string) => boolean
  /** The retention of messages; null if messages are kept forever. */
  retention?: Retention | null
  /** The removal of finished history; null if it is kept forever. */
  history?: Retention | null
  /** The retention of the audit log; null if the audit log is kept forever. */
  auditRetention?: AuditRetention | null
  /** Days after their end at which verifications are removed. Default: 30. */
  verification_retention_days?: number | undefined
  /** The months after the current one that have partitions, where histories are partitioned. Default: 3. */
  partitions_ahead?: number | undefined
  /** Looks up the records of sending domains; null: they are not checked again. */
  txtLookup?: TxtLookup | null
  tracing?: Tracing | null
  /** The limits of deliveries about test messages; absent: there are none. */
  quotas?: TestDeliveryQuotas | undefined
}): Dispatcher {
  const { log, telemetry } = runtime
  const lane = deliveryLane({
    storage,
    runtime,
    sealer,
    performer,
    sendReplies,
    tracing,
    quotas,
    lease_ms,
  })
  const deliveries = startLane(lane, log, telemetry, gate)
  const sending = messageLane({
    storage,
    runtime,
    performer,
    routing,
    receive,
    signing: createSigningKeys({ storage, runtime, sealer }),
    codeKey: createCodeKey({ storage, runtime, sealer }).get,
    unsubscribeUrl,
    tracing,
    lease_ms,
    connections,
    callsOf,
  })
  const messages = startLane(sending, log, telemetry, gate)
  const sweeper = startSweeper({
    storage,
    runtime,
    retention,
    history,
    auditRetention,
    verification_retention_days,
    partitions_ahead,
    txtLookup,
  })
  const lowBalances = startLowBalanceWatch({
    storage,
    runtime,
    mail: mailLowBalance,
    onQueued: deliveries.wake,
  })
  const failures = startFailureMailWatch({ storage, runtime, mail: mailWebhooks })
  const fallbacks = fallBack && startFallbackWatch({ storage, runtime, gate, fallBack })
  const broadcasts =
    stepBroadcast && startBroadcastWatch({ storage, runtime, gate, step: stepBroadcast })
  const bulks = stepBulk && startBulkWatch({ storage, runtime, gate, step: stepBulk })
  const lanes: Pick<RunningLane, 'wake' | 'quiet' | 'isQuiet' | 'stop'>[] = [messages, deliveries]
  storage.hot.setLanes({
    messages,
    deliveries: {
      reserve: deliveries.reserve,
      queued(refs) {
        lane.queued(refs)
        deliveries.wake()
      },
      ...(quotas && {
        testPace: createTestPace(quotas.test_deliveries_per_second, runtime.elapsed),
      }),
    },
  })
  const wake = () => {
    for (const lane of lanes) lane.wake()
  }
  // Other processes on this database queue work too.
  const unsubscribe = storage.hot.onWake?.((work) => {
    if (work !== 'deliveries') messages.wake()
    if (work !== 'messages') deliveries.wake()
  })
  return {
    wake: messages.wake,
    wakeDeliveries: deliveries.wake,
    deliverNow(webhookId) {
      lane.probeNow(webhookId)
      deliveries.wake()
    },
    sweep: sweeper.sweep,
    async idle() {
      await watch?.look()
      await lowBalances.look()
      await failures.look()
      await fallbacks?.look()
      await broadcasts?.look()
      await bulks?.look()
      wake()
      do {
        for (const lane of lanes) await lane.quiet()
      } while (!lanes.every((lane) => lane.isQuiet()))
    },
    async stop(grace_ms) {
      unsubscribe?.()
      storage.hot.setLanes(null)
      const others = [
        sweeper.stop(),
        lowBalances.stop(),
        failures.stop(),
        fallbacks?.stop(),
        broadcasts?.stop(),
        bulks?.stop(),
        watch?.stop(),
      ]
      await Promise.all([...others, ...lanes.map((lane) => lane.stop(grace_ms))])
      await listeners?.close(LISTENERS_GRACE_MS)
      await performer.close()
      await right.release()
    },
  }
}

/** A file without a message after this time was refused, or its server was killed. No request lasts as long. */
const FILE_WAIT_MS = 60 * 60_000

/** The number of files of one step: each can have a hundred large rows. */
const FILES_STEP_MAX = 4

export interface Sweeper {
  /** Sweeps once, now. Resolves when everything that expired is removed, or if another server is sweeping. */
  sweep(): Promise<void>
  /** Starts no further sweep and waits for the step that is running. */
  stop(): Promise<void>
}

const EVERY_MS = 60_000

const PARTITIONS_AHEAD = 3

/** The number of rows of one step. A step is one transaction, and sends wait while it runs. */
const STEP_MAX = 1_000

/** The number of holds or lots of one step. It is smaller, because each of them takes several statements. */
const CREDITS_STEP_MAX = 100

/**
 * Once a minute, removes rows that expired and are never read again, releases holds and expires lots that reached their
 * end, adds the partitions of the next months, writes the index of recipients and the sums of credits, applies the retention times, and checks
 * the records of sending domains. Only one server of a database sweeps at a time.
 */
export function startSweeper({
  storage,
  runtime,
  retention = null,
  history = null,
  auditRetention = null,
  verification_retention_days,
  partitions_ahead = PARTITIONS_AHEAD,
  txtLookup = null,
}: {
  storage: Storage
  runtime: Runtime
  /** The retention of messages; null if messages are kept forever. */
  retention?: Retention | null
  /** The removal of finished history; null if it is kept forever. */
  history?: Retention | null
  /** The retention of the audit log; null if the audit log is kept forever. */
  auditRetention?: AuditRetention | null
  /** Days after their end at which verifications are removed. Default: 30. */
  verification_retention_days?: number | undefined
  /** The months after the current one that have partitions, where histories are partitioned. Default: 3. */
  partitions_ahead?: number | undefined
  /** Looks up the records of sending domains; null: they are not checked again. */
  txtLookup?: TxtLookup | null
}): Sweeper {
  let stopping = false
  let sweeping: Promise<void> | null = null
  let failures = 0
  const timer = setInterval(() => void sweep(), EVERY_MS).unref()
  const recipients = createRecipientIndex({ storage, runtime })
  const creditSums = createCreditSums(storage)

  async function untilGone(step: () => Promise<number>, step_max = STEP_MAX): Promise<void> {
    while (!stopping && (await step()) >= step_max);
  }

  /** A step that fails must not stop the next steps. */
  async function alone(step: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      failures += 1
      runtime.log.warn({ err: error, step }, 'sweeping failed')
    }
  }

  async function sweepAll(): Promise<void> {
    failures = 0
    const now = runtime.now()
    // First, because other steps may take long.
    await alone('partitions', async () => {
      const added = (await storage.keepPartitions?.(partitions_ahead, now)) ?? []
      if (added.length > 0) runtime.log.info({ partitions: added }, 'partitions were added')
    })
    const ended = new Date(now.getTime() - LIMITS.idempotency_lifetime_s * 1000)
    await alone('answers', () =>
      untilGone(() => storage.write(({ messages }) => messages.forgetAnswers(ended, STEP_MAX))),
    )
    const unusedFiles = new Date(now.getTime() - FILE_WAIT_MS)
    await alone('files', () =>
      untilGone(
        () => storage.write(({ files }) => files.forgetUnused(unusedFiles, FILES_STEP_MAX)),
        FILES_STEP_MAX,
      ),
    )
    await alone('account tokens', () =>
      untilGone(() => storage.write(({ accountTokens }) => accountTokens.forget(now, STEP_MAX))),
    )
    await alone('ended sessions', () =>
      untilGone(() => storage.write(({ sessions }) => sessions.forget(now, STEP_MAX))),
    )
    await alone('invitations', () =>
      untilGone(() => storage.write(({ invitations }) => invitations.forget(now, STEP_MAX))),
    )
    const unused = new Date(now.getTime() - LIMITS.login_network_lifetime_s * 1000)
    await alone('login networks', () =>
      untilGone(() => storage.write(({ loginNetworks }) => loginNetworks.forget(unused, STEP_MAX))),
    )
    const { sweepCounters } = storage.hot
    if (sweepCounters) {
      await alone('counters', () => untilGone(() => sweepCounters(now, STEP_MAX)))
    }
    const hostsEnded = new Date(now.getTime() - GATE_FORGETS_MS)
    await alone('hosts of webhooks', () =>
      untilGone(() => storage.write(({ webhooks }) => webhooks.forgetHosts(hostsEnded, STEP_MAX))),
    )
    const hourEnded = Math.floor(now.getTime() / HOUR_MS) - HEALTH_HOURS
    await alone('hours of webhooks', () =>
      untilGone(() => storage.write(({ webhooks }) => webhooks.forgetHours(hourEnded, STEP_MAX))),
    )
    const partsEnded = new Date(now.getTime() - PARTS_WAIT_MS)
    await alone('received parts', () =>
      untilGone(() =>
        storage.write(({ receivedMessages }) => receivedMessages.forgetParts(partsEnded, STEP_MAX)),
      ),
    )
    const parts = { storage, runtime }
    const isStopping = () => stopping
    await alone('holds', () => releaseHolds(parts, now, CREDITS_STEP_MAX, isStopping))
    await alone('lots', () => expireLots(parts, now, CREDITS_STEP_MAX, isStopping))
    await alone('codes', () => removeOldCodes(parts, isStopping))
    await alone('verifications', () =>
      sweepVerifications({ ...parts, days: verification_retention_days }, STEP_MAX, isStopping),
    )
    await alone('recipients', () => recipients.write(isStopping))
    await alone('credit sums', () => creditSums.write(isStopping))
    if (retention) await alone('retention', () => retention.apply(isStopping))
    if (history) await alone('history', () => history.apply(isStopping))
    if (auditRetention) await alone('audit log', () => auditRetention.apply(isStopping))
    // Last, because name servers that do not answer take time.
    if (txtLookup) {
      const checks = { storage, runtime, lookup: txtLookup }
      await alone('sending domains', () => checkDueDomains(checks, isStopping))
    }
    runtime.telemetry?.swept(failures > 0)
  }

  function sweep(): Promise<void> {
    sweeping ??= (storage.alone ? storage.alone('sweep', sweepAll) : sweepAll())
      .then(
        () => {},
        (error) => runtime.log.warn({ err: error }, 'sweeping failed'),
      )
      .finally(() => {
        sweeping = null
      })
    return sweeping
  }

  return {
    sweep,
    async stop() {
      stopping = true
      clearInterval(timer)
      await sweeping
    },
  }
}
