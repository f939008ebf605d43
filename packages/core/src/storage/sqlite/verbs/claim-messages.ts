import { type Column, getTableColumns } from 'drizzle-orm'
import type { Tables } from '../../../rows/tables.ts'
import { hasWaited } from '../../../rules/waited.ts'
import type { Log } from '../../../runtime/runtime.ts'
import { type ClockSteps, REDATED } from '../../clock-steps.ts'
import type { ClaimedMessage, MessageClaim, MessageQueueRow, Route } from '../../ports/storage.ts'
import type { Connection } from '../engine/connection.ts'
import { decoder, insertInto, selectFrom, updateOf } from '../engine/rows.ts'
import { prepareIsSuppressed } from './find-suppressed.ts'
import { prepareRedate } from './redate.ts'

const QUEUE = ['message_id', 'workspace_id', 'task', 'token', 'attempt', 'unknown_since'] as const
const MESSAGE = [
  'api_key_id',
  'credits_used',
  'channel',
  'sender',
  'recipient',
  'content',
  'livemode',
  'status',
  'accepted',
  'provider',
  'provider_message_id',
  'created_at',
  'scheduled_at',
  'expires_at',
  'sent_at',
] as const

type Found = Pick<MessageQueueRow, (typeof QUEUE)[number]> &
  Omit<ClaimedMessage, (typeof QUEUE)[number] | 'interrupted' | 'suppressed' | 'route'>

/** The verb `claimMessages` on SQLite: take what is due, move its due time to the lease's end, journal the attempts. */
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
    ...QUEUE.map((name) => [name, queue[name] as Column] as const),
    ...MESSAGE.map((name) => [name, message[name] as Column] as const),
  ]
  const due = connection
    .prepare(
      `select ${QUEUE.map((name) => `q.${name}`).join(', ')}, ${MESSAGE.map((name) => `m.${name}`).join(', ')}
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
  const isSuppressed = prepareIsSuppressed(connection)
  const journal = insertInto(connection, t.message_attempts)
  const findAttempt = selectFrom(
    connection,
    t.message_attempts,
    ['provider'],
    'workspace_id = ? and message_id = ? and number = ?',
  )

  /** Who was being asked when the claim before this one ended without a word. */
  function interruptedRoute({
    workspace_id,
    message_id,
    attempt,
  }: Omit<Found, 'token'>): Route | null {
    const [asked] = findAttempt(workspace_id, message_id, attempt)
    return asked ? { provider: asked.provider, sender: null } : null
  }

  /** Brings back what a clock ahead of now has dated. */
  function bringBack(now: Date): void {
    const count = redate(now)
    afterCommit(() => {
      steps.redated(count)
      if (count > 0) log?.warn({ rows: count }, REDATED)
    })
  }

  return (claim: MessageClaim): ClaimedMessage[] => {
    const { now, limit, lease_ms, token, route: routeOf } = claim
    steps.saw(now, claim.elapsed_ms, claim.elapsed_ms)
    if (steps.isDoubtful()) bringBack(now)
    const takes_over = steps.takesOver(claim) ? 1 : 0
    const found = due.all({ now: now.getTime(), takes_over, limit }) as unknown[][]
    const due_at = new Date(now.getTime() + lease_ms)
    return found.map((values) => {
      const { token: previous, ...found } = decode(values) as unknown as Found
      const interrupted = previous !== null
      const sendable = found.task === 'send' && found.status === 'queued' && !interrupted
      const suppressed = sendable && hasWaited(found, now) && isSuppressed(found)
      const routed = sendable && !suppressed ? routeOf(found) : null
      const route = interrupted && found.task === 'send' ? interruptedRoute(found) : routed
      const isHeld = suppressed || routed?.provider === null
      const attempt = routed?.provider ? found.attempt + 1 : found.attempt
      const held = { due_at, set_at: now, token: isHeld ? null : token, attempt }
      lease({ message_id: found.message_id, ...held })
      if (routed?.provider) {
        journal({
          workspace_id: found.workspace_id,
          message_id: found.message_id,
          number: attempt,
          provider: routed.provider,
          outcome: 'started',
          provider_message_id: null,
          error_code: null,
          error_message: null,
          started_at: now,
          finished_at: null,
        })
      }
      return { ...found, attempt, token, interrupted, suppressed, route }
    })
  }
}
