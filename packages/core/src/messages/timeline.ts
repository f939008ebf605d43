import type { Message } from '../contract/messages.ts'
import type { Storage } from '../storage/storage.ts'

/** One thing that happened to a message. Contract section 12. */
export type TimelineEntry = { at: Date } & (
  | { kind: 'status'; status: string; applied: boolean; error_code: string | null }
  | {
      kind: 'provider'
      provider: string
      attempt: number
      outcome: string
      error_code: string | null
    }
  | { kind: 'webhook'; webhook_id: string; event: string; status: string; attempt_count: number }
)

/** Joins status changes, provider attempts and webhook deliveries of a message, oldest first. */
export async function timelineOf(storage: Storage, message: Message): Promise<TimelineEntry[]> {
  const { workspace_id, id } = message
  const { messages, webhooks } = storage.read
  const [events, attempts, deliveries] = await Promise.all([
    messages.events(workspace_id, id),
    messages.attempts(workspace_id, id),
    webhooks.deliveriesOf(workspace_id, id),
  ])
  const accepted: TimelineEntry = {
    at: message.created_at,
    kind: 'status',
    status: 'queued',
    applied: true,
    error_code: null,
  }
  const entries: TimelineEntry[] = [
    accepted,
    ...attempts.map(
      (row): TimelineEntry => ({
        at: row.started_at,
        kind: 'provider',
        provider: row.provider,
        attempt: row.number,
        outcome: row.outcome,
        error_code: row.error_code,
      }),
    ),
    ...events.map(
      (row): TimelineEntry => ({
        at: row.at,
        kind: 'status',
        status: row.status,
        applied: row.applied,
        error_code: row.error_code,
      }),
    ),
    ...deliveries.map(
      (row): TimelineEntry => ({
        at: row.delivered_at ?? row.updated_at,
        kind: 'webhook',
        webhook_id: row.webhook_id,
        event: row.event,
        status: row.status,
        attempt_count: row.attempt_count,
      }),
    ),
  ]
  // The sort is stable: what shares a millisecond keeps the order of the way a message goes.
  return entries.sort((a, b) => a.at.getTime() - b.at.getTime())
}
