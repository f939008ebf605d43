import { LIMITS } from '../contract/limits.ts'
import type { ClaimedDelivery, ClaimOfNewDeliveries } from '../rules/deliveries.ts'
import type { TestDeliveryQuotas } from '../rules/delivery-times.ts'
import type { DeliveryResult } from '../rules/record.ts'
import { gather } from '../runtime/gather.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { SealedError, type Sealer } from '../secrets/sealer.ts'
import type { HotVerbs } from '../storage/ports/hot.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { SendReplies } from '../twiml/send-replies.ts'
import { type DeliverAnswer, type DeliverJob, deliveryOutcome } from '../webhooks/deliver.ts'

import {
  fingerprintOf,
  type Opened,
  openWebhook,
  signingSecrets,
  type WebhookSecrets,
} from '../webhooks/sealed-webhook.ts'
import { batches, type Lane, persist } from './lane.ts'
import type { Performer } from './performer.ts'

import { createShares, type ReceiverAnswer, type ReceiverRef, type Shares } from './shares.ts'

/** The maximum duration of one attempt: during a rotation of the secret, an attempt may send two requests. */
const ATTEMPT_MAX_MS = 2 * LIMITS.webhook_deadline_ms

/** The lease is longer than one attempt: otherwise two attempts of one delivery could be in flight. */
const LEASE_MS = ATTEMPT_MAX_MS + 30_000

const SLOTS = 4096
/** The maximum of one claim. Requests wait for the writer of a SQLite file during a claim: 128 rows take about 2 ms. */
const CLAIM_MAX = 128

/** The maximum number of remembered requests of attempts. */
const REQUESTED_MAX = 1_000

/** A batch is one task of a thread. It holds deliveries of one webhook, so that no delivery waits for another receiver. */
const BATCH_MAX = 32

/**
 * The time for which results wait for further results, so that they share a commit: at 100 deliveries a second, five of
 * them. A crash in this time repeats their deliveries, as a crash before the commit does.
 */
const RECORD_WAIT_MS = 50

/** If this number of threads in a row died with a delivery, the delivery may be the cause. The attempt counts as failed. */
const LOST_MAX = 3

/** Attempts the deliveries that are due. */
export interface DeliveryLane extends Lane<ClaimedDelivery, ClaimOfNewDeliveries> {
  /** Reports new deliveries that wait in the queue. */
  queued(refs: readonly ReceiverRef[]): void
  /** Makes the next probe of a receiver with an open breaker due at once. */
  probeNow(webhookId: string): void
}

interface DeliveryLaneParts {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  performer: Performer
  tracing?: Tracing | null
  /** Sends the replies in answers with TwiML; null: they are ignored. */
  sendReplies?: SendReplies | null
  /** The limits of deliveries about test messages; absent: there are none. */
  quotas?: TestDeliveryQuotas | undefined
  /** The length of a claim's lease. */
  lease_ms?: number | undefined
}

interface BatchParts extends DeliveryLaneParts {
  shares: Shares
  losses: Losses
  /** Stores results together with the results of the next `RECORD_WAIT_MS`. */
  recordTogether: HotVerbs['recordDeliveries']
}

/** A delivery that holds a slot. */
interface Begun<Delivery> {
  delivery: Delivery
  is_probe: boolean
}

type OpenedDelivery = Begun<Opened<ClaimedDelivery>>

