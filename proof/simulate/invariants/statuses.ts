import { hasReturnedHold } from './credits.ts'
import { brief, type MessageRow, type Stage } from './rows.ts'

export function checkStatuses({ world, model, database }: Stage): void {
  const rows = database
    .prepare('select id, status, credits_used, credits_refunded from messages')
    .all() as Pick<MessageRow, 'id' | 'status' | 'credits_used' | 'credits_refunded'>[]
  for (const { id, status, credits_used, credits_refunded } of rows) {
    // A mail to several may be refunded in part.
    const isRefunded = credits_refunded > 0 && credits_refunded === credits_used
    const seen = { status, isRefunded }
    if (model.statuses.has(id)) noteStatus({ world, model }, id, seen)
    else model.statuses.set(id, seen)
  }
}

const ORDER = ['queued', 'sent', 'failed', 'delivered', 'read']

/** Notes a status that a client saw. */
export function noteStatus(
  { world, model }: Pick<Stage, 'world' | 'model'>,
  id: string,
  seen: { status: string; isRefunded: boolean },
): void {
  const before = model.statuses.get(id)
  model.statuses.set(id, seen)
  if (!before) return
  const isBack = ORDER.indexOf(seen.status) < ORDER.indexOf(before.status)
  const isRevived = before.isRefunded && seen.status !== before.status
  if (isBack || isRevived || (before.isRefunded && !seen.isRefunded)) {
    const change = `${before.status} to ${seen.status}${before.isRefunded ? ' after a refund' : ''}`
    world.violate('a status moves forward', `${world.nameOf('m', id)}: ${change}`)
  }
}

/** An acknowledged receipt counts. */
export function checkEnds({ world, model }: Stage, messages: readonly MessageRow[]): void {
  for (const row of messages) {
    if (row.recipients !== null) continue
    const at = () => `${world.nameOf('m', row.id)} ${brief(row)}`
    const receipts = model.receipts.get(row.id) ?? []
    const isDelivered = receipts.includes('delivered') || receipts.includes('read')
    const wasRefunded = row.credits_refunded > 0 || hasReturnedHold(row)
    if (isDelivered && !wasRefunded && !['delivered', 'read'].includes(row.status)) {
      world.violate('an acknowledged receipt counts', `${at()} ${receipts}`)
    }
  }
}
