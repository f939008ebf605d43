import { type Clock, REDATED_MAX, STEP_MIN_MS } from '../../queueing.ts'

import { type Database, statement } from '../engine/database.ts'
import { present } from '../engine/rows.ts'

const AHEAD = `interval '${STEP_MIN_MS} milliseconds'`

/** `unknown_since` uses the servers' clocks ($2), due times use `clock` ($1). */
const redateMessages = statement<{ n: number }>(
  'redate_messages',
  `with ahead as materialized (
     select message_id, workspace_id, set_at > ${present('$1')} + ${AHEAD} as is_ahead,
            greatest(due_at - set_at, interval '0') as wait
     from message_queue
     where set_at > ${present('$1')} + ${AHEAD} or unknown_since > $2::timestamptz + ${AHEAD}
     limit $3 for update skip locked
   ), redated as (
     update message_queue q
     set due_at = case when not a.is_ahead or a.is_ahead is null then q.due_at else greatest(
           ${present('$1')} + a.wait,
           case when q.task = 'send' and q.token is null then m.scheduled_at end) end,
         set_at = case when a.is_ahead then ${present('$1')} else q.set_at end,
         unknown_since = case when q.unknown_since > $2 then $2 else q.unknown_since end
     from ahead a left join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
     where q.message_id = a.message_id
   )
   select count(*)::int as n from ahead`,
)

const redateDeliveries = statement<{ n: number }>(
  'redate_deliveries',
  `with ahead as materialized (
     select delivery_id, workspace_id, webhook_id, token, greatest(due_at - set_at, interval '0') as wait
     from delivery_queue where set_at > ${present('$1')} + ${AHEAD}
     limit $3 for update skip locked
   ), redated as (
     update delivery_queue q set due_at = ${present('$1')} + a.wait, set_at = ${present('$1')}
     from ahead a where q.delivery_id = a.delivery_id
   ), shown as (
     update deliveries d set next_attempt_at = $2::timestamptz + a.wait
     from ahead a
     where a.token is null and d.workspace_id = a.workspace_id and d.webhook_id = a.webhook_id
       and d.id = a.delivery_id
   )
   select count(*)::int as n from ahead`,
)

/**
 * Re-dates rows that were queued while the clock was ahead of now: each is due after its original wait, counted from
 * now. Returns the larger of both queues' numbers. Rows that another server holds are re-dated by that server.
 */
export function prepareRedate(database: Database, clock: Clock): (now: Date) => Promise<number> {
  return async (now) => {
    const values = [clock.now(now), now, REDATED_MAX] as const
    const [messages] = await database.rows(redateMessages, ...values)
    const [deliveries] = await database.rows(redateDeliveries, ...values)
    return Math.max(messages?.n ?? 0, deliveries?.n ?? 0)
  }
}
