import { dayOf } from '../../../rules/decide.ts'
import type { ClaimedDelivery } from '../../../rules/deliveries.ts'
import {
  GATE_WAIT_MAX_MS,
  GATES_MAX,
  SCHEDULE_MS,
  TEST_LIMIT,
} from '../../../rules/delivery-times.ts'

import type { DeliveryClaim } from '../../ports/hot.ts'
import type { ClockSteps } from '../../queueing.ts'
import type { Connection } from '../engine/connection.ts'
import { contentOf } from '../engine/contents.ts'

/** A text that sorts after every id. */
const LAST_ID = '~'

/** At most this part of a claim goes to webhooks at a gate. */
const GATE_SHARE = 4

/** The rows of a webhook at a gate that one claim reads: some may have to be discarded. */
const GATE_LOOKS = 8

/** A webhook with a due delivery. */
interface Waiting {
  id: string
  workspace_id: string
  /** The host at whose gate the active webhook waits. */
  gate_host: string | null
}

/** A claim for which it is decided whether the leases that have ended may be taken over. */
interface DecidedClaim extends DeliveryClaim {
  takes_over: 0 | 1
}

interface Found extends Omit<ClaimedDelivery, 'url' | 'headers' | 'message' | 'token'> {
  /** Null for the callback of an erased message. */
  url: string | null
  headers: string
  message: string | null
  /** 1 for a delivery to send; 0 if the webhook is disabled or now has another mode. */
  wanted: number
  livemode: number
}

/**
 * The verb `claimDeliveries` on SQLite. Walks the webhooks with due deliveries, with one index seek for each, and takes
 * a bounded number of rows from each; the next claim continues after the last webhook. Measured: with a plain `order by
 * due_at limit 512`, a 771,000-row backlog of one webhook blocked all others for 1,500 batches.
 */
