import { REDATED_MAX, STEP_MIN_MS } from '../../queueing.ts'
import type { Connection } from '../engine/connection.ts'

interface QueuedMessage {
  message_id: string
  wait_ms: number | null
  /** The earliest time to send a message that no claim holds. */
  scheduled_at: number | null
}

interface QueuedDelivery {
  delivery_id: string
  workspace_id: string
  webhook_id: string
  token: string | null
  wait_ms: number
}

/**
 * Re-dates rows that were queued while the clock was ahead of now: each row is due after its original wait, counted
 * from now. Counts the changed rows of each queue; returns the larger count.
 */
export function prepareRedate(connection: Connection): (now: Date) => number {
  const messages = connection.prepare(
    `select q.message_id, case when q.set_at > $ahead then max(0, q.due_at - q.set_at) end as wait_ms,
            case when q.task = 'send' and q.token is null then m.scheduled_at end as scheduled_at
     from message_queue q left join messages m on m.workspace_id = q.workspace_id and m.id = q.message_id
     where q.set_at > $ahead or q.unknown_since > $ahead limit $limit`,
  )
  const dateMessage = connection.prepare(
    'update message_queue set due_at = ?, set_at = ? where message_id = ?',
  )
  const doubtMessage = connection.prepare(
    'update message_queue set unknown_since = $now where message_id = $id and unknown_since > $now',
  )
  const deliveries = connection.prepare(
    `select delivery_id, workspace_id, webhook_id, token, max(0, due_at - set_at) as wait_ms
     from delivery_queue where set_at > $ahead limit $limit`,
  )
  const dateDelivery = connection.prepare(
    'update delivery_queue set due_at = ?, set_at = ? where delivery_id = ?',
  )
  const showDelivery = connection.prepare(
    'update deliveries set next_attempt_at = ? where workspace_id = ? and webhook_id = ? and id = ?',
  )
  return (at) => {
    const now = at.getTime()
    const bounds = { ahead: now + STEP_MIN_MS, limit: REDATED_MAX }
    const queued = messages.all(bounds) as QueuedMessage[]
    for (const { message_id: id, wait_ms, scheduled_at } of queued) {
      if (wait_ms !== null) dateMessage.run(Math.max(now + wait_ms, scheduled_at ?? 0), now, id)
      doubtMessage.run({ now, id })
    }
    const waiting = deliveries.all(bounds) as QueuedDelivery[]
    for (const { delivery_id, workspace_id, webhook_id, token, wait_ms } of waiting) {
      dateDelivery.run(now + wait_ms, now, delivery_id)
      if (token === null) showDelivery.run(now + wait_ms, workspace_id, webhook_id, delivery_id)
    }
    return Math.max(queued.length, waiting.length)
  }
}
