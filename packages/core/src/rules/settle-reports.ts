import { emailKey } from '../contract/fields/email-address.ts'
import type { Receipt, SuppressionReason } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessagePartRow } from '../rows/rows.ts'
import { chargeCall } from './money.ts'
import { isDue, reported, reportsFor, withAcceptance } from './recipients.ts'
import type { AttemptSummary, LookupAnswer, Step } from './settlement.ts'
import { advance } from './settlement.ts'
import {
  addParts,
  apply,
  assign,
  conclude,
  deadlineMs,
  dequeue,
  FOLLOW_MAX_MS,
  failKnown,
  failUnknown,
  isErased,
  journal,
  LOOKUP,
  NOT_FOUND_MIN_MS,
  note,
  requeue,
  suppress,
  UNKNOWN_MAX_MS,
  unknownMaxMs,
  unknownSince,
  wasRefunded,
} from './step.ts'

/** Applies the answer to a look-up. `holds`: whether the claim that made the look-up still holds the row. */
export function settleLookup(step: Step, found: LookupAnswer, holds: boolean): boolean {
  const { message, queued, settlement } = step
  if (found.type === 'found') {
    if (!wasRefunded(message)) message.accepted = true
    if (message.status === 'queued') assign(message, settlement.provider)
    message.provider ??= settlement.provider
    message.provider_message_id ??= found.receipts[0]?.provider_message_id ?? null
    // A provider that knows the message has accepted it, even if its receipts say otherwise.
    if (message.status === 'queued' && message.recipients) {
      // Among recipients with and without a result, the look-up does not show which ones the provider has.
      if (message.recipients.every(isDue)) {
        message.recipients = withAcceptance(message.recipients, 'sent', new Map())
        conclude(step, message.recipients)
      }
    } else if (message.status === 'queued') {
      for (const status of advance(message, 'sent')) apply(step, status, null, null)
    }
    for (const receipt of found.receipts) applyReceipt(step, receipt)
    if (holds && message.recipients?.some(isDue)) awaitOutcome(step)
    else if (holds) {
      const followed_ms = settlement.at.getTime() - (message.sent_at ?? settlement.at).getTime()
      if (found.lookup_after_ms === null || followed_ms >= FOLLOW_MAX_MS) dequeue(step)
      else requeue(step, 'lookup', found.lookup_after_ms, null)
    }
    return true
  }
  if (!holds || !queued) return false
  if (found.type === 'not_begun') {
    // Says nothing about the message, however long its outcome is unknown.
    requeue(step, 'lookup', LOOKUP.base_ms, message.status === 'queued' ? unknownSince(step) : null)
    return true
  }
  if (message.status !== 'queued') {
    const wait = pollWait(message.sent_at ?? message.created_at, settlement.at)
    if (found.type === 'unavailable' && settlement.at.getTime() < deadlineMs(message)) {
      requeue(step, 'lookup', wait, null)
    } else dequeue(step)
    return true
  }
  const since = unknownSince(step)
  const waited = settlement.at.getTime() - since.getTime()
  if (found.type === 'not_found' && (found.certain || waited >= NOT_FOUND_MIN_MS)) {
    requeue(step, 'send', 0, null)
    return true
  }
  awaitOutcome(step)
  return true
}

/** Looks up a message with an unknown outcome again, or fails it after the limit. */
function awaitOutcome(step: Step): void {
  const { message, settlement } = step
  const since = unknownSince(step)
  // Without look-ups the row only waits for a callback.
  const max_ms = settlement.abilities.lookup ? unknownMaxMs(message, since) : UNKNOWN_MAX_MS
  if (settlement.at.getTime() - since.getTime() >= max_ms) {
    failUnknown(step, 'No answer to the question whether the provider has it')
  } else requeue(step, 'lookup', pollWait(since, settlement.at), since)
}

/**
 * The wait equals the time since `since`, so the wait doubles. A `since` in the future was written while the clock was
 * ahead; its distance from now limits the rate of look-ups too.
 */
function pollWait(since: Date, at: Date): number {
  const waited_ms = Math.abs(at.getTime() - since.getTime())
  return Math.min(Math.max(waited_ms, LOOKUP.base_ms), LOOKUP.cap_ms)
}

