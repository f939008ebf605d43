import type { Delivery } from '../contract/resources/webhook-deliveries.ts'
import { nextAttempt } from '../rules/delivery-times.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** A delivery with its request and its attempts. */
export type MessageDelivery = Pick<
  Delivery,
  | 'id'
  | 'webhook_id'
  | 'status'
  | 'trigger'
  | 'attempt_count'
  | 'max_attempts'
  | 'next_attempt_at'
  | 'next_attempt_reason'
  | 'created_at'
  | 'delivered_at'
> & {
  event: string
  /** The current address; null if the webhook was deleted. */
  url: string | null
  /** The body of the request, byte for byte. */
  payload: string | null
  /** The attempts, oldest first. */
  attempts: {
    number: number
    started_at: Date
    duration_ms: number
    response_status: number | null
    response_body: string | null
    error: string | null
  }[]
}

/** The deliveries about one message, oldest first. */
export async function deliveriesOfMessage(
  { read: { webhooks }, now }: Pick<Storage, 'read'> & { now: Date },
  workspaceId: string,
  messageId: string,
): Promise<MessageDelivery[]> {
  const rows = await webhooks.deliveriesOf(workspaceId, messageId)
  const eventIds = [...new Set(rows.map(({ event_id }) => event_id))]
  const sent = await webhooks.eventBodies(workspaceId, eventIds)
  const bodies = new Map(sent.map(({ id, body }) => [id, body]))
  return Promise.all(
    rows.map(async (row) => {
      const { id, webhook_id, event, status, trigger } = row
      const { attempt_count, max_attempts, created_at, delivered_at } = row
      const [webhook, attempts] = await Promise.all([
        webhooks.byId(workspaceId, webhook_id),
        webhooks.attempts(workspaceId, webhook_id, id),
      ])
      return {
        ...{ id, webhook_id, event, status, trigger },
        ...{ attempt_count, max_attempts, created_at, delivered_at },
        ...nextAttempt(row, { waits_until: webhook?.waits_until ?? null, now }),
        url: webhook?.url ?? null,
        payload: bodies.get(row.event_id) ?? null,
        attempts: attempts.map(({ workspace_id: _, delivery_id: __, ...attempt }) => attempt),
      }
    }),
  )
}