export function prepareClaimDeliveries(connection: Connection, { steps }: { steps: ClockSteps }) {
  // One statement jumps along the index: for 5,000 webhooks with only later retries it cost 12 ms for each claim, a
  // query for each webhook cost 220 ms.
  const dueWebhooks = connection.prepare(
    `with recursive waiting(id) as (
         select min(webhook_id) from delivery_queue where webhook_id > $after
         union all
         select (select min(webhook_id) from delivery_queue where webhook_id > waiting.id)
         from waiting where waiting.id <= $until
       )
       select due.id, due.workspace_id,
         (select w.gate_host from webhooks w where w.workspace_id = due.workspace_id and w.id = due.id and w.is_active) as gate_host
       from (
         select id, (select workspace_id from delivery_queue where webhook_id = id limit 1) as workspace_id from waiting
         where id <= $until
           and exists (select 1 from delivery_queue where webhook_id = waiting.id and due_at <= $now)
         limit $limit
       ) due`,
  )
  const content = contentOf('m.content')
  const due = connection.prepare(
    `select q.delivery_id, q.workspace_id, q.webhook_id, d.event_id, d.event,
            case when w.callback_origin is null then w.url
              else (select json_extract(m.status_callback, '$.url') from messages m
                    where m.workspace_id = d.workspace_id and m.id = d.message_id) end as url,
            w.secret, case when w.previous_secret_ends_at > $now then w.previous_secret end as previous_secret,
            w.accepted_secret, w.headers, w.format,
            case when w.format <> 'svc'
              then (select json_object('sender', m.sender, 'subject', json_extract(${content}, '$.subject'),
                      'from_address', json_extract(${content}, '$.from_address'), 'callback_method',
                      case when w.callback_origin is not null then json_extract(m.status_callback, '$.method') end) from messages m
                    where m.workspace_id = d.workspace_id and m.id = d.message_id) end as message,
            e.body,
            d.attempt_count + 1 as attempt, d.livemode,
            (w.is_active and (w.mode = 'all' or w.mode = case when d.livemode then 'live' else 'test' end))
              or d.trigger = 'test' as wanted
     from delivery_queue q
     join deliveries d on d.workspace_id = q.workspace_id and d.webhook_id = q.webhook_id and d.id = q.delivery_id
     join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
     join webhooks w on w.workspace_id = q.workspace_id and w.id = q.webhook_id
     where q.webhook_id = $webhook and q.due_at <= $until and (q.token is null or $takes_over)
     order by q.due_at limit $limit`,
  )
  // The order puts first which webhook of a host gets its turn.
  const gated = connection.prepare(
    `select w.id, w.workspace_id, w.gate_host from webhooks w left join receiver_hosts h on h.host = w.gate_host
     where w.gate_host is not null and (w.gate_host, w.id) > ($host, $id) and w.is_active
       and (w.gate_host, w.id) <= ($to_host, $to_id)
       and (h.held_until is null or h.held_until <= $now or h.held_until > $far)
       and (h.waits_until is null or h.waits_until <= $now or h.waits_until > $far
         or w.last_failure_at is null or w.id in (select value from json_each($requested)))
       and exists (select 1 from delivery_queue q
         where q.webhook_id = w.id and q.due_at <= $now and (q.token is null or $takes_over))
     order by w.last_failure_at, w.id`,
  )
  const gatesEnd = connection.prepare(
    `select gate_host, id from webhooks where gate_host is not null and (gate_host, id) > (?, ?)
     order by gate_host, id limit 1 offset ${GATES_MAX - 1}`,
  )
  const hold = connection.prepare(
    `insert into receiver_hosts (host, failures, held_until, waits_until) values ($host, 0, $until, $now)
     on conflict (host) do update set held_until = excluded.held_until`,
  )
  const lease = connection.prepare(
    'update delivery_queue set due_at = ?, set_at = ?, token = ? where delivery_id = ?',
  )
  const discard = connection.prepare(
    `update deliveries set status = 'discarded', next_attempt_at = null, updated_at = ?, error = coalesce(?, error)
     where workspace_id = ? and webhook_id = ? and id = ?`,
  )
  const dequeue = connection.prepare('delete from delivery_queue where delivery_id = ?')
  const testAttempts = connection
    .prepare('select attempts from test_deliveries where workspace_id = ? and day = ?')
    .pluck()
  const countTest = connection.prepare(
    `insert into test_deliveries (workspace_id, day, attempts) values ($workspace, $day, 1)
     on conflict (workspace_id) do update set
       attempts = case when day = excluded.day then attempts + 1 else 1 end, day = excluded.day`,
  )
  let last = ''
  /** The last webhook of the last look at the gates; null if the look reached the end. */
  let lastGate: Pick<Waiting, 'id' | 'gate_host'> | null = null

  /** The webhooks with due deliveries: first those after the last served webhook, then the others. */
  function* webhooksOf(claim: DeliveryClaim): Generator<Waiting> {
    const now = claim.now.getTime()
    // The page is larger by the number of webhooks without room, so that these do not displace the others.
    const limit = claim.limit + claim.room_of_webhook.size
    for (const [start, until] of [
      [last, LAST_ID],
      ['', last],
    ] as const) {
      for (let after = start; ; ) {
        const found = dueWebhooks.all({ after, until, now, limit }) as Waiting[]
        yield* found
        if (found.length < limit) break
        after = (found.at(-1) as Waiting).id
      }
    }
  }

  /**
   * Leases due rows of one webhook, at most one if it holds the gate of its host. Discards them if it is disabled or now has
   * another mode, or if they waited at a gate for too long.
   */
  function take(
    { id: webhook, gate_host }: Pick<Waiting, 'id' | 'gate_host'>,
    { limit, holds }: { limit: number; holds: boolean },
    claim: DecidedClaim,
  ): ClaimedDelivery[] {
    const now = claim.now.getTime()
    const isShut = gate_host !== null && !holds
    const until = isShut ? now - SCHEDULE_MS : now
    const taken: ClaimedDelivery[] = []
    const { takes_over } = claim
    const found = due.all({ webhook, now, until, takes_over, limit }) as Found[]
    const day = dayOf(claim.now)
    const testMax = claim.test_deliveries_per_day ?? Number.POSITIVE_INFINITY
    for (const { wanted, url, message, livemode, ...row } of found) {
      const workspace = row.workspace_id
      const isOver = !livemode && ((testAttempts.get(workspace, day) as number) ?? 0) >= testMax
      if (wanted && url !== null && !isShut && !isOver) {
        if (holds && taken.length > 0) continue
        if (!livemode) countTest.run({ workspace, day })
        lease.run(now + claim.lease_ms, now, claim.token, row.delivery_id)
        taken.push({
          ...row,
          url,
          headers: JSON.parse(row.headers),
          message: message === null ? null : JSON.parse(message),
          token: claim.token,
          ...(gate_host !== null && { gate_host }),
        })
      } else {
        const reason = wanted && isOver ? TEST_LIMIT : null
        discard.run(now, reason, workspace, row.webhook_id, row.delivery_id)
        dequeue.run(row.delivery_id)
      }
    }
    return taken
  }

  /** Takes one delivery for each host whose gate is free. */
  function takeAtGates(claim: DecidedClaim, rooms: Map<string, number>): ClaimedDelivery[] {
    const start = lastGate
    const from = [start?.gate_host ?? '', start?.id ?? ''] as const
    lastGate = (gatesEnd.get(...from) as typeof lastGate | undefined) ?? null
    const now = claim.now.getTime()
    const found = gated.all({
      host: from[0],
      id: from[1],
      to_host: lastGate?.gate_host ?? LAST_ID,
      to_id: lastGate?.id ?? LAST_ID,
      now,
      far: now + GATE_WAIT_MAX_MS + claim.lease_ms,
      requested: JSON.stringify(claim.requested ?? []),
      takes_over: claim.takes_over,
    }) as Waiting[]
    const taken: ClaimedDelivery[] = []
    const held = new Set<string>()
    for (const webhook of found) {
      const host = webhook.gate_host as string
      const room = rooms.get(webhook.workspace_id) ?? claim.limit_per_workspace
      const ofWebhook = claim.room_of_webhook.get(webhook.id) ?? claim.limit_per_webhook
      if (held.has(host) || room <= 0 || ofWebhook <= 0) continue
      const [delivery] = take(webhook, { limit: GATE_LOOKS, holds: true }, claim)
      if (!delivery) continue
      held.add(host)
      hold.run({ host, now, until: now + claim.lease_ms })
      rooms.set(webhook.workspace_id, room - 1)
      if (taken.push(delivery) >= Math.ceil(claim.limit / GATE_SHARE)) break
    }
    return taken
  }

  return (given: DeliveryClaim): ClaimedDelivery[] => {
    steps.saw(given.now, given.elapsed_ms, given.elapsed_ms)
    if (given.limit === 0) return []
    const claim: DecidedClaim = { ...given, takes_over: steps.takesOver(given) ? 1 : 0 }
    const rooms = new Map(claim.room_of_workspace)
    const claimed = takeAtGates(claim, rooms)
    for (const webhook of webhooksOf(claim)) {
      if (claimed.length >= claim.limit) break
      const { id, workspace_id } = webhook
      last = id
      const room = rooms.get(workspace_id) ?? claim.limit_per_workspace
      const ofWebhook = claim.room_of_webhook.get(id) ?? claim.limit_per_webhook
      const limit = Math.min(room, ofWebhook, claim.limit - claimed.length)
      if (limit <= 0) continue
      const taken = take(webhook, { limit, holds: false }, claim)
      rooms.set(workspace_id, room - taken.length)
      claimed.push(...taken)
    }
    return claimed
  }
}