export function settleCallback(
  step: Step,
  callback: {
    receipts: readonly Receipt[]
    suppress?: SuppressionReason
    addresses?: readonly string[]
  },
): boolean {
  for (const receipt of callback.receipts) applyReceipt(step, receipt)
  if (callback.suppress) suppressNamed(step, callback.suppress, callback.addresses)
  if (isAnswered(step)) dequeue(step)
  return true
}

/**
 * Applies a report that the provider never accepted the attempt: the message fails and is refunded. The report has no
 * effect if a provider has the message, if the message is sent again because an outcome is unknown, or if the report may be
 * about another attempt than the last one.
 */
export function settleRefused(step: Step, receipt: Receipt): boolean {
  const { message, queued } = step
  if (receipt.suppress) suppress(step, receipt.suppress)
  const isRepeated = queued?.task === 'send' && queued.unknown_since !== null
  const inFlight = attemptInFlight(step)
  const isUnclear = mayMeanOther(step, inFlight)
  if (message.status !== 'queued' || message.accepted || isUnclear || isRepeated) {
    note(step, receipt.status, false, receipt)
    return true
  }
  assign(message, step.settlement.provider)
  const error_code = receipt.error_code ?? 'rejected'
  const error_message = receipt.error_message ?? 'The provider refused it'
  // The claim loses its row, so it cannot store the outcome.
  if (inFlight) journal(step, inFlight.number, { type: 'rejected', error_code, error_message })
  failKnown(step, error_code, error_message)
  return true
}

/** The attempt of the claim that holds the row; undefined if no claim does. */
function attemptInFlight({ message, queued, state }: Step): AttemptSummary | undefined {
  if (queued?.task !== 'send' || queued.token === null) return undefined
  return state.attempts.get(message.id)?.find(({ number }) => number === queued.attempt)
}

/**
 * Whether a refusal, which names its message only, may be about another attempt than the last one: another provider got the
 * last one, or several attempts of this provider have no known outcome.
 */
function mayMeanOther(
  { message, settlement, state }: Step,
  inFlight: AttemptSummary | undefined,
): boolean {
  const last = inFlight?.provider ?? message.provider
  if (last !== null && last !== settlement.provider) return true
  const attempts = state.attempts.get(message.id) ?? []
  const open = attempts.filter(
    ({ provider, outcome }) =>
      provider === settlement.provider && (outcome === 'started' || outcome === 'ambiguous'),
  )
  return open.length > 1
}

/** Whether the callback makes the row's look-up unnecessary. A claimed row does not change: its claim decides. */
function isAnswered({ message, queued }: Step): boolean {
  if (!queued || queued.token || message.status === 'queued') return false
  return queued.unknown_since !== null || message.status !== 'sent'
}

/** Suppresses the recipient; of several recipients, those that the report names. */
function suppressNamed(
  step: Step,
  reason: SuppressionReason,
  addresses: readonly string[] = [],
): void {
  const { recipients } = step.message
  if (recipients === null) {
    suppress(step, reason)
    return
  }
  const named = new Set(addresses.map(emailKey))
  for (const { address } of recipients) {
    if (named.has(emailKey(address))) suppress(step, reason, address)
  }
}

/** Applies a report to those of several recipients that it concerns. A report that changes none is added to the history. */
function applyToRecipients(step: Step, before: readonly StoredRecipient[], receipt: Receipt): void {
  const { message, settlement } = step
  if (receipt.status === 'failed' && isWithAnother(step)) {
    note(step, 'failed', false, receipt)
    return
  }
  if (!wasRefunded(message)) message.accepted = true
  if (message.status === 'queued') assign(message, settlement.provider)
  message.provider ??= settlement.provider
  if (!isWithAnother(step) && !isErased(message)) {
    message.provider_message_id ??= receipt.provider_message_id
  }
  const recipients = [...before]
  for (const { index, report } of reportsFor(recipients, receipt)) {
    const one = recipients[index] as StoredRecipient
    if (report.suppress) suppress(step, report.suppress, one.address)
    const text = isErased(message) ? null : report.error_message
    recipients[index] = reported(one, { ...report, error_message: text }) ?? one
  }
  const isChanged = recipients.some((one, i) => one !== before[i])
  if (isChanged) {
    message.recipients = recipients
    message.updated_at = settlement.at
  }
  if (!isChanged || !conclude(step, recipients)) note(step, receipt.status, false, receipt)
}

