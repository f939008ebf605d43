import type { SuppressionReason } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/messages.ts'
import { fanOut, statusData } from './fan-out.ts'
import { giveBack } from './money.ts'
import type { SettledMessage, Step } from './settlement.ts'
import { advance, type Reported, STATUS_EVENTS } from './status.ts'
import { suppressedAddress } from './suppression.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Past this age a message is no longer worth sending; `expires_in` of the request sets its own. */
const MAX_AGE_MS: Record<Channel, number> = {
  sms: 4 * HOUR_MS,
  whatsapp: 4 * HOUR_MS,
  voice: 4 * HOUR_MS,
  email: 48 * HOUR_MS,
}

/** How the pauses between tries grow. */
export const RETRY = { base_ms: 1_000, cap_ms: 5 * MINUTE_MS }

/** How the pauses between questions grow. */
export const LOOKUP = { base_ms: 2_000, cap_ms: 5 * MINUTE_MS }

/** A provider's own wish for a pause is honoured between these. */
export const DELAY_MIN_MS = 1_000
export const DELAY_MAX_MS = 24 * HOUR_MS

/**
 * Until then, that a provider does not know a message says nothing: it may not have come round to the request whose
 * answer was lost, or not list it yet.
 */
export const NOT_FOUND_MIN_MS = MINUTE_MS

/** How long an unknown outcome may stay unknown before the message fails as `outcome_unknown`; at the least. */
export const UNKNOWN_MAX_MS = 10 * MINUTE_MS

/**
 * The same where the provider can still tell, by a look-up or by how it takes a repetition: for as long as the message is
 * worth sending. An outage of the provider is no reason to give it up.
 */
export function unknownMaxMs(message: SettledMessage, since: Date): number {
  return Math.max(UNKNOWN_MAX_MS, deadlineMs(message) - since.getTime())
}

/** How long after a message was sent its provider is asked what became of it: then `sent` stands, unless a receipt comes. */
export const FOLLOW_MAX_MS = 72 * HOUR_MS

/** Past this moment, in milliseconds, the message is no longer worth sending. */
export function deadlineMs(message: SettledMessage): number {
  if (message.expires_at) return message.expires_at.getTime()
  const since = message.scheduled_at ?? message.created_at
  return since.getTime() + MAX_AGE_MS[message.channel]
}

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

/** Keeps what receipts will name the parts of the message by. */
export function addParts({ settlement, message, plan }: Step, attempt: number, ids: string[]) {
  for (const [i, provider_message_id] of ids.entries()) {
    plan.parts.push({
      workspace_id: message.workspace_id,
      message_id: message.id,
      number: i + 1,
      attempt,
      provider: settlement.provider,
      provider_message_id,
      status: 'sent',
      created_at: settlement.at,
    })
  }
}
