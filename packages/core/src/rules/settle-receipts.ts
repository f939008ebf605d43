import type { Receipt, SuppressionReason } from '../contract/outside/provider.ts'
import { chargeCall } from './money.ts'
import { addParts, receiptOfParts } from './parts.ts'
import type { Step } from './settlement.ts'
import { advance } from './status.ts'
import { apply, assign, dequeue, failKnown, isErased, note, suppress, wasRefunded } from './step.ts'

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
export function applyReceipt(step: Step, given: Receipt): void {
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