/** Opens the lane. */
export function deliveryLane(options: DeliveryLaneParts): DeliveryLane {
  const { storage, runtime, lease_ms = LEASE_MS, quotas } = options
  const shares = createShares({ slots: SLOTS })
  const recordTogether = gather(
    storage.hot.recordDeliveries,
    async (record) => {
      await new Promise((resolve) => setTimeout(resolve, RECORD_WAIT_MS))
      return record()
    },
    { batch_max: CLAIM_MAX },
  )
  /** The webhooks of which a caller requested an attempt, until the next claim that reads them. */
  const requested = new Set<string>()
  const parts: BatchParts = { ...options, shares, losses: createLosses(), recordTogether }
  return {
    name: 'deliveries',
    probeNow(webhookId) {
      shares.probeNow(webhookId)
      if (requested.size < REQUESTED_MAX) requested.add(webhookId)
    },
    slots: SLOTS,
    batch: CLAIM_MAX,
    queued: shares.queued,
    async claim(limit) {
      const time = { now: runtime.now(), elapsed_ms: runtime.elapsed() }
      const token = runtime.id()
      // A probe that was in flight at the request may have failed meanwhile, and the next one would wait for minutes.
      for (const webhookId of requested) shares.probeNow(webhookId)
      const rooms = shares.rooms(time.elapsed_ms)
      const noteTaken = shares.beginClaim(rooms, limit)
      const claimed = await storage.hot.claimDeliveries({
        ...time,
        limit,
        ...rooms,
        lease_ms,
        token,
        requested: [...requested],
        ...(quotas && { test_deliveries_per_day: quotas.test_deliveries_per_day }),
      })
      // Those that had to wait for the delivery in flight to their host stay.
      for (const { webhook_id } of claimed) requested.delete(webhook_id)
      noteTaken(claimed)
      return claimed
    },
    offer() {
      const admitted: ReceiverRef[] = []
      const at = runtime.elapsed()
      return {
        terms: {
          now: runtime.now(),
          elapsed_ms: at,
          lease_ms,
          token: runtime.id(),
          admits(delivery) {
            const isAdmitted = shares.reserve(delivery, at)
            if (isAdmitted) admitted.push(delivery)
            return isAdmitted
          },
        },
        end: () => shares.release(admitted),
      }
    },
    async run(deliveries, done, look, claimed_ms) {
      // An attempt that begins at or before this time ends within the lease.
      const start_by_ms = claimed_ms + lease_ms - Math.min(ATTEMPT_MAX_MS, lease_ms / 2)
      const at = runtime.elapsed()
      const groups = new Map<string, Begun<ClaimedDelivery>[]>()
      for (const delivery of deliveries) {
        const one = { delivery, is_probe: shares.began(delivery, at) }
        const group = groups.get(delivery.webhook_id)
        if (group) group.push(one)
        else groups.set(delivery.webhook_id, [one])
      }
      const work: Promise<void>[] = []
      for (const group of groups.values()) {
        const { readable, unreadable } = openSecrets(parts, group)
        for (const batch of batches(readable, BATCH_MAX)) {
          const delivered = deliverBatch(parts, batch, look, { began: at, start_by_ms })
          work.push(delivered.finally(() => done(batch.length)))
        }
        if (unreadable.length > 0) {
          work.push(postpone(parts, unreadable).finally(() => done(unreadable.length)))
        }
      }
      await Promise.all(work)
    },
  }
}

/** Posts a batch to its receiver and stores the results. No request starts after `start_by_ms`. */
async function deliverBatch(
  parts: BatchParts,
  batch: readonly OpenedDelivery[],
  look: () => void,
  { began, start_by_ms }: { began: number; start_by_ms: number },
): Promise<void> {
  const { storage, runtime, performer, tracing, shares, recordTogether } = parts
  const jobs = batch.map(({ delivery }) => jobOf(delivery))
  let is_lost = false
  const received = await performer.deliver(jobs, start_by_ms).catch((error) => {
    runtime.log.error({ err: error }, 'a batch of deliveries was lost')
    is_lost = true
    return null
  })
  const answers = received ?? batch.map(() => null)
  const mayWait = freeSlots(shares, batch, answers, { began, at: runtime.elapsed() })
  const replied = await Promise.all(batch.map((each, i) => reply(parts, each, answers[i] ?? null)))
  const results = batch.map((each, i) =>
    resultOf(parts, each, jobs[i] as DeliverJob, replied[i] ?? null, is_lost),
  )
  const waits_until = receiverWait(parts, batch)
  for (const result of results) result.receiver_waits_until = waits_until
  const record = mayWait ? storage.hot.recordDeliveries : recordTogether
  const stored = persist(results, record, runtime.log)
  // The lane claims the deliveries that wait for these slots now, so that the claim shares the commit of these results.
  if (mayWait) look()
  await stored
  // The first 2xx opened the gate for the other deliveries of the webhook.
  if (batch.some(({ delivery }) => delivery.gate_host !== undefined)) {
    shares.queued(batch.map(({ delivery }) => delivery))
    look()
  }
  for (const result of results) reportAttempt(runtime, result)
  tracing?.delivered(results)
}

