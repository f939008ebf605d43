import type { MessageAttemptRow, MessageQueueRow } from '../../../rows/rows.ts'
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
  partsOf,
  shareOf,
  type Turns,
  takeTurns,
  WALK_MAX,
  type Walk,
} from '../../../rules/take-turns.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { MessageClaim } from '../../ports/hot.ts'
import { type Clock, type ClockSteps, REDATED, REDATED_MAX, STEP_MIN_MS } from '../../queueing.ts'
import { BROADCAST_HOLDS } from '../../stores/broadcasts.ts'

import { type Database, statement, type Transaction } from '../engine/database.ts'
import { insertInto, present, updateOf } from '../engine/rows.ts'
import { findSuppressed } from './shared-rows.ts'

type Due = Pick<MessageQueueRow, (typeof CLAIMED_QUEUE_COLUMNS)[number] | 'is_bulk'>

/**
 * How long claims continue without re-dating after a re-dating failed; the time doubles with each failure. The first is
 * short, because until a re-dating succeeds this server hands nothing over.
 */
const REDATE_AGAIN_MS = { first: 1_000, most: 30_000 }

const DUE_COLUMNS = [...CLAIMED_QUEUE_COLUMNS, 'is_bulk'] as const

/** Returns at least one row, which contains only the time when nothing is due. */
const takeDue = statement<{ at: Date } & (Due | { message_id: null })>(
  'take_due_messages',
  `with due as (
     select ${DUE_COLUMNS.join(', ')} from message_queue
     where due_at <= ${present('$1')} and (token is null or $3::boolean)
     order by due_at limit $2 for update skip locked
   )
   select ${present('$1')} as at, due.* from (select 1) clock left join due on true`,
)

/** What a walk over the lines of workspaces looked into. */
interface Walked {
  /** The number of workspaces, and of those with due messages. */
  visited: number
  found: number
  last_visited: string | null
  last_found: string | null
  lines: number
}

const WAITING = `q.token is null and q.due_at <= ${present('$1')}`

/**
 * The first due rows of each line of the workspaces after $2, until $3 workspaces with due rows: $4 rows divided among the lines.
 * Returns at least one row, which contains only the facts if no row is found. `due_at` is in no condition of the walk, so
 * that a workspace with many later messages costs one seek.
 */
const walkLines = statement<Walked & (Due | { message_id: null })>(
  'walk_message_lines',
  `with recursive walk(id, n) as (
     (select q.workspace_id, 1 from message_queue q where q.token is null and q.workspace_id > $2
      order by q.workspace_id limit 1)
     union all
     select next.workspace_id, walk.n + 1 from walk cross join lateral (
       select q.workspace_id from message_queue q where q.token is null and q.workspace_id > walk.id
       order by q.workspace_id limit 1
     ) next where walk.n < ${WALK_MAX}
   ),
   found as materialized (
     select id, n from walk
     where exists (select 1 from message_queue q where q.workspace_id = walk.id and not q.is_bulk and ${WAITING})
        or exists (select 1 from message_queue q where q.workspace_id = walk.id and q.is_bulk and ${WAITING})
     order by n limit $3
   ),
   lines as materialized (
     select found.id, found.n, kinds.is_bulk from found cross join (values (false), (true)) kinds(is_bulk)
     where exists (select 1 from message_queue q where q.workspace_id = found.id and q.is_bulk = kinds.is_bulk and ${WAITING})
   ),
   due as (
     select row_number() over () as place, taken.* from (
       select q.* from lines cross join lateral (
         select ${DUE_COLUMNS.map((name) => `q.${name}`).join(', ')} from message_queue q
         where q.workspace_id = lines.id and q.is_bulk = lines.is_bulk and ${WAITING}
         order by q.due_at limit greatest(1, $4::int / (select count(*) from lines)) for update of q skip locked
       ) q
     ) taken
   )
   select facts.*, due.* from (
     select (select count(*)::int from walk) as visited, (select count(*)::int from found) as found,
       (select id from walk order by n desc limit 1) as last_visited,
       (select id from found order by n desc limit 1) as last_found,
       (select count(*)::int from lines) as lines
   ) facts left join due on true order by due.place`,
)

const readMessages = statement<Omit<DueMessage, keyof Due> & { id: string }>(
  'read_claimed_messages',
  `select m.id, ${CLAIMED_MESSAGE_COLUMNS.map((column) => `m.${column}`).join(', ')}
   from unnest($1::text[], $2::text[]) r(workspace_id, id)
   join messages m on m.workspace_id = r.workspace_id and m.id = r.id`,
)

