import { dayOf } from '../../../rules/decide.ts'
import type { ClaimedDelivery } from '../../../rules/deliveries.ts'
import {
  GATE_WAIT_MAX_MS,
  GATES_MAX,
  SCHEDULE_MS,
  TEST_LIMIT,
} from '../../../rules/delivery-times.ts'

import type { DeliveryClaim } from '../../ports/hot.ts'
import type { Clock, ClockSteps } from '../../queueing.ts'

import { type Database, statement } from '../engine/database.ts'
import { present } from '../engine/rows.ts'

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
 * SQL: what a try of the deliveries in `from` needs; `wanted`: whether the webhook still wants the delivery; `is_over`: whether
 * it is about a test message and would be the `number`th after the attempts of its workspace on that day, of at most `max`.
 */
const known = (
  from: string,
  more: string,
  { day, max, number }: { day: string; max: string; number: string },
) =>
  `select ${from}.delivery_id, ${from}.workspace_id, ${from}.webhook_id, d.event_id, d.event,
            case when w.callback_origin is null then w.url else m.callback_url end as url, w.secret,
            case when w.previous_secret_ends_at > ${present('$1')} then w.previous_secret end as previous_secret,
            w.accepted_secret, w.headers, w.format, m.message, e.body, d.attempt_count + 1 as attempt,
            (w.callback_origin is null or m.callback_url is not null) and (w.is_active and (w.mode = 'all' or w.mode = case when d.livemode then 'live' else 'test' end))
              or d.trigger = 'test' as wanted, d.livemode,
            not d.livemode and ${number} + coalesce((select t.attempts from test_deliveries t
              where t.workspace_id = d.workspace_id and t.day = ${day}::int), 0) > ${max}::bigint as is_over, ${more}
     from ${from}
     join deliveries d
       on d.workspace_id = ${from}.workspace_id and d.webhook_id = ${from}.webhook_id and d.id = ${from}.delivery_id
     join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
     join webhooks w on w.workspace_id = ${from}.workspace_id and w.id = ${from}.webhook_id
     left join lateral (
       select m.status_callback ->> 'url' as callback_url,
              json_build_object('sender', m.sender, 'subject', m.content ->> 'subject',
                'from_address', m.content ->> 'from_address',
                'callback_method',
                case when w.callback_origin is not null then m.status_callback ->> 'method' end) as message
       from messages m
       where w.format <> 'svc' and m.workspace_id = d.workspace_id and m.id = d.message_id
     ) m on true`

/** SQL: discards these deliveries. */
const discarding = (condition: string) =>
  `discarded as (
     update deliveries d set status = 'discarded', next_attempt_at = null, updated_at = $8,
       error = case when known.wanted and known.is_over then '${TEST_LIMIT}' else d.error end
     from known
     where ${condition} and d.workspace_id = known.workspace_id and d.webhook_id = known.webhook_id
       and d.id = known.delivery_id
   ),
   dequeued as (
     delete from delivery_queue q using known where ${condition} and q.delivery_id = known.delivery_id
   )`

/** SQL: counts the attempts about test messages among the rows of `from`. In the order of the keys, so that no deadlock occurs. */
const countingTests = (from: string, day: string) =>
  `counted as (
     insert into test_deliveries (workspace_id, day, attempts)
     select workspace_id, ${day}::int, count(*) from (${from}) taken where not livemode group by workspace_id order by workspace_id
     on conflict (workspace_id) do update set
       attempts = excluded.attempts + case when test_deliveries.day = excluded.day then test_deliveries.attempts else 0 end,
       day = excluded.day
   )`

type Taken = Omit<ClaimedDelivery, 'token' | 'gate_host'>

/**
 * One statement: walk the webhooks with due deliveries, first the webhooks after the last served webhook ($3), then the
 * others; take a bounded number of due rows of each; lease or discard the rows; read the data of a try. The walk ends
 * when enough rows are taken. Rows above the share of their workspace are returned but not leased.
 */