/** Applies a provider's report. Statuses only go forward. A report without effect is only added to the history. */
function applyReceipt(step: Step, report: Receipt): void {
  if (step.message.recipients) {
    applyToRecipients(step, step.message.recipients, report)
    return
  }
  const receipt = reachable(step, ofRecipient(step, report))
  // The failure of one provider changes nothing once another provider has the message.
  const whole = receipt.status === 'failed' && isWithAnother(step) ? null : take(step, receipt)
  const statuses = whole ? advance(step.message, whole.status) : []
  if (!whole || statuses.length === 0) note(step, receipt.status, false, receipt)
  else {
    const { error_code, error_message } = whole
    for (const status of statuses) apply(step, status, error_code, error_message, whole)
  }
}

/**
 * The receipt as it counts for the one recipient of a message: what the report says about that recipient, if it names the
 * recipient among others. Source: RFC 3464, section 2.3.
 */
function ofRecipient({ message }: Step, receipt: Receipt): Receipt {
  const key = emailKey(message.recipient)
  const own = receipt.recipients?.find(({ addresses }) =>
    addresses.some((one) => emailKey(one) === key),
  )
  if (own === undefined) return receipt
  const { suppress: _, ...whole } = receipt
  const { addresses: __, ...state } = own
  return { ...whole, ...state }
}

/** Only WhatsApp messages become `read`; on other channels `read` means `delivered`. Source: interface, Status. */
function reachable({ message }: Step, receipt: Receipt): Receipt {
  if (receipt.status !== 'read' || message.channel === 'whatsapp') return receipt
  return { ...receipt, status: 'delivered' }
}

/** Stores the ids, suppression and call cost of a receipt; returns its report on the whole message, or null. */
function take(step: Step, receipt: Receipt): Receipt | null {
  const { message, settlement } = step
  if (!wasRefunded(message)) message.accepted = true
  // While the message is queued, its `provider` names only the provider of the last attempt.
  if (message.status === 'queued') assign(message, settlement.provider)
  message.provider ??= settlement.provider
  if (!isWithAnother(step) && !isErased(message)) {
    message.provider_message_id ??= receipt.provider_message_id
  }
  if (receipt.part_ids) addParts(step, 0, receipt.part_ids)
  if (receipt.suppress) suppress(step, receipt.suppress)
  const { duration_s } = receipt
  if (duration_s !== undefined && !wasRefunded(message)) {
    chargeCall(step, duration_s)
    // A report that brings only the duration does not change the status. A duration of 0 was not charged.
    if (message.duration_s !== duration_s && !message.duration_s) {
      message.duration_s = duration_s
      message.updated_at = settlement.at
    }
  }
  return receiptOfParts(step, receipt)
}

function isWithAnother({ message, settlement }: Step): boolean {
  return message.provider !== null && message.provider !== settlement.provider
}

/**
 * The report on the whole message after a part's receipt: delivered once all parts are delivered, failed once a part
 * failed, otherwise null. The receipt of a message without parts is returned unchanged.
 */
function receiptOfParts(step: Step, receipt: Receipt): Receipt | null {
  const all = step.state.parts.get(step.message.id) ?? []
  // Two providers may give the same id.
  const part = all.find(
    (one) =>
      one.provider === step.settlement.provider &&
      one.provider_message_id === receipt.provider_message_id,
  )
  if (!part) return receipt
  const status = receipt.status === 'read' ? 'delivered' : receipt.status
  if (RANK[status] > RANK[part.status]) {
    part.status = status
    step.plan.part_changes.push(part)
  }
  const attempted = all.filter(({ attempt }) => attempt === part.attempt)
  return isWholly(status, attempted) ? receipt : null
}

/** A reported delivery replaces an earlier reported failure. */
const RANK: Record<MessagePartRow['status'], number> = { sent: 0, failed: 1, delivered: 2 }

function isWholly(status: MessagePartRow['status'], parts: readonly MessagePartRow[]): boolean {
  return status === 'failed' || parts.every((part) => part.status === status)
}
