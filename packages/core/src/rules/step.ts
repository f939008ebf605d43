import type { Outcome, Receipt, SuppressionReason } from '../contract/outside/provider.ts'
import type { EventData } from '../contract/resources/events.ts'
import type { Channel } from '../contract/resources/messages.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageEventRow, MessageRow } from '../rows/rows.ts'
import { countedAs } from './count-changes.ts'
import { fanOut } from './deliveries.ts'
import { giveBack, giveBackShares } from './money.ts'
import {
  newlyFailed,
  statusOfAll,
  suppressedAddress,
  suppressedForms,
  withoutDue,
} from './recipients.ts'
import {
  advance,
  type Reported,
  type SettledMessage,
  STATUS_EVENTS,
  STATUSES,
  type Step,
} from './settlement.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The maximum age of a message without `expires_in`: an older message is not sent. */
const MAX_AGE_MS: Record<Channel, number> = {
  sms: 4 * HOUR_MS,
  whatsapp: 4 * HOUR_MS,
  voice: 4 * HOUR_MS,
  email: 48 * HOUR_MS,
}

export const RETRY = { base_ms: 1_000, cap_ms: 5 * MINUTE_MS }

export const LOOKUP = { base_ms: 2_000, cap_ms: 5 * MINUTE_MS }

/** The bounds of a delay that a provider requests. */
export const DELAY_MIN_MS = 1_000
export const DELAY_MAX_MS = 24 * HOUR_MS

/** An uncertain `not_found` counts from this age: the provider may not have processed or listed a younger request. */
export const NOT_FOUND_MIN_MS = MINUTE_MS

/** The shortest time before a message with an unknown outcome fails as `outcome_unknown`. */
export const UNKNOWN_MAX_MS = 10 * MINUTE_MS

/** This time if a look-up or repetition can find the outcome: until the deadline, to survive a provider's outage. */
export function unknownMaxMs(message: SettledMessage, since: Date): number {
  return Math.max(UNKNOWN_MAX_MS, deadlineMs(message) - since.getTime())
}

/** Look-ups of a sent message end at this age: the message stays `sent` unless a receipt arrives. */
export const FOLLOW_MAX_MS = 72 * HOUR_MS

/** The time, in milliseconds since 1970, after which the message is not sent. */
export function deadlineMs(message: SettledMessage): number {
  if (message.expires_at) return message.expires_at.getTime()
  const since = message.scheduled_at ?? message.created_at
  return since.getTime() + MAX_AGE_MS[message.channel]
}

/** Sets the message's next status, with its history, event and deliveries. `duration_s`: of a call that ended. */
export function apply(
  step: Step,
  status: Reported,
  code: string | null,
  text: string | null,
  { duration_s }: Pick<Receipt, 'duration_s'> = {},
): void {
  const { message, settlement, plan } = step
  const { at } = settlement
  message.status = status
  message.sequence += 1
  message.updated_at = at
  // A report that passes through several statuses gives all of them the same time.
  if (status === 'sent') message.sent_at = at
  if (status === 'delivered') message.delivered_at = at
  if (status === 'read') message.read_at = at
  if (status === 'failed') message.failed_at = at
  // The call is charged for the first duration that is not 0.
  const charged_s = duration_s === undefined ? undefined : message.duration_s || duration_s
  if (charged_s !== undefined) message.duration_s = charged_s
  message.error_code = status === 'failed' ? code : null
  message.error_message = status === 'failed' && !isErased(message) ? text : null
  plan.reached.push({ channel: message.channel, status: countedAs(message) })
  note(step, status, true, { error_code: code, error_message: text })
  const [failed] =
    status === 'failed' ? newlyFailed(step.before.recipients, message.recipients) : []
  announce(step, STATUS_EVENTS[status], {
    ...statusData(message, at, { duration_s: charged_s }),
    ...(failed && { failed_recipients: failed.map(({ address }) => address) }),
  })
}

/** The `data` of an event about a message's status. `duration_s`: of a call that ended. */
function statusData(
  message: Omit<MessageRow, 'content'>,
  at: Date,
  { duration_s }: { duration_s?: number | undefined } = {},
): EventData<'message.sent'> {
  return {
    message_id: message.id,
    recipient: message.recipient,
    channel: message.channel,
    status: message.status,
    credits_used: message.credits_used,
    metadata: message.metadata,
    bulk_id: message.bulk_id,
    livemode: message.livemode,
    provider_message_id: message.provider_message_id,
    error_code: message.error_code,
    error_message: message.error_message,
    occurred_at: at,
    sequence: message.sequence,
    ...(message.recipients && { recipients: message.recipients }),
    ...(message.tags && { tags: message.tags }),
    ...(duration_s !== undefined && { duration_s }),
  }
}

