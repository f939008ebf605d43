import { suppressedAddress, suppressionKey } from '../../messages/accept.ts'
import { hasWaited } from '../../messages/waited.ts'
import type { ClaimedMessage, MessageClaim, MessageQueueRow, MessageRow } from '../storage.ts'
import type { Tables } from '../tables.ts'
import { type Clock, present } from './clock.ts'
import { type Database, statement } from './database.ts'
import { findSuppressed } from './find-suppressed.ts'
import { insertInto, updateOf } from './rows.ts'

const CARRIED = [
  'workspace_id',
  'channel',
  'sender',
  'recipient',
  'content',
  'livemode',
  'status',
  'provider',
  'provider_message_id',
  'created_at',
  'scheduled_at',
  'expires_at',
  'sent_at',
] as const

type Due = Pick<MessageQueueRow, 'message_id' | 'workspace_id' | 'task' | 'token' | 'attempt'>

const takeDue = statement<Due>(
  'take_due_messages',
  `select message_id, workspace_id, task, token, attempt from message_queue
   where due_at <= ${present('$1')} order by due_at limit $2 for update skip locked`,
)

type Carried = Pick<MessageRow, 'id' | (typeof CARRIED)[number]>

const readMessages = statement<Carried>(
  'read_claimed_messages',
  `select m.id, ${CARRIED.map((column) => `m.${column}`).join(', ')}
   from unnest($1::text[], $2::text[]) r(workspace_id, id)
   join messages m on m.workspace_id = r.workspace_id and m.id = r.id`,
)

/**
 * The verb `claimMessages` on PostgreSQL: take what is due and nobody has just now, move its due time to the lease's
 * end, journal the attempts. The messages are read after their queue rows were locked, so that a claim sees what the
 * settlement before it wrote.
 */
export function prepareClaimMessages(database: Database, t: Tables, { clock }: { clock: Clock }) {
  const lease = updateOf('lease_messages', t.message_queue, {
    key: ['message_id'],
    set: ['token', 'attempt'],
    instead: { due_at: `${present('$2')} + $3::int * interval '1 millisecond'` },
  })
  const journal = insertInto('journal_attempts', t.message_attempts)

  return (claim: MessageClaim): Promise<ClaimedMessage[]> =>
    database.transact(async (tx) => {
      const now = clock.now(claim.now)
      const due = await tx.rows(takeDue, now, claim.limit)
      if (due.length === 0) return []
      const ids = [due.map(({ workspace_id }) => workspace_id), due.map((row) => row.message_id)]
      const found = new Map((await tx.rows(readMessages, ...ids)).map((row) => [row.id, row]))
      const taken = due.flatMap((row) => takenOf(row, found.get(row.message_id), claim.token))
      const sendable = taken.filter(isSendable)
      const waited = sendable.filter((message) => hasWaited(message, claim.now))
      const suppressed = await findSuppressed(tx, waited)
      for (const message of waited) message.suppressed = suppressed.has(keyOf(message))
      const started = sendable.filter((message) => !message.suppressed)
      for (const message of started) message.attempt += 1
      const leases = taken.map((message) =>
        message.suppressed ? { ...message, token: null } : message,
      )
      tx.write(lease, leases, now, claim.lease_ms)
      tx.write(
        journal,
        started.map((message) => ({
          workspace_id: message.workspace_id,
          message_id: message.message_id,
          number: message.attempt,
          provider: claim.providerOf(message),
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

/** A claimed message as its queue row and its record have it; none where the record is gone. */
function takenOf(
  { message_id, task, token: previous, attempt }: Due,
  message: Carried | undefined,
  token: string,
): ClaimedMessage[] {
  if (!message) return []
  const { id: _, ...carried } = message
  const interrupted = previous !== null
  return [{ ...carried, message_id, task, attempt, token, interrupted, suppressed: false }]
}

function isSendable({ task, status, interrupted }: ClaimedMessage): boolean {
  return task === 'send' && status === 'queued' && !interrupted
}

function keyOf(message: ClaimedMessage): string {
  return suppressionKey({ ...message, address: suppressedAddress(message) })
}
