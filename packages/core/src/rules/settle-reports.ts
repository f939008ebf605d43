import type { LookupResult, Receipt, SuppressionReason } from '../contract/outside/provider.ts'
import type { MessagePartRow } from '../rows/rows.ts'
import { chargeCall } from './money.ts'
import type { Step } from './settlement.ts'
import { advance } from './status.ts'
import {
  addParts,
  apply,
  assign,
  deadlineMs,
  dequeue,
  FOLLOW_MAX_MS,
  failKnown,
  failUnknown,
  isErased,
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

/** What the question gave that a queue row stands for. `holds`: whether the claim that asked it still stands. */
export function settleLookup(step: Step, found: LookupResult, holds: boolean): boolean {
  const { message, queued, settlement } = step
  if (found.type === 'found') {
    if (!wasRefunded(message)) message.accepted = true
    if (message.status === 'queued') assign(message, settlement.provider)
    message.provider ??= settlement.provider
    message.provider_message_id ??= found.receipts[0]?.provider_message_id ?? null
    // Who knows a message has taken it, whatever else it tells.
    if (message.status === 'queued') {
      for (const status of advance(message, 'sent')) apply(step, status, null, null)
    }
    for (const receipt of found.receipts) applyReceipt(step, receipt)
    if (holds) {
      const followed_ms = settlement.at.getTime() - (message.sent_at ?? settlement.at).getTime()
      if (found.lookup_after_ms === null || followed_ms >= FOLLOW_MAX_MS) dequeue(step)
      else requeue(step, 'lookup', found.lookup_after_ms, null)
    }
    return true
  }
  if (!holds || !queued) return false
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
  // Without a look-up the row only waits for a callback.
  const max_ms = settlement.abilities.lookup ? unknownMaxMs(message, since) : UNKNOWN_MAX_MS
  if (waited >= max_ms) {
    failUnknown(step, 'No answer to the question whether the provider has it')
  } else requeue(step, 'lookup', pollWait(since, settlement.at), since)
  return true
}

/**
 * Waiting as long as has been waited already doubles the distance each time. A time to come was noted while the clock was
 * ahead: how long it is since then is not known, and it is not asked all the time until then.
 */
function pollWait(since: Date, at: Date): number {
  const waited_ms = Math.abs(at.getTime() - since.getTime())
  return Math.min(Math.max(waited_ms, LOOKUP.base_ms), LOOKUP.cap_ms)
}

/** What a provider called back. */
export function settleCallback(
  step: Step,
  told: { receipts: readonly Receipt[]; suppress?: SuppressionReason },
): boolean {
  for (const receipt of told.receipts) applyReceipt(step, receipt)
  if (told.suppress) suppress(step, told.suppress)
  if (isAnswered(step)) dequeue(step)
  return true
}

/**
 * What may have reached the provider and did not: the message fails as one that nobody took. Says nothing where somebody
 * has it by now, nor of one that is sent again while it is unknown: another attempt may have arrived.
 */
export function settleRefused(step: Step, told: Receipt): boolean {
  const { message, queued } = step
  if (told.suppress) suppress(step, told.suppress)
  const isRepeated = queued?.task === 'send' && queued.unknown_since !== null
  if (message.status !== 'queued' || message.accepted || isAnothers(step) || isRepeated) {
    note(step, told.status, false, told)
    return true
  }
  assign(message, step.settlement.provider)
  failKnown(step, told.error_code ?? 'rejected', told.error_message ?? 'The provider refused it')
  return true
}

/**
 * Whether the callback answers the question that the queue row stands for: whether the provider has the message, or
 * how it fares. A claimed row is left to its claimant.
 */
function isAnswered({ message, queued }: Step): boolean {
  if (!queued || queued.token || message.status === 'queued') return false
  return queued.unknown_since !== null || message.status !== 'sent'
}

/** What a provider tells of a message that it has: forward only, the rest is history. */
function applyReceipt(step: Step, given: Receipt): void {
  const told = reachable(step, given)
  // Another provider has it by now: that this one failed is no news.
  const receipt = told.status === 'failed' && isAnothers(step) ? null : take(step, told)
  const statuses = receipt ? advance(step.message, receipt.status) : []
  if (!receipt || statuses.length === 0) note(step, told.status, false, told)
  else for (const status of statuses) apply(step, status, receipt.error_code, receipt.error_message)
}

/** Only WhatsApp messages are `read`: where another provider says so, it was delivered. Source: interface, Status. */
function reachable({ message }: Step, told: Receipt): Receipt {
  if (told.status !== 'read' || message.channel === 'whatsapp') return told
  return { ...told, status: 'delivered' }
}

/** Puts down whatever else a receipt says; answers what it says of the whole message. */
function take(step: Step, told: Receipt): Receipt | null {
  const { message, settlement } = step
  if (!wasRefunded(message)) message.accepted = true
  // Until it was told that one has it, the provider is but who was asked last.
  if (message.status === 'queued') assign(message, settlement.provider)
  message.provider ??= settlement.provider
  if (!isAnothers(step) && !isErased(message)) {
    message.provider_message_id ??= told.provider_message_id
  }
  if (told.part_ids) addParts(step, 0, told.part_ids)
  if (told.suppress) suppress(step, told.suppress)
  if (told.duration_s !== undefined && !wasRefunded(message)) chargeCall(step, told.duration_s)
  return receiptOfParts(step, told)
}

function isAnothers({ message, settlement }: Step): boolean {
  return message.provider !== null && message.provider !== settlement.provider
}

/**
 * What a receipt of one part says of the whole message: delivered once all parts are, failed when one is. Null where it
 * says nothing yet. Of a message without parts it says what it says.
 */
function receiptOfParts(step: Step, receipt: Receipt): Receipt | null {
  const all = step.state.parts.get(step.message.id) ?? []
  // Two providers may count alike.
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

/** Evidence of arrival beats a failure that was reported before. */
const RANK: Record<MessagePartRow['status'], number> = { sent: 0, failed: 1, delivered: 2 }

function isWholly(status: MessagePartRow['status'], parts: readonly MessagePartRow[]): boolean {
  return status === 'failed' || parts.every((part) => part.status === status)
}
