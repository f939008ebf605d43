import { planSettle } from './settle.ts'
import type { SettleContext, Settlement, SettlePlan, SettleState } from './settlement.ts'

/** The wish that these messages be not sent. */
export interface CancelRequest {
  workspace_id: string
  message_ids: readonly string[]
  at: Date
}

/** `not_cancelable`: it was sent, failed or canceled before, or a provider is being asked just now or may have it. */
export type CancelOutcome = 'canceled' | 'not_cancelable' | 'not_found'

/** The cancellation as settlements, one for each message. */
export function cancellations({ workspace_id, message_ids, at }: CancelRequest): Settlement[] {
  return message_ids.map((message_id) => ({
    workspace_id,
    message_id,
    token: null,
    provider: '',
    abilities: { idempotent: false, lookup: false },
    result: { task: 'cancel' },
    at,
  }))
}

/** Cancels what can be: each message fails as any other does, its credits given back once. Outcomes are positional. */
export function planCancel(
  settlements: readonly Settlement[],
  state: SettleState,
  context: SettleContext,
): { plan: SettlePlan; outcomes: CancelOutcome[] } {
  const known = settlements.map(({ message_id }) => state.messages.has(message_id))
  const plan = planSettle(settlements, state, context)
  const outcomes = plan.counted.map((isCanceled, i): CancelOutcome => {
    if (isCanceled) return 'canceled'
    return known[i] ? 'not_cancelable' : 'not_found'
  })
  return { plan, outcomes }
}
