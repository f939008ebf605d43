import { type Column, getTableColumns } from 'drizzle-orm'
import type { Tables } from '../../../rows/tables.ts'
import {
  CLAIMED_MESSAGE_COLUMNS,
  CLAIMED_QUEUE_COLUMNS,
  type ClaimedMessage,
  type ClaimLookups,
  claimLookups,
  type DueMessage,
  HELD_COLUMNS,
  planClaim,
} from '../../../rules/claim.ts'
import {
  type ClaimParts,
  type InLine,
  partsOf,
  shareOf,
  type Turns,
  takeTurns,
  WALK_MAX,
  type Walk,
} from '../../../rules/take-turns.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { MessageClaim } from '../../ports/hot.ts'
import { type ClockSteps, REDATED, REDATED_MAX, STEP_MIN_MS } from '../../queueing.ts'
import { BROADCAST_HOLDS } from '../../stores/broadcasts.ts'
import type { Connection } from '../engine/connection.ts'
import { contentOf } from '../engine/contents.ts'
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
  const findOldest = connection.prepare(
    `select message_id, workspace_id, is_bulk from message_queue
     where due_at <= $now and (token is null or $takes_over) order by due_at limit $limit`,
  )
  const nextWorkspace = connection
    .prepare('select min(workspace_id) from message_queue where token is null and workspace_id > ?')
    .pluck()
  const ofLine = `from message_queue
    where token is null and workspace_id = $workspace and is_bulk = $bulk and due_at <= $now`
  const isDueIn = connection.prepare(`select 1 ${ofLine} limit 1`).pluck()
  const firstOf = connection.prepare(
    `select message_id, workspace_id, is_bulk ${ofLine} order by due_at limit $limit`,
  )
  const readDue = connection
    .prepare(
      `select ${CLAIMED_QUEUE_COLUMNS.map((name) => `q.${name}`).join(', ')},
         ${CLAIMED_MESSAGE_COLUMNS.map((name) => (name === 'content' ? contentOf('m.content') : `m.${name}`)).join(', ')}
       from message_queue q join messages m on m.workspace_id = q.workspace_id and m.id = q.message_id
       where q.message_id = ?`,
    )
    .raw()
  const decode = decoder(columns)
  const content = columns.findIndex(([name]) => name === 'content')
  /** The workspace after which the next walk begins; '' for the first. */
  let last = ''
  let is_odd = false
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

  const hold = updateOf(connection, t.message_queue, { key: ['message_id'], set: HELD_COLUMNS })
  const findPaused = connection
    .prepare(
      `select coalesce(c.id, b.id) from bulks b
         left join broadcasts c on c.workspace_id = b.workspace_id and c.id = b.broadcast_id
       where b.workspace_id = ? and b.id = ? and (b.paused_at is not null or ${BROADCAST_HOLDS})`,
    )
    .pluck()

  /** The paused bulks and broadcasts of these messages; the keys of this map are ids of bulks. */
  function findHeld(holdable: ClaimLookups['holdable']): Map<string, string> {
    const held = new Map<string, string>()
    const bulks = new Map(holdable.map(({ bulk_id, workspace_id }) => [bulk_id, workspace_id]))
    for (const [bulk_id, workspace_id] of bulks) {
      const found = findPaused.get(workspace_id, bulk_id) as string | undefined
      if (found !== undefined) held.set(bulk_id, found)
    }
    return held
  }

  /** Re-dates rows that were dated while the clock was ahead. */
  function redateQueued(now: Date): void {
    const redated = steps.redating()
    const count = redate(now)
    afterCommit(() => {
      redated(count)
      if (count > 0) log.warn({ rows: count }, REDATED)
    })
  }

  /** Looks into the lines of the next workspaces, until enough of them have due messages. */
  function walk(now: number, parts: ClaimParts): Walk<InLine> {
    const lines: { workspace: string; bulk: number }[] = []
    const start = last
    let workspaces = 0
    let workspace: string | null = last
    for (let i = 0; i < WALK_MAX && workspaces < parts.workspaces; i++) {
      workspace = nextWorkspace.get(workspace) as string | null
      if (workspace === null) break
      const due = LINES.filter((bulk) => isDueIn.get({ workspace, bulk, now }))
      for (const bulk of due) lines.push({ workspace, bulk })
      if (due.length > 0) workspaces += 1
    }
    const share = shareOf(parts, lines.length)
    last = workspace ?? ''
    return {
      rows: lines.flatMap((line) => firstOf.all({ ...line, now, limit: share }).map(inLine)),
      share,
      is_whole: start === '' && workspace === null,
    }
  }

  /** The next rows, of which none is left if there are fewer than the limit. */
  function findDue(claim: MessageClaim): Turns<InLine> {
    const { limit } = claim
    const now = claim.now.getTime()
    const takes_over = steps.takesOver(claim) ? 1 : 0
    const oldest = findOldest.all({ now, takes_over, limit }).map(inLine)
    if (oldest.length < limit) {
      last = ''
      return { taken: oldest, left: new Set() }
    }
    is_odd = !is_odd
    const parts = partsOf(limit, is_odd)
    return takeTurns(oldest, walk(now, parts), { limit, walked: parts.walked })
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
    const { taken, left } = findDue(claim)
    const due: DueMessage[] = []
    let contents = 0
    let read = 0
    for (const { message_id } of taken) {
      read += 1
      const values = readDue.get(message_id) as unknown[] | undefined
      if (!values) continue
      due.push(decode(values) as unknown as DueMessage)
      contents += String(values[content]).length
      if (contents >= CONTENTS_MAX) break
    }
    // After an early end, more messages may be due than were found.
    if (contents >= CONTENTS_MAX) claim.onLeft?.(read < taken.length ? null : left)
    else if (taken.length === limit) claim.onLeft?.(left)
    if (due.length === 0) return []
    const { waited, interrupted, holdable } = claimLookups(due, now)
    const plan = planClaim(due, {
      now,
      token,
      suppressed: findSuppressed(waited),
      interrupted: findProviders(interrupted),
      held: findHeld(holdable),
      route,
    })
    const due_at = new Date(now.getTime() + lease_ms)
    for (const row of plan.leases) lease({ ...row, due_at, set_at: now })
    for (const attempt of plan.attempts) journal(attempt)
    for (const row of plan.holds) hold(row)
    return plan.claimed
  }
}

/** The lines of a workspace: `is_bulk` as it is stored. */
const LINES = [0, 1] as const

function inLine(row: unknown): InLine {
  const { message_id, workspace_id, is_bulk } = row as InLine
  return { message_id, workspace_id, is_bulk: Boolean(is_bulk) }
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