/** What a thread gets of a delivery. */
function jobOf(delivery: OpenedDelivery['delivery']): DeliverJob {
  const { secret, other_secret } = signingSecrets(delivery)
  return {
    workspace_id: delivery.workspace_id,
    delivery_id: delivery.delivery_id,
    event_id: delivery.event_id,
    event: delivery.event,
    url: delivery.url,
    secret,
    other_secret,
    body: delivery.body,
    message: delivery.message,
    attempt: delivery.attempt,
    format: delivery.format,
    headers: delivery.headers,
  }
}

/** Requeues deliveries with an unreadable secret. No attempt is counted, but the receiver's share counts a failure. */
async function postpone(
  { storage, runtime, shares }: BatchParts,
  batch: readonly Begun<ClaimedDelivery>[],
): Promise<void> {
  const answer = { ...lostAnswer(runtime.now().getTime()), error: 'unreadable_secret' }
  const at = runtime.elapsed()
  const answers = batch.map(() => answer)
  freeSlots(shares, batch, answers, { began: at, at })
  const { started_at_ms, used_other_secret: _, twiml: __, ...rest } = answer
  const results = batch.map(({ delivery, is_probe }): DeliveryResult => {
    const { workspace_id, webhook_id, delivery_id, token, gate_host } = delivery
    const ids = { workspace_id, webhook_id, delivery_id, token, gate_host }
    return { ...ids, ...rest, started_at: new Date(started_at_ms), is_probe, is_unknown: true }
  })
  await persist(results, storage.hot.recordDeliveries, runtime.log)
}

/** Returns whether deliveries that wait in the queue may use the slots. */
function freeSlots(
  shares: Shares,
  batch: readonly Begun<ReceiverRef>[],
  answers: readonly (DeliverAnswer | null)[],
  { began, at }: { began: number; at: number },
): boolean {
  let mayWait = false
  for (const [i, { delivery, is_probe }] of batch.entries()) {
    const answer = answers[i] ?? null
    const when = { began, at, is_probe }
    mayWait = shares.ended(delivery, answer && receiverAnswer(answer), when) || mayWait
  }
  return mayWait
}

function receiverAnswer({
  response_status: status,
  error,
  retry_after_ms,
  duration_ms,
}: DeliverAnswer): ReceiverAnswer {
  return { status, error, retry_after_ms, duration_ms }
}

/** Until when the receiver of a batch gets nothing; null for no wait. */
function receiverWait(
  { shares, runtime }: BatchParts,
  [first]: readonly Begun<ReceiverRef>[],
): Date | null {
  const until = first ? shares.waitsUntil(first.delivery.webhook_id) : 0
  // Most receivers wait for nothing.
  const wait_ms = until > 0 ? until - runtime.elapsed() : 0
  return wait_ms > 0 ? new Date(runtime.now().getTime() + wait_ms) : null
}

/**
 * Sends the replies in an answer, before the delivery is stored as delivered. Returns the answer with the fault, if there is
 * one; an answer whose replies could not be stored counts as a failed attempt.
 */