const take = statement<Taken & { fits: boolean; wanted: boolean }>(
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
         select q.delivery_id, q.workspace_id, q.webhook_id, g.is_shut from (select exists (
           select 1 from webhooks g
           where g.workspace_id = w.workspace_id and g.id = w.id and g.gate_host is not null and g.is_active
         ) as is_shut) g, delivery_queue q
         where q.webhook_id = w.id
           and q.due_at <= ${present('$1')} - case when g.is_shut then $12::bigint else 0 end * interval '1 millisecond'
           and (q.token is null or $11::boolean)
         order by q.due_at
         limit greatest(0, least(
           coalesce(($5::jsonb ->> w.id)::int, $4::int),
           coalesce(($10::jsonb ->> w.workspace_id)::int, $9::int)
         )) for update of q skip locked
       ) q limit $2
     ) taken
   ),
   known as (${known('due', 'due.place, due.fits, due.is_shut', {
     day: '$13',
     max: '$14',
     number: 'row_number() over (partition by due.workspace_id, d.livemode order by due.place)',
   })}),
   leased as (
     update delivery_queue q
     set due_at = ${present('$1')} + $6::int * interval '1 millisecond', set_at = ${present('$1')}, token = $7
     from known where known.wanted and not known.is_shut and not known.is_over and known.fits
       and q.delivery_id = known.delivery_id
   ),
   ${countingTests('select * from known where wanted and not is_shut and not is_over and fits', '$13')},
   ${discarding('(not known.wanted or known.is_shut or known.is_over)')}
   select delivery_id, workspace_id, webhook_id, event_id, event, url, secret, previous_secret, accepted_secret, headers,
          format, message,
          case when fits and wanted and not is_shut and not is_over then body end as body, attempt, fits,
          wanted and not is_shut and not is_over as wanted
   from known order by place`,
)

/** The rows of a webhook at a gate that one claim reads: some may have to be discarded. */
const GATE_LOOKS = 8

/** At most this part of a claim goes to webhooks at a gate. */
const GATE_SHARE = 4

/**
 * One statement: for each host whose gate is free, choose the webhook that was not tried for the longest time; lease one of
 * its due rows; hold the gate. If another server held it meanwhile, nothing is leased.
 */
const takeAtGates = statement<Taken & { gate_host: string }>(
  'take_deliveries_at_gates',
  `with waiting as (
     select distinct on (w.gate_host) w.gate_host, w.workspace_id, w.id, w.last_failure_at
     from webhooks w left join receiver_hosts h on h.host = w.gate_host
     where w.gate_host is not null and (w.gate_host, w.id) > ($13, $14) and w.is_active
       and ($15::text is null or (w.gate_host, w.id) <= ($15, $16::text))
       and coalesce(($5::jsonb ->> w.id)::int, $4::int) > 0
       and coalesce(($10::jsonb ->> w.workspace_id)::int, $9::int) > 0
       and (h.held_until is null or h.held_until <= ${present('$1')} or h.held_until > ${present('$1')} + $12::bigint * interval '1 millisecond')
       and (h.waits_until is null or h.waits_until <= ${present('$1')} or h.waits_until > ${present('$1')} + $12::bigint * interval '1 millisecond'
         or w.last_failure_at is null or w.id = any($3::text[]))
       and exists (select 1 from delivery_queue q
         where q.webhook_id = w.id and q.due_at <= ${present('$1')} and (q.token is null or $11::boolean))
     order by w.gate_host, w.last_failure_at nulls first, w.id
   ),
   fitting as (
     select * from (
       select *, row_number() over (partition by workspace_id order by last_failure_at nulls first, id) as number from waiting
     ) w
     where number <= coalesce(($10::jsonb ->> workspace_id)::int, $9::int)
     order by last_failure_at nulls first, id limit $2
   ),
   due as (
     select w.gate_host, row_number() over () as place, q.* from fitting w cross join lateral (
       select q.delivery_id, q.workspace_id, q.webhook_id from delivery_queue q
       where q.webhook_id = w.id and q.due_at <= ${present('$1')} and (q.token is null or $11::boolean)
       order by q.due_at limit ${GATE_LOOKS} for update skip locked
     ) q
   ),
   known as materialized (${known('due', 'due.gate_host, due.place', { day: '$17', max: '$18', number: '1' })}),
   chosen as (
     select distinct on (gate_host) * from known where wanted and not is_over order by gate_host, place
   ),
   held as (
     insert into receiver_hosts (host, failures, held_until, waits_until)
     select gate_host, 0, ${present('$1')} + $6::int * interval '1 millisecond', ${present('$1')} from chosen order by gate_host
     on conflict (host) do update set held_until = excluded.held_until
     where receiver_hosts.held_until is null or receiver_hosts.held_until <= ${present('$1')}
       or receiver_hosts.held_until > ${present('$1')} + $12::bigint * interval '1 millisecond'
     returning host
   ),
   taken as (select chosen.* from chosen join held on held.host = chosen.gate_host),
   leased as (
     update delivery_queue q
     set due_at = ${present('$1')} + $6::int * interval '1 millisecond', set_at = ${present('$1')}, token = $7
     from taken where q.delivery_id = taken.delivery_id
   ),
   ${countingTests('select * from taken', '$17')},
   ${discarding('(not known.wanted or known.is_over)')}
   select delivery_id, workspace_id, webhook_id, event_id, event, url, secret, previous_secret, accepted_secret, headers,
          format, message, body, attempt, gate_host
   from taken order by place`,
)

/**
 * The time is queried before the claim, so that a clock that was set forwards ends no lease. `has_gates`: whether any webhook
 * waits at a gate; `gates_end`: the last one to look at, null if less than `GATES_MAX` follow.
 */
const readTime = statement<{ at: Date; has_gates: boolean; gates_end: string[] | null }>(
  'read_time',
  `select ${present('$1')} as at, exists (select 1 from webhooks where gate_host is not null) as has_gates,
     (select array[gate_host, id] from webhooks where gate_host is not null and (gate_host, id) > ($2, $3)
      order by gate_host, id limit 1 offset ${GATES_MAX - 1}) as gates_end`,
)

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
  /** Host and id of the last webhook of the last look at the gates; empty if the look reached the end. */
  let lastGate: readonly string[] = ['', '']

  const find = (claim: DeliveryClaim) =>
    database.rows(
      take,
      ...termsOf(claim, { limit: claim.limit, third: last }),
      SCHEDULE_MS,
      ...testTermsOf(claim),
    )

  const findAtGates = (claim: DeliveryClaim, from: readonly string[], to: string[] | null) =>
    database.rows(
      takeAtGates,
      ...termsOf(claim, {
        limit: Math.ceil(claim.limit / GATE_SHARE),
        third: claim.requested ?? [],
      }),
      GATE_WAIT_MAX_MS + claim.lease_ms,
      ...from,
      to?.[0] ?? null,
      to?.[1] ?? null,
      ...testTermsOf(claim),
    )

  /** The day, and its maximum of attempts about test messages. */
  const testTermsOf = ({ now, test_deliveries_per_day: max }: DeliveryClaim) =>
    [dayOf(now), max ?? Number.MAX_SAFE_INTEGER] as const

  /** The parameters of both statements. */
  const termsOf = (
    claim: DeliveryClaim,
    { limit, third }: { limit: number; third: string | readonly string[] },
  ) =>
    [
      clock.now(claim.now),
      limit,
      third,
      claim.limit_per_webhook,
      JSON.stringify(Object.fromEntries(claim.room_of_webhook)),
      claim.lease_ms,
      claim.token,
      claim.now,
      claim.limit_per_workspace,
      JSON.stringify(Object.fromEntries(claim.room_of_workspace)),
      steps.takesOver({ elapsed_ms: clock.elapsed(claim), lease_ms: claim.lease_ms }),
    ] as const

  /** Notes the time, and takes the deliveries at gates. */
  async function look(claim: DeliveryClaim): Promise<ClaimedDelivery[]> {
    const before_ms = clock.elapsed(claim)
    const from = lastGate
    const [time] = await database.rows(readTime, clock.now(claim.now), ...from)
    if (!time) return []
    steps.saw(time.at, before_ms, clock.elapsed(claim))
    if (!time.has_gates) return []
    lastGate = time.gates_end ?? ['', '']
    const rows = await findAtGates(claim, from, time.gates_end)
    return rows.map((row) => ({ ...row, token: claim.token }))
  }

  return async (claim: DeliveryClaim): Promise<ClaimedDelivery[]> => {
    const claimed = await look(claim)
    let rest = claimed.length > 0 ? without(claim, claimed, claim) : claim
    for (let looks = 0; looks < LOOKS_MAX && rest.limit > 0; looks++) {
      const found = await find(rest)
      // With fewer rows, the walk returned to its start. Discarded rows count too, because other rows follow them.
      if (found.length === rest.limit) last = found.at(-1)?.webhook_id ?? last
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