type MessageChange = ReturnType<typeof statusData>

function announce(
  { message, settlement, state, plan, context }: Step,
  event: (typeof STATUS_EVENTS)[Reported] | 'message.recipients_failed',
  data: MessageChange,
): void {
  const { workspace_id, id: message_id } = message
  fanOut(
    plan,
    { event, data, workspace_id, message_id },
    state.subscribers.get(workspace_id) ?? [],
    {
      at: settlement.at,
      newId: context.newId,
      keeps: state.keeps_events,
      callback: message.status_callback,
    },
  )
}

/**
 * Announces the recipients of an e-mail with several that failed with this step, one event for each reason. The event
 * `message.failed` has announced the first reason, if the whole message failed.
 */
export function announceFailedRecipients(step: Step): void {
  const { before, message, settlement } = step
  if (message.recipients === null) return
  const groups = newlyFailed(before.recipients, message.recipients)
  const hasFailed = message.status === 'failed' && before.status !== 'failed'
  for (const group of hasFailed ? groups.slice(1) : groups) {
    const [{ error_code, error_message }] = group
    message.sequence += 1
    announce(step, 'message.recipients_failed', {
      ...statusData(message, settlement.at),
      error_code,
      error_message,
      failed_recipients: group.map(({ address }) => address),
    })
  }
}

/** Adds a report to the history, unless the columns of the message have everything about it. */
export function note(
  { message, settlement, plan, context }: Step,
  status: Reported,
  applied: boolean,
  error: { error_code: string | null; error_message: string | null },
): void {
  const report: StatusReport = {
    status,
    applied,
    error_code: error.error_code,
    error_message: isErased(message) ? null : error.error_message,
    at: settlement.at,
  }
  if (isInColumns(report)) return
  const { workspace_id, id: message_id } = message
  plan.message_events.push({ workspace_id, message_id, id: context.newId(), ...report })
}

/** Fails a message that no provider accepted completely, and refunds it if no provider accepted a part. */
export function fail(step: Step, code: string, text: string): void {
  // An earlier attempt may have arrived even if its repetition was refused.
  if (step.queued?.unknown_since) failUnknown(step, text)
  else failKnown(step, code, text)
}

/** Fails a message like `fail`, when it is certain that no earlier attempt arrived. */
export function failKnown(step: Step, code: string, text: string): void {
  const { message } = step
  if (message.recipients) {
    const failure = { error_code: code, error_message: text }
    failDue(step, message.recipients, failure, { accepted: false })
    return
  }
  // A call has no parts: its hold covers the whole call.
  if (!message.accepted || message.channel === 'voice') giveBack(step)
  for (const status of advance(message, 'failed')) apply(step, status, code, text)
  dequeue(step)
}

/** Fails a message that a provider may have. It is not refunded: the provider may charge for it. */
export function failUnknown(step: Step, text: string): void {
  step.message.accepted = true
  if (step.message.recipients) {
    const failure = { error_code: 'outcome_unknown', error_message: text }
    failDue(step, step.message.recipients, failure, { accepted: true })
    return
  }
  for (const status of advance(step.message, 'failed')) apply(step, status, 'outcome_unknown', text)
  dequeue(step)
}

type FailureOfDue = Parameters<typeof withoutDue>[1]

/** Fails the recipients that have no result yet, and ends the sending of the message. */
function failDue(
  step: Step,
  recipients: readonly StoredRecipient[],
  failure: FailureOfDue,
  { accepted }: { accepted: boolean },
): void {
  const { message } = step
  const kept = isErased(message) ? { ...failure, error_message: null } : failure
  message.recipients = withoutDue(recipients, kept, { accepted })
  conclude(step, message.recipients)
  dequeue(step)
}

/**
 * Gives a message with several recipients the status that follows from theirs, and refunds the shares of the rejected ones.
 * Does nothing while a recipient has no result. Returns whether the status changed.
 */
export function conclude(step: Step, recipients: readonly StoredRecipient[]): boolean {
  const { message } = step
  const whole = statusOfAll(recipients)
  if (whole === null) return false
  const isFirst = message.status === 'queued'
  if (isFirst) giveBackShares(step, recipients)
  const targets: Reported[] =
    isFirst && whole.status === 'delivered' ? ['sent', 'delivered'] : [whole.status]
  const before = message.sequence
  for (const target of targets) {
    for (const status of advance(message, target)) {
      apply(step, status, whole.error_code, whole.error_message)
    }
  }
  return message.sequence > before
}

/**
 * Suppresses the recipient on the channel, except for erased messages (no address) and test messages. A message with several
 * recipients needs the address: no other recipient may be suppressed.
 */
