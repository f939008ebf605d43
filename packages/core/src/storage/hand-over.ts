import type { MessageRow } from '../rows/rows.ts'
import { isDueAtOnce, planQueue, type QueuePlan } from '../rules/claim.ts'
import type { ClockSteps } from './clock-steps.ts'
import type { Lanes } from './ports/hot.ts'

/** The hand-over of the work that a transaction queues and claims. Exactly one of its functions is called, once. */
export interface HandOver {
  /** The transaction is durable. */
  handOver(): void
  /** The transaction was rolled back. */
  release(): void
  /** It is unknown whether the transaction is durable. */
  giveBack(): void
}

/** Queues new messages, and claims those for which the lane has room. While the clock is in doubt, a claim comes first. */
export function queueMessages(
  messages: readonly MessageRow[],
  lane: Lanes['messages'] | undefined,
  steps: Pick<ClockSteps, 'isDoubtful'>,
): QueuePlan & HandOver {
  const count = steps.isDoubtful() ? 0 : messages.filter(isDueAtOnce).length
  const reservation = count > 0 ? lane?.reserve(count) : null
  try {
    const plan = planQueue(messages, reservation?.terms ?? null)
    return {
      ...plan,
      handOver() {
        reservation?.handOver(plan.claimed)
        if (plan.waiting > 0) lane?.queued()
      },
      release: () => reservation?.release(),
      giveBack: () => reservation?.giveBack(plan.claimed),
    }
  } catch (error) {
    reservation?.release()
    throw error
  }
}