const findAttempts = statement<Pick<MessageAttemptRow, 'message_id' | 'provider'>>(
  'find_interrupted_attempts',
  `select a.message_id, a.provider
   from unnest($1::text[], $2::text[], $3::int[]) r(workspace_id, message_id, number)
   join message_attempts a on a.workspace_id = r.workspace_id and a.message_id = r.message_id
     and a.number = r.number`,
)

const BULKS = `unnest($1::text[], $2::text[]) r(workspace_id, id)
   join bulks b on b.workspace_id = r.workspace_id and b.id = r.id`

/**
 * Locks the paused bulks and broadcasts in share mode: what is held until this claim ends must be stored before a request
 * resumes one.
 */
const findPaused = statement<{ bulk_id: string; held_by: string }>(
  'find_paused_bulks',
  `select * from (
     select b.id as bulk_id, c.id as held_by from ${BULKS}
     join broadcasts c on c.workspace_id = b.workspace_id and c.id = b.broadcast_id
     where ${BROADCAST_HOLDS} order by c.id for share of c
   ) broadcasts
   union all
   select * from (
     select b.id as bulk_id, b.id as held_by from ${BULKS}
     where b.paused_at is not null order by b.id for share of b
   ) bulks`,
)

/**
 * The verb `claimMessages` on PostgreSQL: take due rows that no claim holds, move their due time to the end of the
 * lease, journal the attempts. The messages are read after their queue rows were locked, so that a claim sees the
 * previous settlement.
 */
export function prepareClaimMessages(
  database: Database,
  t: Tables,
  {
    clock,
    steps,
    log,
    redate,
  }: {
    clock: Clock
    steps: ClockSteps
    log: Pick<Log, 'warn'>
    redate: ReturnType<typeof prepareRedate>
  },
) {
  /** The workspace after which the next walk begins; '' for the first. */
  let last = ''
  let is_odd = false
  let redate_from_ms = Number.NEGATIVE_INFINITY
  let redate_again_ms = REDATE_AGAIN_MS.first
  const lease = updateOf('lease_messages', t.message_queue, {
    key: ['message_id'],
    set: ['token', 'attempt'],
    instead: {
      due_at: `${present('$3')} + $4::int * interval '1 millisecond'`,
      set_at: present('$3'),
    },
  })
  const journal = insertInto('journal_attempts', t.message_attempts)
  const hold = updateOf('hold_messages', t.message_queue, {
    key: ['message_id'],
    set: HELD_COLUMNS,
  })

  /** The due rows. A lease that ended only because the clock was set forwards stays valid. */
  async function dueOf(tx: Transaction, claim: MessageClaim): Promise<Due[]> {
    const { lease_ms } = claim
    // The claim may have waited for a connection or may be a repetition: only the moments around the query count.
    const before_ms = clock.elapsed(claim)
    const takes_over = steps.takesOver({ elapsed_ms: before_ms, lease_ms })
    const found = await tx.rows(takeDue, clock.now(claim.now), claim.limit, takes_over)
    const after_ms = clock.elapsed(claim)
    if (found[0]) steps.saw(found[0].at, before_ms, after_ms)
    const due = found.flatMap((row) => (row.message_id === null ? [] : row))
    const stillTakesOver = steps.takesOver({ elapsed_ms: after_ms, lease_ms })
    return stillTakesOver ? due : due.filter(({ token }) => token === null)
  }

  /** Looks into the lines of the next workspaces, until enough of them have due messages. */
  async function walk(
    tx: Transaction,
    now: Date | null,
    parts: ClaimParts,
  ): Promise<Walk<Due> & { end: string }> {
    const found = await tx.rows(walkLines, now, last, parts.workspaces, parts.walked)
    const [walked] = found
    const isCut = walked !== undefined && walked.found === parts.workspaces
    const isLong = walked !== undefined && walked.visited === WALK_MAX
    return {
      end: (isCut ? walked.last_found : isLong ? walked.last_visited : null) ?? '',
      rows: found.flatMap((row) => (row.message_id === null ? [] : row)),
      share: shareOf(parts, walked?.lines ?? 0),
      is_whole: last === '' && !isCut && !isLong,
    }
  }

  /** The next rows, of which none is left if there are fewer than the limit, and the end of the walk. */
  async function nextOf(
    tx: Transaction,
    claim: MessageClaim,
  ): Promise<Turns<Due> & { end: string }> {
    const { limit } = claim
    const oldest = await dueOf(tx, claim)
    if (oldest.length < limit) return { taken: oldest, left: new Set(), end: '' }
    const parts = partsOf(limit, !is_odd)
    const lines = await walk(tx, clock.now(claim.now), parts)
    const turns = takeTurns(oldest, lines, { limit, walked: parts.walked })
    return { ...turns, end: lines.end }
  }

  /** Re-dates rows that were dated while the clock was ahead. The claim succeeds even if this fails. */
  async function redateQueued(claim: MessageClaim): Promise<void> {
    if (!steps.isDoubtful() || clock.elapsed(claim) < redate_from_ms) return
    try {
      const redated = steps.redating()
      const count = await redate(claim.now)
      redated(count)
      redate_again_ms = REDATE_AGAIN_MS.first
      if (count > 0) log.warn({ rows: count }, REDATED)
    } catch (error) {
      redate_from_ms = clock.elapsed(claim) + redate_again_ms
      redate_again_ms = Math.min(2 * redate_again_ms, REDATE_AGAIN_MS.most)
      log.warn(
        { err: error },
        'rows that were queued while the clock was ahead could not be re-dated',
      )
    }
  }

  async function take(claim: MessageClaim): Promise<ClaimedMessage[]> {
    const { claimed, left, end, isFull } = await database.transact(async (tx) => {
      const now = clock.now(claim.now)
      const { taken, left, end } = await nextOf(tx, claim)
      const isFull = taken.length === claim.limit
      if (taken.length === 0) return { claimed: [], left, end, isFull }
      const found = await readDue(tx, taken)
      const { waited, interrupted, holdable } = claimLookups(found, claim.now)
      const [suppressed, providers, held] = await Promise.all([
        findSuppressed(tx, waited),
        findProviders(tx, interrupted),
        findHeld(tx, holdable),
      ])
      const plan = planClaim(found, {
        now: claim.now,
        token: claim.token,
        ...{ suppressed, interrupted: providers, held },
        route: claim.route,
      })
      tx.write(lease, plan.leases, now, claim.lease_ms)
      tx.write(journal, plan.attempts)
      tx.write(hold, plan.holds)
      return { claimed: plan.claimed, left, end, isFull }
    })
    // A transaction that failed or is repeated has moved nothing.
    last = end
    if (isFull) {
      is_odd = !is_odd
      claim.onLeft?.(left)
    }
    return claimed
  }

  return async (claim: MessageClaim): Promise<ClaimedMessage[]> => {
    const taken = await take(claim)
    await redateQueued(claim)
    return taken
  }
}