export function suppress(step: Step, reason: SuppressionReason, recipient?: string): void {
  const { message, settlement, plan } = step
  if (isErased(message) || !message.livemode) return
  if (message.recipients !== null && recipient === undefined) return
  const { workspace_id, channel } = message
  const address = suppressedAddress({ channel, recipient: recipient ?? message.recipient })
  for (const form of suppressedForms({ channel, address })) {
    const row = { workspace_id, channel, address: form, reason, created_at: settlement.at }
    plan.suppressions.push(row)
  }
}

/** Requeues the message without a claim. Its `task` is due after `waitMs`. */
export function requeue(
  step: Step,
  task: 'send' | 'lookup',
  waitMs: number,
  unknownSince: Date | null,
): void {
  const { queued, settlement, plan, message, state } = step
  if (!queued) return
  const row = {
    ...queued,
    task,
    due_at: new Date(settlement.at.getTime() + waitMs),
    set_at: settlement.at,
    token: null,
    unknown_since: unknownSince,
  }
  // A later settlement of the same write sees the row as it will be.
  state.queue.set(message.id, row)
  forgetRequeue(plan, queued)
  plan.requeue.push(row)
}

/** Drops the row that an earlier settlement of the same write queued again. */
function forgetRequeue({ requeue }: Step['plan'], queued: Step['queued']): void {
  const at = queued ? requeue.indexOf(queued) : -1
  if (at !== -1) requeue.splice(at, 1)
}

/** The time since which the outcome is unknown. A stored time in the future counts as now: the clock was ahead. */
export function unknownSince({ queued, settlement }: Step): Date {
  const since = queued?.unknown_since
  return since && since < settlement.at ? since : settlement.at
}

export function dequeue({ message, plan, state, queued }: Step): void {
  if (!state.queue.delete(message.id)) return
  forgetRequeue(plan, queued)
  plan.dequeue.push(message.id)
}

/** Stores the outcome of an attempt. */
export function journal(
  { message, settlement, plan }: Step,
  number: number,
  outcome: Outcome,
): void {
  const accepted = outcome.type === 'accepted'
  const isKept = !isErased(message)
  plan.attempts.push({
    workspace_id: message.workspace_id,
    message_id: message.id,
    number,
    outcome: outcome.type,
    provider_message_id: accepted && isKept ? outcome.provider_message_id : null,
    error_code: accepted ? null : outcome.error_code,
    error_message: accepted || !isKept ? null : outcome.error_message,
    finished_at: settlement.at,
  })
}

/** Whether the message was erased: later reports may contain personal data and are not stored. */
export function isErased({ erased_at }: SettledMessage): boolean {
  return erased_at !== null
}

/** Whether the message failed and was refunded before any provider accepted it: later reports do not change it. */
export function wasRefunded({ status, accepted }: SettledMessage): boolean {
  return status === 'failed' && !accepted
}

/** Sets the provider that has the message or got the last attempt; clears an id that another provider gave. */
export function assign(message: SettledMessage, provider: string): void {
  if (message.provider !== provider) message.provider_message_id = null
  message.provider = provider
}

/** Adds the parts of the message, each with the id that its receipts name. */
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

/** The columns of a message with the times of statuses that need no row in `message_events`. */
const TIMES = { sent: 'sent_at', delivered: 'delivered_at', read: 'read_at' } as const

/** A report about a message's status; it changed the message only if `applied` is true. */
export type StatusReport = Pick<
  MessageEventRow,
  'status' | 'applied' | 'error_code' | 'error_message' | 'at'
>

/** Whether the columns of the message have everything about this report, so that no row is stored. */
function isInColumns({ status, applied, error_code, error_message }: StatusReport): boolean {
  return applied && status in TIMES && error_code === null && error_message === null
}

/**
 * The reports about a message, from its columns and the stored rows: first new times of the queued message, then the
 * applied statuses in their possible order, because two servers have two clocks, then the others in the order of the rows.
 */
export function reportsOf(
  message: Pick<MessageRow, (typeof TIMES)[keyof typeof TIMES]>,
  rows: readonly StatusReport[],
): StatusReport[] {
  const none = { error_code: null, error_message: null }
  const applied = STATUSES.flatMap((status): StatusReport[] => {
    const row = rows.find((each) => each.applied && each.status === status)
    const at = status === 'failed' ? null : message[TIMES[status]]
    if (row) return [row]
    return at ? [{ status, applied: true, ...none, at }] : []
  })
  const queued = rows.filter((row) => row.applied && row.status === 'queued')
  return [...queued, ...applied, ...rows.filter((row) => !row.applied)]
}
