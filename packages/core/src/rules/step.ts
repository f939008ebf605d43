import type { SuppressionReason } from '../contract/outside/provider.ts'
import { suppressedAddress } from './accept.ts'
import { fanOut, statusData } from './fan-out.ts'
import { giveBack } from './money.ts'
import type { SettledMessage, Step } from './settlement.ts'
import { advance, type Reported, STATUS_EVENTS } from './status.ts'

/** Gives the message its next status: history, event and deliveries with it. */
export function apply(
  step: Step,
  status: Reported,
  code: string | null,
  text: string | null,
): void {
  const { message, settlement, state, plan, context } = step
  const { at } = settlement
  message.status = status
  message.sequence += 1
  message.updated_at = at
  // Where a provider reports in one breath what happened one after the other, the earlier times are this one.
  if (status === 'sent') message.sent_at = at
  if (status === 'delivered') message.delivered_at = at
  if (status === 'read') message.read_at = at
  if (status === 'failed') message.failed_at = at
  message.error_code = status === 'failed' ? code : null
  message.error_message = status === 'failed' && !isErased(message) ? text : null
  note(step, status, true, { error_code: code, error_message: text })
  const { workspace_id, id: message_id } = message
  fanOut(
    plan,
    { event: STATUS_EVENTS[status], data: statusData(message, at), workspace_id, message_id },
    state.subscribers.get(workspace_id) ?? [],
    { at, newId: context.newId },
  )
}

/** Adds to the history what was reported, whether or not it changed the message. */
export function note(
  { message, settlement, plan, context }: Step,
  status: Reported,
  applied: boolean,
  error: { error_code: string | null; error_message: string | null },
): void {
  plan.message_events.push({
    workspace_id: message.workspace_id,
    message_id: message.id,
    id: context.newId(),
    status,
    applied,
    error_code: error.error_code,
    error_message: isErased(message) ? null : error.error_message,
    at: settlement.at,
  })
}

/** Fails a message that no provider has whole, and gives its credits back where none has a part of it either. */
export function fail(step: Step, code: string, text: string): void {
  // The refusal of a repetition does not say that the attempt before it did not arrive.
  if (step.queued?.unknown_since) failUnknown(step, text)
  else failKnown(step, code, text)
}

/** The same where it is certain that no attempt before arrived. */
export function failKnown(step: Step, code: string, text: string): void {
  const { message } = step
  // Nobody takes a part of a call: what is held for one is held for all of it.
  if (!message.accepted || message.channel === 'voice') giveBack(step)
  for (const status of advance(message, 'failed')) apply(step, status, code, text)
  dequeue(step)
}

/** Fails a message that a provider may have: whoever may have delivered it is paid, so nothing is given back. */
export function failUnknown(step: Step, text: string): void {
  step.message.accepted = true
  for (const status of advance(step.message, 'failed')) apply(step, status, 'outcome_unknown', text)
  dequeue(step)
}

/**
 * Nothing more is to be sent to this recipient on the channel. Who was erased is not known any more; what a test message
 * meets says nothing of live ones.
 */
export function suppress({ message, settlement, plan }: Step, reason: SuppressionReason): void {
  if (isErased(message) || !message.livemode) return
  const { workspace_id, channel } = message
  const address = suppressedAddress(message)
  plan.suppressions.push({ workspace_id, channel, address, reason, created_at: settlement.at })
}

/** Puts the message back in the queue, for `task` after `waitMs`, unclaimed. */
export function requeue(
  step: Step,
  task: 'send' | 'lookup',
  waitMs: number,
  unknownSince: Date | null,
): void {
  const { queued, settlement, plan, message } = step
  if (!queued) return
  step.state.queue.delete(message.id)
  plan.requeue.push({
    ...queued,
    task,
    due_at: new Date(settlement.at.getTime() + waitMs),
    set_at: settlement.at,
    token: null,
    unknown_since: unknownSince,
  })
}

/** Since when it is unknown whether the provider has the message: now at the latest, if the clock was ahead then. */
export function unknownSince({ queued, settlement }: Step): Date {
  const since = queued?.unknown_since
  return since && since < settlement.at ? since : settlement.at
}

/** Takes the message out of the queue: it needs nothing more. */
export function dequeue({ message, plan, state }: Step): void {
  if (state.queue.delete(message.id)) plan.dequeue.push(message.id)
}

/** Whether it was erased: what is learned later, in texts that may name somebody, is not to bring that back. */
export function isErased({ erased_at }: SettledMessage): boolean {
  return erased_at !== null
}

/** Failed before any provider had it, its credits given back: nothing learned later revives it. */
export function wasRefunded({ status, accepted }: SettledMessage): boolean {
  return status === 'failed' && !accepted
}

/** Notes who has the message, or was asked last: an id that another one gave it says nothing to this one. */
export function assign(message: SettledMessage, provider: string): void {
  if (message.provider !== provider) message.provider_message_id = null
  message.provider = provider
}
