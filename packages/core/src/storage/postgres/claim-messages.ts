import type { ClaimedMessage, MessageClaim, MessageQueueRow, MessageRow } from '../storage.ts'
import type { Tables } from '../tables.ts'
import { type Clock, present } from './clock.ts'
import { type Database, statement } from './database.ts'
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
  'expires_at',
  'sent_at',
] as const

type Due = Pick<MessageQueueRow, 'message_id' | 'workspace_id' | 'task' | 'token' | 'attempt'>

const takeDue = statement<Due>(
  'take_due_messages',
  `select message_id, workspace_id, task, token, attempt from message_queue
   where due_at <= ${present('$1')} order by due_at limit $2 for update skip locked`,
)

const readMessages = statement<Pick<MessageRow, 'id' | (typeof CARRIED)[number]>>(
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
      const claimed: ClaimedMessage[] = []
      const started: ClaimedMessage[] = []
      for (const { message_id, task, token: previous, attempt } of due) {
        const message = found.get(message_id)
        if (!message) continue
        const { id: _, ...carried } = message
        const interrupted = previous !== null
        const starts = task === 'send' && message.status === 'queued' && !interrupted
        const { token } = claim
        const next = { ...carried, message_id, task, token, interrupted }
        claimed.push({ ...next, attempt: starts ? attempt + 1 : attempt })
        if (starts) started.push({ ...next, attempt: attempt + 1 })
      }
      tx.write(lease, claimed, now, claim.lease_ms)
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
      return claimed
    })
}
