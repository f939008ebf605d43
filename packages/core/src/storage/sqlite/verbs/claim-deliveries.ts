import type { ClaimedDelivery } from '../../../rules/claim-deliveries.ts'
import type { ClockSteps } from '../../clock-steps.ts'
import type { DeliveryClaim } from '../../ports/hot.ts'
import type { Connection } from '../engine/connection.ts'

/** A text that sorts after every id. */
const LAST_ID = '~'

/** A webhook with a due delivery. */
interface Waiting {
  id: string
  workspace_id: string
}

interface Found extends Omit<ClaimedDelivery, 'url' | 'headers' | 'message' | 'token'> {
  /** Null for the callback of an erased message. */
  url: string | null
  headers: string
  message: string | null
  /** 1 for a delivery to send; 0 if the webhook is disabled or now has another mode. */
  wanted: number
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
       select id, (select workspace_id from delivery_queue where webhook_id = id limit 1) as workspace_id from waiting
       where id <= $until
         and exists (select 1 from delivery_queue where webhook_id = waiting.id and due_at <= $now)
       limit $limit`,
  )
  const due = connection.prepare(
    `select q.delivery_id, q.workspace_id, q.webhook_id, d.event_id, d.event,
            case when w.callback_origin is null then w.url
              else (select json_extract(m.status_callback, '$.url') from messages m
                    where m.workspace_id = d.workspace_id and m.id = d.message_id) end as url,
            w.secret, case when w.previous_secret_ends_at > $now then w.previous_secret end as previous_secret,
            w.accepted_secret, w.headers, w.format,
            case when w.format <> 'svc'
              then (select json_object('sender', m.sender, 'subject', json_extract(m.content, '$.subject'),
                      'from_address', json_extract(m.content, '$.from_address'), 'callback_method',
                      case when w.callback_origin is not null then json_extract(m.status_callback, '$.method') end) from messages m
                    where m.workspace_id = d.workspace_id and m.id = d.message_id) end as message,
            e.body,
            d.attempt_count + 1 as attempt,
            (w.is_active and (w.mode = 'all' or w.mode = case when d.livemode then 'live' else 'test' end))
              or d.trigger = 'test' as wanted
     from delivery_queue q
     join deliveries d on d.workspace_id = q.workspace_id and d.webhook_id = q.webhook_id and d.id = q.delivery_id
     join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
     join webhooks w on w.workspace_id = q.workspace_id and w.id = q.webhook_id
     where q.webhook_id = $webhook and q.due_at <= $now and (q.token is null or $takes_over)
     order by q.due_at limit $limit`,
  )
  const lease = connection.prepare(
    'update delivery_queue set due_at = ?, set_at = ?, token = ? where delivery_id = ?',
  )
  const discard = connection.prepare(
    `update deliveries set status = 'discarded', next_attempt_at = null, updated_at = ?
     where workspace_id = ? and webhook_id = ? and id = ?`,
  )
  const dequeue = connection.prepare('delete from delivery_queue where delivery_id = ?')
  let last = ''

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
        after = found.at(-1)?.id ?? until
      }
    }
  }

  /** Leases the due rows of one webhook; discards them if it is disabled or now has another mode. */
  function take(webhook: string, limit: number, claim: DeliveryClaim): ClaimedDelivery[] {
    const now = claim.now.getTime()
    const taken: ClaimedDelivery[] = []
    const takes_over = steps.takesOver(claim) ? 1 : 0
    const found = due.all({ webhook, now, takes_over, limit }) as Found[]
    for (const { wanted, url, message, ...row } of found) {
      if (wanted && url !== null) {
        lease.run(now + claim.lease_ms, now, claim.token, row.delivery_id)
        taken.push({
          ...row,
          url,
          headers: JSON.parse(row.headers),
          message: message === null ? null : JSON.parse(message),
          token: claim.token,
        })
      } else {
        discard.run(now, row.workspace_id, row.webhook_id, row.delivery_id)
        dequeue.run(row.delivery_id)
      }
    }
    return taken
  }

  return (claim: DeliveryClaim): ClaimedDelivery[] => {
    steps.saw(claim.now, claim.elapsed_ms, claim.elapsed_ms)
    const claimed: ClaimedDelivery[] = []
    const rooms = new Map(claim.room_of_workspace)
    for (const { id, workspace_id } of webhooksOf(claim)) {
      if (claimed.length >= claim.limit) break
      last = id
      const room = rooms.get(workspace_id) ?? claim.limit_per_workspace
      const ofWebhook = claim.room_of_webhook.get(id) ?? claim.limit_per_webhook
      const limit = Math.min(room, ofWebhook, claim.limit - claimed.length)
      if (limit <= 0) continue
      const taken = take(id, limit, claim)
      rooms.set(workspace_id, room - taken.length)
      claimed.push(...taken)
    }
    return claimed
  }
}