async function reply(
  { runtime, sendReplies = null }: BatchParts,
  { delivery }: OpenedDelivery,
  answer: DeliverAnswer | null,
): Promise<DeliverAnswer | null> {
  if (!answer?.twiml || !sendReplies) return answer
  if (answer.twiml === 'too_long') return { ...answer, error: 'twiml_too_long' }
  const { workspace_id, delivery_id, secret, body } = delivery
  const twiml = answer.response_body ?? ''
  try {
    const error = await sendReplies({ workspace_id, delivery_id, secret, body, twiml })
    return { ...answer, error }
  } catch (error) {
    runtime.log.error({ err: error, workspace_id, delivery_id }, 'a reply was not sent')
    return { ...answer, response_status: null, error: 'reply_failed' }
  }
}

/** `answer` is null if the thread died (`is_lost`), or if no request began: it was too late, or there is a pause. */
function resultOf(
  { runtime, losses }: BatchParts,
  { delivery, is_probe }: OpenedDelivery,
  { secret, other_secret }: DeliverJob,
  answer: DeliverAnswer | null,
  is_lost: boolean,
): DeliveryResult {
  const { workspace_id, webhook_id, delivery_id, token, previous_secret, gate_host } = delivery
  const known = answer ?? lostAnswer(runtime.now().getTime())
  if (answer) losses.forget(delivery_id)
  const signed_with = known.used_other_secret ? other_secret : secret
  return {
    workspace_id,
    webhook_id,
    delivery_id,
    token,
    started_at: new Date(known.started_at_ms),
    duration_ms: known.duration_ms,
    response_status: known.response_status,
    response_body: known.response_body,
    error: known.error,
    retry_after_ms: known.retry_after_ms,
    address: known.address ?? null,
    signed_with:
      previous_secret === null || signed_with === null ? null : fingerprintOf(signed_with),
    is_probe,
    gate_host,
    is_unknown: answer === null && (!is_lost || losses.isExcused(delivery_id)),
  }
}

/** Decrypts the secrets of one webhook's deliveries, equal secrets once. A value takes 5 µs, so no thread is needed. */
function openSecrets(
  { runtime, sealer }: BatchParts,
  group: readonly Begun<ClaimedDelivery>[],
): { readable: OpenedDelivery[]; unreadable: Begun<ClaimedDelivery>[] } {
  const readable: OpenedDelivery[] = []
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
      readable.push({ ...one, delivery: { ...one.delivery, ...secrets } })
    } catch (error) {
      if (!(error instanceof SealedError)) throw error
      if (unreadable.length === 0) {
        runtime.log.error({ err: error }, 'deliveries wait: a secret cannot be decrypted')
      }
      unreadable.push(one)
    }
  }
  return { readable, unreadable }
}

/** Counts how often in a row a delivery was lost with its thread. */
interface Losses {
  /** Counts a loss. Returns false if the delivery reached `LOST_MAX`; the count then starts again. */
  isExcused(deliveryId: string): boolean
  forget(deliveryId: string): void
}

function createLosses(): Losses {
  const counts = new Map<string, number>()
  return {
    isExcused(deliveryId) {
      const count = (counts.get(deliveryId) ?? 0) + 1
      counts.delete(deliveryId)
      if (count >= LOST_MAX) return false
      counts.set(deliveryId, count)
      const [oldest] = counts.keys()
      if (counts.size > SLOTS && oldest !== undefined) counts.delete(oldest)
      return true
    },
    forget: (deliveryId) => counts.delete(deliveryId),
  }
}

/** The answer of a delivery that was lost with its thread. */
function lostAnswer(at_ms: number): DeliverAnswer {
  return {
    started_at_ms: at_ms,
    duration_ms: 0,
    response_status: null,
    response_body: null,
    error: 'interrupted',
    retry_after_ms: null,
    twiml: null,
    used_other_secret: false,
  }
}

function reportAttempt(runtime: Runtime, result: DeliveryResult): void {
  const { workspace_id, webhook_id, delivery_id, duration_ms, response_status, error } = result
  runtime.log.debug(
    { workspace_id, webhook_id, delivery_id, duration_ms, response_status, error },
    'delivery.attempted',
  )
  runtime.telemetry?.deliveryAttempted(deliveryOutcome(result), duration_ms)
}
