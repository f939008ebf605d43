import type { Receipt, SuppressionReason } from '../providers/provider.ts'
import { chargeCall } from './money.ts'
import { addParts, receiptOfParts } from './parts.ts'
import type { Step } from './settlement.ts'
import { advance } from './status.ts'
import { apply, dequeue, note, suppress, wasRefunded } from './step.ts'

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
 * Whether the callback answers the question that the queue row stands for: whether the provider has the message, or
 * how it fares. A claimed row is left to its claimant.
 */
function isAnswered({ message, queued }: Step): boolean {
  if (!queued || queued.token || message.status === 'queued') return false
  return queued.unknown_since !== null || message.status !== 'sent'
}

/** What a provider tells of a message that it has: forward only, the rest is history. */
export function applyReceipt(step: Step, told: Receipt): void {
  // Another provider has it by now: that this one failed is no news.
  const receipt = told.status === 'failed' && isAnothers(step) ? null : take(step, told)
  const statuses = receipt ? advance(step.message, receipt.status) : []
  if (!receipt || statuses.length === 0) note(step, told.status, false, told)
  else for (const status of statuses) apply(step, status, receipt.error_code, receipt.error_message)
}

/** Puts down whatever else a receipt says; answers what it says of the whole message. */
function take(step: Step, told: Receipt): Receipt | null {
  const { message, settlement } = step
  if (!wasRefunded(message)) message.accepted = true
  message.provider ??= settlement.provider
  message.provider_message_id ??= told.provider_message_id
  if (told.part_ids) addParts(step, 0, told.part_ids)
  if (told.suppress) suppress(step, told.suppress)
  if (told.duration_s !== undefined && !wasRefunded(message)) chargeCall(step, told.duration_s)
  return receiptOfParts(step, told)
}

function isAnothers({ message, settlement }: Step): boolean {
  return message.provider !== null && message.provider !== settlement.provider
}
