import {
  type AcceptRequest,
  type AcceptResult,
  type AcceptState,
  answerKey,
  planAccept,
} from '../../messages/accept.ts'
import type { MessageQueueRow, MessageRow } from '../storage.ts'
import type { Tables } from '../tables.ts'
import type { Connection } from './connection.ts'
import { creditRows } from './credit-rows.ts'
import { insertInto, selectFrom } from './rows.ts'

/** The verb `accept` on SQLite: look up, plan, write, inside the writer's transaction. */
export function prepareAccept(connection: Connection, t: Tables) {
  const credits = creditRows(connection, t)
  const findAnswer = selectFrom(
    connection,
    t.idempotency_keys,
    ['request_hash', 'response'],
    'workspace_id = ? and route = ? and key = ?',
  )
  const insertAnswer = insertInto(connection, t.idempotency_keys)
  const insertMessage = insertInto(connection, t.messages)
  const insertQueued = insertInto(connection, t.message_queue)

  function lookUp(requests: readonly AcceptRequest[]): AcceptState {
    const state: AcceptState = { accounts: new Map(), answers: new Map() }
    for (const { workspace_id, debit, idempotency } of requests) {
      if (debit) credits.load(state.accounts, workspace_id)
      if (!idempotency) continue
      const found = findAnswer(workspace_id, idempotency.route, idempotency.key)[0]
      if (found) state.answers.set(answerKey(workspace_id, idempotency), found)
    }
    return state
  }

  return (requests: readonly AcceptRequest[]): AcceptResult[] => {
    const plan = planAccept(requests, lookUp(requests))
    credits.store(plan.accounts, plan.entries)
    for (const message of plan.messages) {
      insertMessage(message)
      insertQueued(queuedRow(message))
    }
    for (const answer of plan.answers) insertAnswer(answer)
    return plan.results
  }
}

/** A new message's row in the queue: due when it was made, or when it is scheduled. */
export function queuedRow(message: MessageRow): MessageQueueRow {
  return {
    message_id: message.id,
    workspace_id: message.workspace_id,
    channel: message.channel,
    task: 'send',
    due_at: message.scheduled_at ?? message.created_at,
    token: null,
    attempt: 0,
    unknown_since: null,
  }
}
