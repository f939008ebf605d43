import type { Receipt } from '../providers/provider.ts'
import type { Step } from './settlement.ts'
import { advance } from './status.ts'
import { apply, dequeue, note, wasRefunded } from './step.ts'

/** What a provider called back. */
export function settleCallback(step: Step, receipts: readonly Receipt[]): boolean {
  const { message, queued } = step
  for (const receipt of receipts) applyReceipt(step, receipt)
  // The callback answers the question that the queue row stands for. A claimed row is left to its claimant.
  if (queued?.unknown_since && !queued.token && message.status !== 'queued') dequeue(step)
  return true
}

/** What a provider tells of a message that it has: forward only, the rest is history. */
export function applyReceipt(step: Step, receipt: Receipt): void {
  const { message, settlement } = step
  if (!wasRefunded(message)) message.accepted = true
  message.provider ??= settlement.provider
  message.provider_message_id ??= receipt.provider_message_id
  const statuses = advance(message, receipt.status)
  if (statuses.length === 0) note(step, receipt.status, false, receipt)
  for (const status of statuses) apply(step, status, receipt.error_code, receipt.error_message)
}
