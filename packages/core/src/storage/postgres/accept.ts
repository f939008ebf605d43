import {
  type AcceptRequest,
  type AcceptResult,
  type AcceptState,
  answerKey,
  planAccept,
} from '../../messages/accept.ts'
import type { MessageRow } from '../storage.ts'
import type { Tables } from '../tables.ts'
import { type Clock, dueAt } from './clock.ts'
import { creditRows } from './credit-rows.ts'
import { type Database, statement, type Transaction } from './database.ts'
import { insertInto } from './rows.ts'

const findAnswers = statement<{
  workspace_id: string
  route: string
  key: string
  request_hash: string
  response: string
}>(
  'find_answers',
  `select i.workspace_id, i.route, i.key, i.request_hash, i.response
   from unnest($1::text[], $2::text[], $3::text[]) r(workspace_id, route, key)
   join idempotency_keys i using (workspace_id, route, key)`,
)

/**
 * The verb `accept` on PostgreSQL: lock, look up, plan, write; two round trips. The account's lock also decides who
 * was first with an idempotency key: whoever waited for it sees the other's answer.
 */
export function prepareAccept(
  database: Database,
  t: Tables,
  { clock, onQueued }: { clock: Clock; onQueued: () => void },
) {
  const credits = creditRows(t)
  const insertMessages = insertInto('insert_messages', t.messages)
  const insertQueued = insertInto('queue_messages', t.message_queue, {
    due_at: dueAt('r.due_at', '$2'),
  })
  const insertAnswers = insertInto('insert_answers', t.idempotency_keys)

  async function lookUp(tx: Transaction, requests: readonly AcceptRequest[]): Promise<AcceptState> {
    const locked = new Set<string>()
    const keyed: [string, string, string][] = []
    for (const { workspace_id, debit, idempotency } of requests) {
      if (debit || idempotency) locked.add(workspace_id)
      if (idempotency) keyed.push([workspace_id, idempotency.route, idempotency.key])
    }
    const [accounts, found] = await Promise.all([
      credits.lock(tx, locked),
      keyed.length > 0
        ? tx.rows(findAnswers, ...[0, 1, 2].map((i) => keyed.map((of) => of[i])))
        : [],
    ])
    const answers = new Map(found.map((row) => [answerKey(row.workspace_id, row), row]))
    return { accounts, answers }
  }

  function queuedRow(message: MessageRow) {
    const { id, workspace_id, channel, created_at, scheduled_at } = message
    return {
      message_id: id,
      workspace_id,
      channel,
      task: 'send' as const,
      due_at: clock.sent(scheduled_at ?? created_at, created_at),
      token: null,
      attempt: 0,
      unknown_since: null,
    }
  }

  return async (requests: readonly AcceptRequest[]): Promise<AcceptResult[]> => {
    const plan = await database.transact(async (tx) => {
      const plan = planAccept(requests, await lookUp(tx, requests))
      credits.store(tx, plan.accounts, plan.entries)
      tx.write(insertMessages, plan.messages)
      tx.write(insertQueued, plan.messages.map(queuedRow), clock.origin)
      tx.write(insertAnswers, plan.answers)
      return plan
    })
    if (plan.messages.some(({ scheduled_at }) => !scheduled_at)) onQueued()
    return plan.results
  }
}
