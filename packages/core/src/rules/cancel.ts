import { planSettle } from './settle.ts'
import type { SettleContext, Settlement, SettlePlan, SettleState } from './settlement.ts'

export interface CancelRequest {
  workspace_id: string
  message_ids: readonly string[]
  at: Date
}

/** `not_cancelable`: the message was sent, has failed or was canceled, or a provider may have it. */
export type CancelOutcome = 'canceled' | 'not_cancelable' | 'not_found'

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

/** Cancels messages, if possible: each fails and is refunded once. Outcomes are in the order of `settlements`. */
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
