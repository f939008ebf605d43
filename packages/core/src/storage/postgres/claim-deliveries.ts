import type { ClaimedDelivery, DeliveryClaim } from '../storage.ts'
import { type Clock, present } from './clock.ts'
import { type Database, statement } from './database.ts'

/**
 * SQL: the first webhook that has something due, of those that fit the condition. What is due later is passed over
 * within the index: 20,000 webhooks with nothing but later retries cost 1 ms, and 130 ms when each was looked up.
 */
const first = (condition: string) =>
  `select q.webhook_id from delivery_queue q where ${condition} and q.due_at <= ${present('$1')}
   order by q.webhook_id limit 1`

/** SQL: those webhooks, one after the other: an index seek for each, however many rows it has. */
const walk = (name: string, start: string, end: string) =>
  `${name}(id) as (
     (${first(`${start}${end}`)})
     union all
     select next.* from ${name} cross join lateral (${first(`q.webhook_id > ${name}.id${end}`)}) next
   )`

/**
 * One statement: walk the webhooks that have something due, first those after the last one served ($3), then the
 * others; take a bounded number of due rows of each; lease them, or discard them; read what a try needs. The walk ends
 * as soon as enough is taken.
 */
const take = statement<Omit<ClaimedDelivery, 'token'>>(
  'take_due_deliveries',
  `with recursive
   ${walk('ahead', 'q.webhook_id > $3', '')},
   ${walk('behind', 'true', ' and q.webhook_id <= $3')},
   waiting as (select id from ahead union all select id from behind),
   due as (
     select row_number() over () as place, taken.* from (
       select q.* from waiting w cross join lateral (
         select q.delivery_id, q.workspace_id, q.webhook_id from delivery_queue q
         where q.webhook_id = w.id and q.due_at <= ${present('$1')} order by q.due_at
         limit greatest(0, $4::int - coalesce(($5::jsonb ->> w.id)::int, 0)) for update skip locked
       ) q limit $2
     ) taken
   ),
   known as (
     select due.place, due.delivery_id, due.workspace_id, due.webhook_id, d.event_id, d.event, w.url, w.secret,
            case when w.previous_secret_ends_at > ${present('$1')} then w.previous_secret end as previous_secret,
            w.headers, e.body, d.attempt_count + 1 as attempt, w.is_active or d.trigger = 'test' as wanted
     from due
     join deliveries d
       on d.workspace_id = due.workspace_id and d.webhook_id = due.webhook_id and d.id = due.delivery_id
     join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
     join webhooks w on w.workspace_id = due.workspace_id and w.id = due.webhook_id
   ),
   leased as (
     update delivery_queue q
     set due_at = ${present('$1')} + $6::int * interval '1 millisecond', token = $7
     from known where known.wanted and q.delivery_id = known.delivery_id
   ),
   discarded as (
     update deliveries d set status = 'discarded', next_attempt_at = null, updated_at = $8
     from known
     where not known.wanted and d.workspace_id = known.workspace_id and d.webhook_id = known.webhook_id
       and d.id = known.delivery_id
   ),
   dequeued as (
     delete from delivery_queue q using known where not known.wanted and q.delivery_id = known.delivery_id
   )
   select delivery_id, workspace_id, webhook_id, event_id, event, url, secret, previous_secret, headers, body, attempt
   from known where wanted order by place`,
)

/** The verb `claimDeliveries` on PostgreSQL: fair across webhooks, as on SQLite; the next claim goes on where this one stopped. */
export function prepareClaimDeliveries(database: Database, { clock }: { clock: Clock }) {
  let last = ''
  return async (claim: DeliveryClaim): Promise<ClaimedDelivery[]> => {
    const { now, limit, lease_ms, token, limit_per_webhook, in_flight } = claim
    const found = await database.rows(
      take,
      clock.now(now),
      limit,
      last,
      limit_per_webhook,
      JSON.stringify(Object.fromEntries(in_flight)),
      lease_ms,
      token,
      now,
    )
    // With fewer than that, the walk came round to where it began.
    if (found.length === limit) last = found.at(-1)?.webhook_id ?? last
    return found.map((row) => ({ ...row, token }))
  }
}
