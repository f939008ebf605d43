import type { Tables } from '../../../rows/tables.ts'
import { suppressedAddress, suppressionKey } from '../../../rules/accept.ts'
import { hasWaited } from '../../../rules/waited.ts'
import type { Log } from '../../../runtime/runtime.ts'
import { type ClockSteps, REDATED } from '../../clock-steps.ts'
import type {
  ClaimedMessage,
  MessageAttemptRow,
  MessageClaim,
  MessageQueueRow,
  MessageRow,
} from '../../ports/storage.ts'
import { type Clock, present } from '../engine/clock.ts'
import { type Database, statement, type Transaction } from '../engine/database.ts'
import { insertInto, updateOf } from '../engine/rows.ts'
import { findSuppressed } from './find-suppressed.ts'
import type { prepareRedate } from './redate.ts'

const CARRIED = [
  'api_key_id',
  'credits_used',
  'workspace_id',
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

type Due = Pick<
  MessageQueueRow,
  'message_id' | 'workspace_id' | 'task' | 'token' | 'attempt' | 'unknown_since'
>

/** After bringing back failed, claims go on without it for so long. */
const REDATE_AGAIN_MS = 30_000

/** One row at the least, which tells the time where nothing is due. */
const takeDue = statement<{ at: Date } & (Due | { message_id: null })>(
  'take_due_messages',
  `with due as (
     select message_id, workspace_id, task, token, attempt, unknown_since from message_queue
     where due_at <= ${present('$1')} and (token is null or $3::boolean)
     order by due_at limit $2 for update skip locked
   )
   select ${present('$1')} as at, due.* from (select 1) clock left join due on true`,
)

type Carried = Pick<MessageRow, 'id' | (typeof CARRIED)[number]>

const readMessages = statement<Carried>(
  'read_claimed_messages',
  `select m.id, ${CARRIED.map((column) => `m.${column}`).join(', ')}
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

/**
 * The verb `claimMessages` on PostgreSQL: take what is due and nobody has just now, move its due time to the lease's
 * end, journal the attempts. The messages are read after their queue rows were locked, so that a claim sees what the
 * settlement before it wrote.
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
  let redate_from_ms = Number.NEGATIVE_INFINITY
  const lease = updateOf('lease_messages', t.message_queue, {
    key: ['message_id'],
    set: ['token', 'attempt'],
    instead: {
      due_at: `${present('$2')} + $3::int * interval '1 millisecond'`,
      set_at: present('$2'),
    },
  })
  const journal = insertInto('journal_attempts', t.message_attempts)

  /** What is due. A lease that is over only because the clock was set forwards is left where it is. */
  async function dueOf(tx: Transaction, claim: MessageClaim): Promise<Due[]> {
    const { lease_ms } = claim
    // The claim may have waited for a connection, or be tried again: only the moments around the question count.
    const before_ms = clock.elapsed(claim)
    const takes_over = steps.takesOver({ elapsed_ms: before_ms, lease_ms })
    const found = await tx.rows(takeDue, clock.now(claim.now), claim.limit, takes_over)
    const after_ms = clock.elapsed(claim)
    if (found[0]) steps.saw(found[0].at, before_ms, after_ms)
    const due = found.flatMap((row) => (row.message_id === null ? [] : row))
    const stillTakesOver = steps.takesOver({ elapsed_ms: after_ms, lease_ms })
    return stillTakesOver ? due : due.filter(({ token }) => token === null)
  }

  /** Brings back what a clock ahead of now has dated. Whoever claimed has his messages, also where that fails. */
  async function bringBack(claim: MessageClaim): Promise<void> {
    if (!steps.isDoubtful() || clock.elapsed(claim) < redate_from_ms) return
    try {
      const count = await redate(claim.now)
      steps.redated(count)
      if (count > 0) log.warn({ rows: count }, REDATED)
    } catch (error) {
      redate_from_ms = clock.elapsed(claim) + REDATE_AGAIN_MS
      log.warn({ err: error }, 'what was queued while the clock was ahead was not brought back')
    }
  }

  function take(claim: MessageClaim): Promise<ClaimedMessage[]> {
    return database.transact(async (tx) => {
      const now = clock.now(claim.now)
      const due = await dueOf(tx, claim)
      if (due.length === 0) return []
      const ids = [due.map(({ workspace_id }) => workspace_id), due.map((row) => row.message_id)]
      const found = new Map((await tx.rows(readMessages, ...ids)).map((row) => [row.id, row]))
      const taken = due.flatMap((row) => takenOf(row, found.get(row.message_id), claim.token))
      const sendable = taken.filter(isSendable)
      const waited = sendable.filter((message) => hasWaited(message, claim.now))
      const suppressed = await findSuppressed(tx, waited)
      for (const message of waited) message.suppressed = suppressed.has(keyOf(message))
      const started = sendable.filter((message) => !message.suppressed).flatMap(routedBy(claim))
      await recall(tx, taken)
      const leases = taken.map((message) =>
        isHeld(message) ? { ...message, token: null } : message,
      )
      tx.write(lease, leases, now, claim.lease_ms)
      tx.write(
        journal,
        started.map(({ message, provider }) => ({
          workspace_id: message.workspace_id,
          message_id: message.message_id,
          number: message.attempt,
          provider,
          outcome: 'started' as const,
          provider_message_id: null,
          error_code: null,
          error_message: null,
          started_at: claim.now,
          finished_at: null,
        })),
      )
      return taken
    })
  }

  return async (claim: MessageClaim): Promise<ClaimedMessage[]> => {
    const taken = await take(claim)
    await bringBack(claim)
    return taken
  }
}

/** A claimed message as its queue row and its record have it; none where the record is gone. */
function takenOf(
  { message_id, task, token: previous, attempt, unknown_since }: Due,
  message: Carried | undefined,
  token: string,
): ClaimedMessage[] {
  if (!message) return []
  const { id: _, ...carried } = message
  const interrupted = previous !== null
  const claimed = { ...carried, message_id, task, attempt, unknown_since, token, interrupted }
  return [{ ...claimed, suppressed: false, route: null }]
}

/** Chooses who carries a message; none where nobody can just now. */
function routedBy({ route }: MessageClaim) {
  return (message: ClaimedMessage): { message: ClaimedMessage; provider: string }[] => {
    message.route = route(message)
    const { provider } = message.route
    if (provider === null) return []
    message.attempt += 1
    return [{ message, provider }]
  }
}

/** Puts down who was being asked when the claim before this one ended without a word. */
async function recall(tx: Transaction, taken: readonly ClaimedMessage[]): Promise<void> {
  const interrupted = taken.filter((message) => message.interrupted && message.task === 'send')
  if (interrupted.length === 0) return
  const asked = await tx.rows(
    findAttempts,
    interrupted.map(({ workspace_id }) => workspace_id),
    interrupted.map(({ message_id }) => message_id),
    interrupted.map(({ attempt }) => attempt),
  )
  const providers = new Map(asked.map(({ message_id, provider }) => [message_id, provider]))
  for (const message of interrupted) {
    const provider = providers.get(message.message_id)
    if (provider !== undefined) message.route = { provider, sender: null }
  }
}

function isHeld({ suppressed, route }: ClaimedMessage): boolean {
  return suppressed || route?.provider === null
}

function isSendable({ task, status, interrupted }: ClaimedMessage): boolean {
  return task === 'send' && status === 'queued' && !interrupted
}

function keyOf(message: ClaimedMessage): string {
  return suppressionKey({ ...message, address: suppressedAddress(message) })
}
