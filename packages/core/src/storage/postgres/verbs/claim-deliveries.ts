import type { ClaimedDelivery } from '../../../rules/claim-deliveries.ts'
import type { ClockSteps } from '../../clock-steps.ts'
import type { DeliveryClaim } from '../../ports/hot.ts'
import { type Clock, present } from '../engine/clock.ts'
import { type Database, statement } from '../engine/database.ts'

/**
 * SQL: the first webhook with a due delivery that meets the condition. Deliveries that are due later are skipped within
 * the index: 20,000 webhooks with only later retries cost 1 ms; a look-up of each webhook costs 130 ms.
 */
const first = (condition: string) =>
  `select q.webhook_id, q.workspace_id from delivery_queue q where ${condition} and q.due_at <= ${present('$1')}
     and (q.token is null or $11::boolean)
   order by q.webhook_id limit 1`

/** SQL: these webhooks one after the other, with one index seek for each, whatever its number of rows. */
const walk = (name: string, start: string, end: string) =>
  `${name}(id, workspace_id) as (
     (${first(`${start}${end}`)})
     union all
     select next.* from ${name} cross join lateral (${first(`q.webhook_id > ${name}.id${end}`)}) next
   )`

/**
 * One statement: walk the webhooks with due deliveries, first the webhooks after the last served webhook ($3), then the
 * others; take a bounded number of due rows of each; lease or discard the rows; read the data of a try. The walk ends
 * when enough rows are taken. Rows above the share of their workspace are returned but not leased.
 */
const take = statement<Omit<ClaimedDelivery, 'token'> & { fits: boolean; wanted: boolean }>(
  'take_due_deliveries',
  `with recursive
   ${walk('ahead', 'q.webhook_id > $3', '')},
   ${walk('behind', 'true', ' and q.webhook_id <= $3')},
   waiting as (select * from ahead union all select * from behind),
   due as (
     select row_number() over () as place,
            row_number() over (partition by workspace_id)
              <= coalesce(($10::jsonb ->> workspace_id)::int, $9::int) as fits, taken.* from (
       select q.* from waiting w cross join lateral (
         select q.delivery_id, q.workspace_id, q.webhook_id from delivery_queue q
         where q.webhook_id = w.id and q.due_at <= ${present('$1')} and (q.token is null or $11::boolean)
         order by q.due_at
         limit greatest(0, least(
           coalesce(($5::jsonb ->> w.id)::int, $4::int),
           coalesce(($10::jsonb ->> w.workspace_id)::int, $9::int)
         )) for update skip locked
       ) q limit $2
     ) taken
   ),
   known as (
     select due.place, due.fits, due.delivery_id, due.workspace_id, due.webhook_id, d.event_id, d.event,
            case when w.callback_origin is null then w.url else m.callback_url end as url, w.secret,
            case when w.previous_secret_ends_at > ${present('$1')} then w.previous_secret end as previous_secret,
            w.accepted_secret, w.headers, w.format, m.message, e.body, d.attempt_count + 1 as attempt,
            (w.callback_origin is null or m.callback_url is not null) and (w.is_active and (w.mode = 'all' or w.mode = case when d.livemode then 'live' else 'test' end))
              or d.trigger = 'test' as wanted
     from due
     join deliveries d
       on d.workspace_id = due.workspace_id and d.webhook_id = due.webhook_id and d.id = due.delivery_id
     join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
     join webhooks w on w.workspace_id = due.workspace_id and w.id = due.webhook_id
     left join lateral (
       select m.status_callback ->> 'url' as callback_url,
              json_build_object('sender', m.sender, 'subject', m.content ->> 'subject',
                'from_address', m.content ->> 'from_address',
                'callback_method',
                case when w.callback_origin is not null then m.status_callback ->> 'method' end) as message
       from messages m
       where w.format <> 'svc' and m.workspace_id = d.workspace_id and m.id = d.message_id
     ) m on true
   ),
   leased as (
     update delivery_queue q
     set due_at = ${present('$1')} + $6::int * interval '1 millisecond', set_at = ${present('$1')}, token = $7
     from known where known.wanted and known.fits and q.delivery_id = known.delivery_id
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
   select delivery_id, workspace_id, webhook_id, event_id, event, url, secret, previous_secret, accepted_secret, headers,
          format, message,
          case when fits and wanted then body end as body, attempt, fits, wanted
   from known order by place`,
)

/** The time is queried before the claim, so that a clock that was set forwards ends no lease. */
const readTime = statement<{ at: Date }>('read_time', `select ${present('$1')} as at`)

/**
 * The maximum number of queries of a claim, even if more rows must be discarded: the deliveries that the claim already
 * took wait for its end.
 */
const LOOKS_MAX = 16

/**
 * The verb `claimDeliveries` on PostgreSQL: fair across webhooks, as on SQLite; the next claim continues after the
 * last webhook.
 */
export function prepareClaimDeliveries(
  database: Database,
  { clock, steps }: { clock: Clock; steps: ClockSteps },
) {
  let last = ''

  async function find(claim: DeliveryClaim) {
    const found = await database.rows(
      take,
      clock.now(claim.now),
      claim.limit,
      last,
      claim.limit_per_webhook,
      JSON.stringify(Object.fromEntries(claim.room_of_webhook)),
      claim.lease_ms,
      claim.token,
      claim.now,
      claim.limit_per_workspace,
      JSON.stringify(Object.fromEntries(claim.room_of_workspace)),
      steps.takesOver({ elapsed_ms: clock.elapsed(claim), lease_ms: claim.lease_ms }),
    )
    // With fewer rows, the walk returned to its start. Discarded rows count too, because other rows follow them.
    if (found.length === claim.limit) last = found.at(-1)?.webhook_id ?? last
    return found
  }

  async function look(claim: DeliveryClaim): Promise<void> {
    const before_ms = clock.elapsed(claim)
    const [time] = await database.rows(readTime, clock.now(claim.now))
    if (time) steps.saw(time.at, before_ms, clock.elapsed(claim))
  }

  return async (claim: DeliveryClaim): Promise<ClaimedDelivery[]> => {
    await look(claim)
    const claimed: ClaimedDelivery[] = []
    let rest = claim
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const found = await find(rest)
      const fitting = found.filter(({ fits, wanted }) => fits && wanted)
      for (const { fits: _, wanted: __, ...row } of fitting) {
        claimed.push({ ...row, token: claim.token })
      }
      if (found.length < rest.limit || fitting.length === found.length) return claimed
      // Deliveries wait behind rows that were discarded or not leased: the next query continues after these rows.
      rest = without(rest, claimed, claim)
    }
    return claimed
  }
}

/** The rest of a claim after these deliveries were taken. */
function without(
  rest: DeliveryClaim,
  claimed: readonly ClaimedDelivery[],
  claim: DeliveryClaim,
): DeliveryClaim {
  const room_of_webhook = new Map(claim.room_of_webhook)
  const room_of_workspace = new Map(claim.room_of_workspace)
  for (const { webhook_id, workspace_id } of claimed) {
    const ofWebhook = room_of_webhook.get(webhook_id) ?? claim.limit_per_webhook
    room_of_webhook.set(webhook_id, ofWebhook - 1)
    const ofWorkspace = room_of_workspace.get(workspace_id) ?? claim.limit_per_workspace
    room_of_workspace.set(workspace_id, ofWorkspace - 1)
  }
  return { ...rest, limit: claim.limit - claimed.length, room_of_webhook, room_of_workspace }
}