/** The messages of locked queue rows, in the order of the rows. Rows without a message are left out. */
async function readDue(tx: Transaction, due: readonly Due[]): Promise<DueMessage[]> {
  const messages = await tx.rows(
    readMessages,
    due.map(({ workspace_id }) => workspace_id),
    due.map(({ message_id }) => message_id),
  )
  const byId = new Map(messages.map(({ id, ...message }) => [id, message]))
  return due.flatMap(({ message_id, workspace_id, task, token, attempt, unknown_since }) => {
    const message = byId.get(message_id)
    const queued = { message_id, workspace_id, task, token, attempt, unknown_since }
    return message ? { ...queued, ...message } : []
  })
}

/** The providers of interrupted attempts; the keys of this map are message ids. */
async function findProviders(
  tx: Transaction,
  interrupted: readonly DueMessage[],
): Promise<Map<string, string>> {
  if (interrupted.length === 0) return new Map()
  const attempts = await tx.rows(
    findAttempts,
    interrupted.map(({ workspace_id }) => workspace_id),
    interrupted.map(({ message_id }) => message_id),
    interrupted.map(({ attempt }) => attempt),
  )
  return new Map(attempts.map(({ message_id, provider }) => [message_id, provider]))
}

/** The paused bulks and broadcasts of these messages; the keys of this map are ids of bulks. */
async function findHeld(
  tx: Transaction,
  holdable: ClaimLookups['holdable'],
): Promise<Map<string, string>> {
  if (holdable.length === 0) return new Map()
  const bulks = new Map(holdable.map(({ bulk_id, workspace_id }) => [bulk_id, workspace_id]))
  const paused = await tx.rows(findPaused, [...bulks.values()], [...bulks.keys()])
  return new Map(paused.map(({ bulk_id, held_by }) => [bulk_id, held_by]))
}

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
