import { LIMITS } from '../contract/limits.ts'
import { releaseHolds } from '../credits/holding.ts'
import { expireLots } from '../credits/lots.ts'
import { checkDueDomains } from '../domains/checks.ts'
import type { TxtLookup } from '../domains/txt-lookup.ts'
import { PARTS_WAIT_MS } from '../inbound/parts.ts'
import type { AuditRetention } from '../operating/audit-retention.ts'
import type { Retention } from '../operating/retention.ts'
import { GATE_FORGETS_MS } from '../rules/receiver-gate.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

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

/** The number of rows of one step. A step is one transaction, and sends wait while it runs. */
const STEP_MAX = 1_000

/** The number of holds or lots of one step. It is smaller, because each of them takes several statements. */
const CREDITS_STEP_MAX = 100

/**
 * Once a minute, removes rows that expired and are never read again, releases holds and expires lots that reached their
 * end, applies the retention times, and checks the records of sending domains. Only one server of a database sweeps at a time.
 */
export function startSweeper({
  storage,
  runtime,
  retention = null,
  auditRetention = null,
  txtLookup = null,
}: {
  storage: Storage
  runtime: Runtime
  /** The retention of messages; null if messages are kept forever. */
  retention?: Retention | null
  /** The retention of the audit log; null if the audit log is kept forever. */
  auditRetention?: AuditRetention | null
  /** Looks up the records of sending domains; null: they are not checked again. */
  txtLookup?: TxtLookup | null
}): Sweeper {
  let stopping = false
  let sweeping: Promise<void> | null = null
  let failures = 0
  const timer = setInterval(() => void sweep(), EVERY_MS).unref()

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
    if (retention) await alone('retention', () => retention.apply(isStopping))
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
