import { LIMITS } from '../contract/limits.ts'
import type { DeliveryResult } from '../rules/record.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { SealedError, type Sealer } from '../secrets/sealer.ts'
import type { ClaimedDelivery } from '../storage/ports/hot.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { type DeliverAnswer, deliveryOutcome } from '../webhooks/deliver.ts'
import { secretsInTurn } from '../webhooks/rotation.ts'
import {
  fingerprintOf,
  type Opened,
  openWebhook,
  type WebhookSecrets,
} from '../webhooks/sealed-webhook.ts'
import type { Lane } from './lane.ts'
import { chunks } from './message-lane.ts'
import type { Performer } from './performer.ts'
import { persist } from './persist.ts'
import { createShares, type Whose } from './shares.ts'

/** While a secret is being changed a try may be two requests. */
const TRY_MAX_MS = 2 * LIMITS.webhook_deadline_ms

/** Longer than one try, or two tries of one delivery would be under way at once. */
const LEASE_MS = TRY_MAX_MS + 30_000

const SLOTS = 4096
/** Callers wait for the writer of a SQLite file while it claims: 128 rows take about 2 ms. */
const CLAIM_MAX = 128

/** Each batch is one task of a thread; it holds one webhook's deliveries only, so that none waits for a stranger's. */
const TASK_BATCH_MAX = 32

/** A delivery whose thread died so often in a row may be what kills it: that counts as its failure. */
const LOST_MAX = 3

/** Deliveries on their way to the receivers. */
export interface DeliveryLane extends Lane<ClaimedDelivery> {
  /** Somebody says that this webhook's receiver is repaired: one that is taken for dead is tried at once. */
  hurry(webhookId: string): void
}

