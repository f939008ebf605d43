import { type Column, getTableColumns } from 'drizzle-orm'
import type { Tables } from '../../../rows/tables.ts'
import {
  CLAIMED_MESSAGE_COLUMNS,
  CLAIMED_QUEUE_COLUMNS,
  type ClaimedMessage,
  claimLookups,
  type DueMessage,
  planClaim,
} from '../../../rules/claim.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { MessageClaim } from '../../ports/hot.ts'
import { type ClockSteps, REDATED, REDATED_MAX, STEP_MIN_MS } from '../../queueing.ts'
import type { Connection } from '../engine/connection.ts'
import { decoder, insertInto, selectFrom, updateOf } from '../engine/rows.ts'
import { prepareFindSuppressed } from './shared-rows.ts'

/**
 * A claim ends with the message that reaches this number of characters of contents, because reading them blocks the event loop.
 * While 1,000 mails of 60 KB were sent, the longest turn was 15 to 25 ms of CPU with this bound and 80 ms without it.
 */
const CONTENTS_MAX = 1_048_576

/**
 * The verb `claimMessages` on SQLite: take due rows, move their due time to the end of the lease, journal the
 * attempts.
 */
export function prepareClaimMessages(
  connection: Connection,
  t: Tables,
  {
    steps,
    log,
    afterCommit,
  }: {
    steps: ClockSteps
    log: Pick<Log, 'warn'>
    afterCommit: (work: () => void) => void
  },
) {
  const queue = getTableColumns(t.message_queue)
  const message = getTableColumns(t.messages)
  const columns: (readonly [string, Column])[] = [
    ...CLAIMED_QUEUE_COLUMNS.map((name) => [name, queue[name] as Column] as const),
    ...CLAIMED_MESSAGE_COLUMNS.map((name) => [name, message[name] as Column] as const),
  ]
  const findDue = connection
    .prepare(
      `select ${CLAIMED_QUEUE_COLUMNS.map((name) => `q.${name}`).join(', ')},
         ${CLAIMED_MESSAGE_COLUMNS.map((name) => `m.${name}`).join(', ')}
       from message_queue q join messages m on m.workspace_id = q.workspace_id and m.id = q.message_id
       where q.due_at <= $now and (q.token is null or $takes_over) order by q.due_at limit $limit`,
    )
    .raw()
  const decode = decoder(columns)
  const content = columns.findIndex(([name]) => name === 'content')
  const lease = updateOf(connection, t.message_queue, {
    key: ['message_id'],
    set: ['due_at', 'set_at', 'token', 'attempt'],
  })
  const redate = prepareRedate(connection)
  const findSuppressed = prepareFindSuppressed(connection)
  const journal = insertInto(connection, t.message_attempts)
  const findAttempt = selectFrom(
    connection,
    t.message_attempts,
    ['provider'],
    'workspace_id = ? and message_id = ? and number = ?',
  )

  /** Re-dates rows that were dated while the clock was ahead. */
  function redateQueued(now: Date): void {
    const count = redate(now)
    afterCommit(() => {
      steps.redated(count)
      if (count > 0) log.warn({ rows: count }, REDATED)
    })
  }

  /** The providers of interrupted attempts; the keys of this map are message ids. */
  function findProviders(interrupted: readonly DueMessage[]): Map<string, string> {
    return new Map(
      interrupted.flatMap(({ workspace_id, message_id, attempt }) =>
        findAttempt(workspace_id, message_id, attempt).map(({ provider }) => [
          message_id,
          provider,
        ]),
      ),
    )
  }

  return (claim: MessageClaim): ClaimedMessage[] => {
    const { now, limit, lease_ms, token, route } = claim
    steps.saw(now, claim.elapsed_ms, claim.elapsed_ms)
    if (steps.isDoubtful()) redateQueued(now)
    const takes_over = steps.takesOver(claim) ? 1 : 0
    const due: DueMessage[] = []
    let contents = 0
    for (const row of findDue.iterate({ now: now.getTime(), takes_over, limit })) {
      const values = row as unknown[]
      due.push(decode(values) as unknown as DueMessage)
      contents += String(values[content]).length
      if (contents < CONTENTS_MAX) continue
      claim.onEarlyEnd?.()
      break
    }
    if (due.length === 0) return []
    const { waited, interrupted } = claimLookups(due, now)
    const plan = planClaim(due, {
      now,
      token,
      suppressed: findSuppressed(waited),
      interrupted: findProviders(interrupted),
      route,
    })
    const due_at = new Date(now.getTime() + lease_ms)
    for (const row of plan.leases) lease({ ...row, due_at, set_at: now })
    for (const attempt of plan.attempts) journal(attempt)
    return plan.claimed
  }
}

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
function prepareRedate(connection: Connection): (now: Date) => number {
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
