import type { TimelineEntry } from '../contract/timeline.ts'
import type { Units } from '../contract/units.ts'
import type { MessageRow, Storage } from '../storage/storage.ts'

export type { TimelineEntry } from '../contract/timeline.ts'

/**
 * Joins status changes, provider attempts, ledger entries and webhook deliveries of a message, oldest first. The debit
 * of a bulk is among those of each of its messages.
 */
export async function timelineOf(
  { read: { messages, credits, webhooks } }: Pick<Storage, 'read'>,
  message: MessageRow,
): Promise<TimelineEntry[]> {
  const { workspace_id, id, bulk_id } = message
  const [events, attempts, entries, deliveries] = await Promise.all([
    messages.events(workspace_id, id),
    messages.attempts(workspace_id, id),
    credits.entriesAbout(workspace_id, bulk_id ? [id, bulk_id] : [id]),
    webhooks.deliveriesOf(workspace_id, id),
  ])
  const all: TimelineEntry[] = [
    {
      at: message.created_at,
      kind: 'status',
      status: 'queued',
      applied: true,
      error_code: null,
      error_message: null,
    },
    ...attempts.map(
      ({ started_at, number, ...row }): TimelineEntry => ({
        ...row,
        at: started_at,
        kind: 'provider',
        attempt: number,
      }),
    ),
    ...events.map((row): TimelineEntry => ({ ...row, kind: 'status' })),
    ...entries.map(
      (row): TimelineEntry => ({
        at: row.created_at,
        kind: 'ledger',
        type: row.kind,
        credits: (row.amount - row.held_delta) as Units,
        balance_after: (row.balance_after - row.held_after) as Units,
        reference: { type: row.ref_type, id: row.ref_id },
      }),
    ),
    ...deliveries.map(
      (row): TimelineEntry => ({
        ...row,
        at: row.delivered_at ?? row.updated_at,
        kind: 'webhook',
        delivery_id: row.id,
      }),
    ),
  ]
  // The sort is stable: what shares a millisecond keeps the order of the way a message goes.
  return all.sort((a, b) => a.at.getTime() - b.at.getTime())
}
