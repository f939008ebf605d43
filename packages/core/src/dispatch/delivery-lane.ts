import { LIMITS } from '../contract/limits.ts'
import type { Runtime } from '../runtime.ts'
import type { ClaimedDelivery, Storage } from '../storage/storage.ts'
import type { DeliverAnswer } from '../webhooks/deliver.ts'
import { type DeliveryResult, isSuccess } from '../webhooks/record.ts'
import { createRotations, type Rotations, type SecretsInTurn } from '../webhooks/rotation.ts'
import type { Lane } from './lane.ts'
import { chunks } from './message-lane.ts'
import type { Performer } from './performer.ts'
import { persist } from './persist.ts'

/**
 * Longer than the deadline of one try, or two tries of one delivery would be under way at once; while a secret is being
 * changed a try may be two requests.
 */
const LEASE_MS = 2 * LIMITS.webhook_deadline_ms + 30_000

const SLOTS = 4096
const CLAIM_MAX = 512
/** The share of the slots that one webhook may fill: the others are there for everybody else. */
const SLOTS_PER_WEBHOOK = 256
/** Each batch is one task of a thread; it holds one webhook's deliveries only, so that none waits for a stranger's. */
const TASK_BATCH_MAX = 32

/** Deliveries on their way to the receivers. */
export function deliveryLane({
  storage,
  runtime,
  performer,
  lease_ms = LEASE_MS,
}: {
  storage: Storage
  runtime: Runtime
  performer: Performer
  /** How long a claim is its claimant's. */
  lease_ms?: number | undefined
}): Lane<ClaimedDelivery> {
  const inFlight = new Map<string, number>()
  const rotations = createRotations()

  function count(webhookId: string, change: number): void {
    const now = (inFlight.get(webhookId) ?? 0) + change
    if (now > 0) inFlight.set(webhookId, now)
    else inFlight.delete(webhookId)
  }

  async function deliver(webhookId: string, batch: readonly ClaimedDelivery[]): Promise<void> {
    count(webhookId, batch.length)
    try {
      const jobs = batch.map((delivery) => ({ ...delivery, ...rotations.inTurn(delivery) }))
      const answers = await performer.deliver(jobs).catch((error) => {
        runtime.log.error({ err: error }, 'a batch of deliveries was lost')
        return batch.map(() => lost(runtime.now()))
      })
      for (const [i, job] of jobs.entries()) noteSecret(rotations, job, answers[i])
      const results = batch.map((delivery, i) => resultOf(delivery, answers[i] as DeliverAnswer))
      await persist(results, storage.hot.recordDeliveries, runtime.log)
      for (const result of results) logAttempt(runtime, result)
    } finally {
      count(webhookId, -batch.length)
    }
  }

  return {
    name: 'deliveries',
    slots: SLOTS,
    batch: CLAIM_MAX,
    claim: (limit) =>
      storage.hot.claimDeliveries({
        now: runtime.now(),
        limit,
        limit_per_webhook: SLOTS_PER_WEBHOOK,
        in_flight: inFlight,
        lease_ms,
        token: runtime.id(),
      }),
    async run(deliveries, done) {
      const groups = new Map<string, ClaimedDelivery[]>()
      for (const delivery of deliveries) {
        const group = groups.get(delivery.webhook_id)
        if (group) group.push(delivery)
        else groups.set(delivery.webhook_id, [delivery])
      }
      await Promise.all(
        [...groups].flatMap(([webhookId, group]) =>
          chunks(group, TASK_BATCH_MAX).map((batch) =>
            deliver(webhookId, batch).finally(() => done(batch.length)),
          ),
        ),
      )
    },
  }
}

function noteSecret(
  rotations: Rotations,
  { webhook_id, secret, other_secret }: ClaimedDelivery & SecretsInTurn,
  answer: DeliverAnswer | undefined,
): void {
  if (other_secret === null || !isSuccess(answer?.response_status ?? null)) return
  rotations.accepted(webhook_id, answer?.used_other_secret ? other_secret : secret)
}

function resultOf(delivery: ClaimedDelivery, answer: DeliverAnswer): DeliveryResult {
  const { workspace_id, webhook_id, delivery_id, token } = delivery
  const { started_at_ms, used_other_secret: _, ...rest } = answer
  return {
    workspace_id,
    webhook_id,
    delivery_id,
    token,
    started_at: new Date(started_at_ms),
    ...rest,
  }
}

/** A thread that died says nothing of its deliveries: they are tried again. */
function lost(at: Date): DeliverAnswer {
  return {
    started_at_ms: at.getTime(),
    duration_ms: 0,
    response_status: null,
    response_body: null,
    error: 'interrupted',
    retry_after_ms: null,
    used_other_secret: false,
  }
}

function logAttempt(runtime: Runtime, result: DeliveryResult): void {
  const { workspace_id, webhook_id, delivery_id, duration_ms, response_status, error } = result
  runtime.log.debug(
    { workspace_id, webhook_id, delivery_id, duration_ms, response_status, error },
    'delivery.attempted',
  )
}
