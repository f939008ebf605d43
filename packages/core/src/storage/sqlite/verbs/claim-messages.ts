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
import { type ClockSteps, REDATED } from '../../queueing.ts'
import type { Connection } from '../engine/connection.ts'
import { decoder, insertInto, selectFrom, updateOf } from '../engine/rows.ts'
import { prepareFindSuppressed } from './find-suppressed.ts'
import { prepareRedate } from './redate.ts'

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
    log?: Pick<Log, 'warn'> | undefined
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
      if (count > 0) log?.warn({ rows: count }, REDATED)
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
    const rows = findDue.all({ now: now.getTime(), takes_over, limit }) as unknown[][]
    const due = rows.map((values) => decode(values) as unknown as DueMessage)
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