/** Opens the lane. */
export function deliveryLane({
  storage,
  runtime,
  sealer,
  performer,
  tracing = null,
  lease_ms = LEASE_MS,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  performer: Performer
  tracing?: Tracing | null
  /** How long a claim is its claimant's. */
  lease_ms?: number | undefined
}): DeliveryLane {
  const shares = createShares({ slots: SLOTS })
  const losses = new Map<string, number>()

  async function deliver(
    batch: readonly Begun<Opened<ClaimedDelivery>>[],
    look: () => void,
    start_by_ms: number,
  ): Promise<void> {
    const began = runtime.elapsed()
    const jobs = batch.map(({ delivery }) => ({ ...delivery, ...secretsInTurn(delivery) }))
    const answered = await performer
      .deliver(jobs, start_by_ms)
      .catch((error): (DeliverAnswer | null)[] => {
        runtime.log.error({ err: error }, 'a batch of deliveries was lost')
        return batch.map(() => null)
      })
    const was_called = answered !== null
    const answers = answered ?? batch.map(() => null)
    end(batch, answers, began)
    const results = batch.map((each, i) => resultOf(each, answers[i] ?? null, was_called))
    const written = persist(results, storage.hot.recordDeliveries, runtime.log)
    // The receivers have room again: what is claimed for them now shares the commit of what is recorded.
    look()
    await written
    for (const result of results) tellAttempt(runtime, result)
    tracing?.delivered(results)
  }

  /** Gives the receivers' slots back. */
  function end(
    batch: readonly Begun<Whose>[],
    answers: readonly (DeliverAnswer | null)[],
    began: number,
  ): void {
    const at = runtime.elapsed()
    for (const [i, { delivery, is_probe }] of batch.entries()) {
      const answer = answers[i] ?? null
      const status = answer?.response_status ?? null
      shares.ended(delivery, answer && { ...answer, status }, { began, at, is_probe })
    }
  }

  function resultOf(
    { delivery, is_probe }: Begun<Opened<ClaimedDelivery>>,
    answer: DeliverAnswer | null,
    was_called: boolean,
  ): DeliveryResult {
    const { workspace_id, webhook_id, delivery_id, token, previous_secret } = delivery
    const { started_at_ms, used_other_secret, ...rest } = answer ?? lost(runtime.now().getTime())
    if (answer) losses.delete(delivery_id)
    const turn = secretsInTurn(delivery)
    const signed_with = used_other_secret ? turn.other_secret : turn.secret
    return {
      workspace_id,
      webhook_id,
      delivery_id,
      token,
      started_at: new Date(started_at_ms),
      ...rest,
      signed_with:
        previous_secret === null || signed_with === null ? null : fingerprintOf(signed_with),
      is_probe,
      is_unknown: answer === null && (!was_called || isExcused(delivery_id)),
    }
  }

  /** Whether the loss of a try is not the delivery's fault yet. */
  function isExcused(deliveryId: string): boolean {
    const before = losses.get(deliveryId) ?? 0
    losses.delete(deliveryId)
    if (before + 1 >= LOST_MAX) return false
    losses.set(deliveryId, before + 1)
    const [oldest] = losses.keys()
    if (losses.size > SLOTS && oldest !== undefined) losses.delete(oldest)
    return true
  }

  /**
   * With their secrets in plain text, those of one webhook; those that cannot be decrypted apart. Opening takes 5 µs a
   * value, which is not worth a thread, and is done once for those that have the same.
   */
  function open(group: readonly Begun<ClaimedDelivery>[]) {
    const ready: Begun<Opened<ClaimedDelivery>>[] = []
    const unreadable: Begun<ClaimedDelivery>[] = []
    const known = new Map<string, WebhookSecrets>()
    for (const one of group) {
      const { workspace_id, webhook_id: id, secret, previous_secret, headers } = one.delivery
      const sealed = JSON.stringify([secret, previous_secret, headers])
      try {
        const secrets =
          known.get(sealed) ??
          openWebhook(sealer, { workspace_id, id }, { secret, previous_secret, headers })
        known.set(sealed, secrets)
        ready.push({ ...one, delivery: { ...one.delivery, ...secrets } })
      } catch (error) {
        if (!(error instanceof SealedError)) throw error
        if (unreadable.length === 0) {
          runtime.log.error({ err: error }, 'deliveries wait: a secret cannot be decrypted')
        }
        unreadable.push(one)
      }
    }
    return { ready, unreadable }
  }

  /** Not tried, and no attempt is counted; as with a receiver that fails, few are claimed until one can be read. */
  async function putBack(batch: readonly Begun<ClaimedDelivery>[]): Promise<void> {
    if (batch.length === 0) return
    const answer = { ...lost(runtime.now().getTime()), error: 'unreadable_secret' }
    end(
      batch,
      batch.map(() => answer),
      runtime.elapsed(),
    )
    const { started_at_ms, used_other_secret: _, ...rest } = answer
    const results = batch.map(({ delivery, is_probe }): DeliveryResult => {
      const { workspace_id, webhook_id, delivery_id, token } = delivery
      const of = { workspace_id, webhook_id, delivery_id, token }
      return { ...of, ...rest, started_at: new Date(started_at_ms), is_probe, is_unknown: true }
    })
    await persist(results, storage.hot.recordDeliveries, runtime.log)
  }

  return {
    name: 'deliveries',
    hurry: shares.hurry,
    slots: SLOTS,
    batch: CLAIM_MAX,
    claim: (limit) =>
      storage.hot.claimDeliveries({
        now: runtime.now(),
        elapsed_ms: runtime.elapsed(),
        limit,
        ...shares.rooms(runtime.elapsed()),
        lease_ms,
        token: runtime.id(),
      }),
    async run(deliveries, done, look, claimed_ms) {
      // A try that begins by then ends within the lease: later ones may be another server's.
      const start_by_ms = claimed_ms + lease_ms - Math.min(TRY_MAX_MS, lease_ms / 2)
      const at = runtime.elapsed()
      const groups = new Map<string, Begun<ClaimedDelivery>[]>()
      for (const delivery of deliveries) {
        const one = { delivery, is_probe: shares.began(delivery, at) }
        const group = groups.get(delivery.webhook_id)
        if (group) group.push(one)
        else groups.set(delivery.webhook_id, [one])
      }
      await Promise.all(
        [...groups.values()].flatMap((group) => {
          const { ready, unreadable } = open(group)
          return [
            ...chunks(ready, TASK_BATCH_MAX).map((batch) =>
              deliver(batch, look, start_by_ms).finally(() => done(batch.length)),
            ),
            putBack(unreadable).finally(() => done(unreadable.length)),
          ]
        }),
      )
    },
  }
}

/** A delivery that has its slot. */
interface Begun<Delivery> {
  delivery: Delivery
  is_probe: boolean
}

/** A thread that died says nothing of its deliveries. */
function lost(at_ms: number): DeliverAnswer {
  return {
    started_at_ms: at_ms,
    duration_ms: 0,
    response_status: null,
    response_body: null,
    error: 'interrupted',
    retry_after_ms: null,
    used_other_secret: false,
  }
}

function tellAttempt(runtime: Runtime, result: DeliveryResult): void {
  const { workspace_id, webhook_id, delivery_id, duration_ms, response_status, error } = result
  runtime.log.debug(
    { workspace_id, webhook_id, delivery_id, duration_ms, response_status, error },
    'delivery.attempted',
  )
  runtime.telemetry?.deliveryAttempted(deliveryOutcome(result), duration_ms)
}
