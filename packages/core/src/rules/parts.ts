import type { Receipt } from '../contract/outside/provider.ts'
import type { MessagePartRow } from '../storage/ports/storage.ts'
import type { Step } from './settlement.ts'

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

/**
 * What a receipt of one part says of the whole message: delivered once all parts are, failed when one is. Null where it
 * says nothing yet. Of a message without parts it says what it says.
 */
export function receiptOfParts(step: Step, receipt: Receipt): Receipt | null {
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
