import type { MessageRow } from '../rows/rows.ts'
import { isDueAtOnce, planQueue, type QueuePlan } from '../rules/claim.ts'
import {
  type DeliveryQueuePlan,
  planDeliveryQueue,
  type SubscribedWebhook,
} from '../rules/claim-deliveries.ts'
import type { FanOut } from '../rules/fan-out.ts'
import type { ClockSteps } from './clock-steps.ts'
import type { LaneEntry, Lanes } from './ports/hot.ts'

/** The hand-over of the work that a transaction queues and claims. Exactly one of its functions is called, once. */
export interface HandOver {
  /** The transaction is durable. */
  handOver(): void
  /** The transaction was rolled back. */
  release(): void
  /** It is unknown whether the transaction is durable. */
  giveBack(): void
}

type Steps = Pick<ClockSteps, 'isDoubtful'>

/** Queues new messages, and claims those for which the lane has room. */
export function queueMessages(
  messages: readonly MessageRow[],
  lane: Lanes['messages'] | undefined,
  steps: Steps,
): QueuePlan & HandOver {
  const count = messages.filter(isDueAtOnce).length
  return queueIn(lane, count, steps, (terms) => planQueue(messages, terms))
}

/** Queues the deliveries of new events, and claims those for which the lane and their receivers have room. */
export function queueDeliveries(
  fanOut: FanOut,
  webhooks: ReadonlyMap<string, readonly SubscribedWebhook[]>,
  lane: Lanes['deliveries'] | undefined,
  steps: Steps,
): DeliveryQueuePlan & HandOver {
  const { length } = fanOut.deliveries
  paceTests(fanOut, lane)
  return queueIn(lane, length, steps, (terms) => planDeliveryQueue(fanOut, webhooks, terms))
}

function paceTests(
  { deliveries, delivery_queue }: FanOut,
  lane: Lanes['deliveries'] | undefined,
): void {
  for (const [i, delivery] of deliveries.entries()) {
    const queued = delivery_queue[i]
    if (delivery.livemode || !queued || !lane?.testPace) continue
    queued.due_at = lane.testPace(delivery.workspace_id, delivery.created_at)
    delivery.next_attempt_at = queued.due_at
  }
}

/** While the clock is in doubt nothing is claimed as it is queued, because a claim re-dates the queue first. */
function queueIn<Terms, Item, Row, Plan extends { claimed: Item[]; waiting: Row[] }>(
  lane: LaneEntry<Terms, Item, Row> | undefined,
  count: number,
  steps: Steps,
  planOn: (terms: Terms | null) => Plan,
): Plan & HandOver {
  const reservation = count > 0 && !steps.isDoubtful() ? lane?.reserve(count) : null
  try {
    const plan = planOn(reservation?.terms ?? null)
    return {
      ...plan,
      handOver() {
        reservation?.handOver(plan.claimed)
        if (plan.waiting.length > 0) lane?.queued(plan.waiting)
      },
      release: () => reservation?.release(),
      giveBack: () => reservation?.giveBack(plan.claimed),
    }
  } catch (error) {
    reservation?.release()
    throw error
  }
}
