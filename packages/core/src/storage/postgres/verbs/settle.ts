import type { Receipt } from '../../../contract/outside/provider.ts'
import { SETTLED_COLUMNS } from '../../../rows/messages.ts'
import type { MessagePartRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'
import type { Entry } from '../../../rules/decide.ts'
import type { SubscribedWebhook } from '../../../rules/deliveries.ts'
import {
  type CancelOutcome,
  type CancelRequest,
  cancellations,
  planCancel,
  planSettle,
} from '../../../rules/settle.ts'

import {
  ATTEMPT_SUMMARY_COLUMNS,
  type AttemptSummary,
  FINISHED_ATTEMPT_COLUMNS,
  type SettleContext,
  type Settlement,
  type SettlePlan,
  type SettleState,
} from '../../../rules/settlement.ts'
import type { Telemetry } from '../../../runtime/telemetry.ts'
import { reportSettled } from '../../after-commit.ts'
import { type Clock, type ClockSteps, type GivenLanes, queueDeliveries } from '../../queueing.ts'
import { CONVERSATION_CONFLICT } from '../../stores/conversations.ts'

import { type Database, type Statement, statement, type Transaction } from '../engine/database.ts'
import { dueAt, insertInto, namesOf, removeFrom, updateOf } from '../engine/rows.ts'
import {
  addSettledCounts,
  creditRows,
  lookUpSubscribers,
  messageRows,
  placeEvents,
  prepareWriteEvents,
  recountCodes,
  speedUpCodes,
} from './shared-rows.ts'

/**
 * The verbs `settle` and `cancel` on PostgreSQL: lock, look up, plan, write; two round trips. Rows are locked kind by
 * kind (queue rows, messages, accounts, webhooks, counts), each kind in the order of its ids, which prevents
 * deadlocks.
 */
export function prepareSettle(
  database: Database,
  t: Tables,
  {
    clock,
    onQueued,
    onLogged,
    telemetry,
    steps,
    lanes,
    ...context
  }: SettleContext & {
    clock: Clock
    onQueued: () => void
    /** Called after a commit that added events to the log. */
    onLogged: () => void
    telemetry: Telemetry | undefined
    steps: ClockSteps
    lanes: GivenLanes
  },
) {
  const lookUp = prepareLookUp(t)
  const write = prepareWrite(t, clock)

  async function transact<Planned extends { plan: SettlePlan }>(
    settlements: readonly Settlement[],
    planned: (state: SettleState, context: SettleContext) => Planned,
  ): Promise<Planned> {
    const idsOf = repeatableIds(context.newId)
    const { done, waiting, has_logged } = await database.transact(async (tx) => {
      const state = await lookUp(tx, settlements)
      const done = planned(state, { ...context, newId: idsOf() })
      const queued = queueDeliveries(done.plan, state.subscribers, lanes.current?.deliveries, steps)
      tx.hold(queued)
      write(tx, { ...done.plan, delivery_queue: queued.queue }, settlements)
      const has_logged = state.keeps_events === true && done.plan.events.length > 0
      // The log comes last: its lock delays every other transaction that adds events.
      if (has_logged) placeEvents(tx, done.plan.events)
      return { done, waiting: queued.waiting, has_logged }
    })
    if (waiting.length > 0) onQueued()
    if (has_logged) onLogged()
    if (telemetry) reportSettled(telemetry, done.plan)
    return done
  }

  return {
    async settle(settlements: readonly Settlement[]): Promise<boolean[]> {
      const { plan } = await transact(settlements, (state, context) => ({
        plan: planSettle(settlements, state, context),
      }))
      return plan.counted
    },
    async cancel(request: CancelRequest): Promise<CancelOutcome[]> {
      const settlements = cancellations(request)
      const { outcomes } = await transact(settlements, (state, context) =>
        planCancel(settlements, state, context),
      )
      return outcomes
    },
  }
}

/** Ids for a transaction that may be repeated: each try gets those of the try before it, which wrote nothing. */
export function repeatableIds(newId: () => string): () => () => string {
  const drawn: string[] = []
  return () => {
    let next = 0
    return () => {
      if (next === drawn.length) drawn.push(newId())
      return drawn[next++] as string
    }
  }
}

interface LookedUp extends SettleState {
  subscribers: Map<string, SubscribedWebhook[]>
}

function prepareLookUp(t: Tables) {
  const credits = creditRows(t)
  const { lockQueued, lockMessages } = messageRows(t)
  // The holds of a call are read under its account's lock.
  const findEntries = statement<Entry>(
    'find_entries_of_calls',
    `select ${namesOf(t.ledger_entries)
      .map((name) => `e.${name}`)
      .join(', ')}
     from (select distinct * from unnest($1::text[], $2::text[]) r(workspace_id, id)) r
     join messages m on m.workspace_id = r.workspace_id and m.id = r.id and m.channel = 'voice'
     join ledger_entries e on e.workspace_id = r.workspace_id and e.ref_id = r.id
     order by e.workspace_id, e.seq`,
  )
  // Changes of parts lock their message.
  const findParts = statement<MessagePartRow>(
    'find_message_parts',
    `select ${namesOf(t.message_parts)
      .map((name) => `p.${name}`)
      .join(', ')}
     from (select distinct * from unnest($1::text[], $2::text[]) r(workspace_id, id)) r
     join message_parts p on p.workspace_id = r.workspace_id and p.message_id = r.id
     order by p.message_id, p.attempt, p.number`,
  )
  // Attempts change under the lock of their queue row or of their message.
  const findAttempts = statement<AttemptSummary>(
    'find_attempts_of_refused',
    `select ${ATTEMPT_SUMMARY_COLUMNS.map((name) => `a.${name}`).join(', ')}
     from (select distinct * from unnest($1::text[], $2::text[]) r(workspace_id, id)) r
     join message_attempts a on a.workspace_id = r.workspace_id and a.message_id = r.id
     order by a.message_id, a.number`,
  )
  return async (tx: Transaction, settlements: readonly Settlement[]): Promise<LookedUp> => {
    const workspaces = settlements.map(({ workspace_id }) => workspace_id)
    const ids = settlements.map(({ message_id }) => message_id)
    const moving = settlements.filter(mayMoveCredits)
    const called = settlements.filter(({ result }) => result.task === 'callback')
    const refused = settlements.filter(({ result }) => result.task === 'refused')
    // Most batches have none of these.
    const ofAny = <Row extends object>(query: Statement<Row>, some: readonly Settlement[]) =>
      some.length === 0
        ? []
        : tx.rows(
            query,
            some.map(({ workspace_id }) => workspace_id),
            some.map(({ message_id }) => message_id),
          )
    const [queued, messages, accounts, entries, parts, attempts, subscribers] = await Promise.all([
      tx.rows(lockQueued, workspaces, ids),
      tx.rows(lockMessages, workspaces, ids),
      credits.lock(tx, new Set(moving.map(({ workspace_id }) => workspace_id))),
      ofAny(findEntries, moving),
      ofAny(findParts, called),
      ofAny(findAttempts, refused),
      lookUpSubscribers(tx, workspaces),
    ])
    const state: LookedUp = {
      ...subscribers,
      messages: new Map(messages.map((message) => [message.id, message])),
      queue: new Map(queued.map((row) => [row.message_id, row])),
      accounts,
      attempts: new Map(),
      parts: new Map(),
      entries_about: new Map(),
    }
    for (const entry of entries) {
      const known = state.entries_about.get(entry.ref_id) ?? []
      state.entries_about.set(entry.ref_id, [...known, entry])
    }
    for (const attempt of attempts) {
      const known = state.attempts.get(attempt.message_id) ?? []
      state.attempts.set(attempt.message_id, [...known, attempt])
    }
    for (const part of parts) {
      state.parts.set(part.message_id, [...(state.parts.get(part.message_id) ?? []), part])
    }
    return state
  }
}

/**
 * Whether the account is needed. It is not needed if a provider has the message, which is the usual case, no call ended,
 * and the message has one recipient. Settling then never waits for sends of the same workspace.
 */
function mayMoveCredits({ result }: Settlement): boolean {
  switch (result.task) {
    case 'send':
      return result.outcome.type !== 'accepted' || result.outcome.recipients !== undefined
    case 'lookup':
      return result.found.type !== 'found' || result.found.receipts.some(mayRefund)
    case 'callback':
      return result.receipts.some(mayRefund)
    default:
      return true
  }
}

/** Whether the receipt ends a call, or may end the wait for the last of several recipients. */
function mayRefund({ duration_s, recipients }: Receipt): boolean {
  return duration_s !== undefined || recipients !== undefined
}

const KEEP = 'on conflict do nothing'

function prepareWrite(t: Tables, clock: Clock) {
  const credits = creditRows(t)
  const updateMessages = updateOf('settle_messages', t.messages, {
    key: ['workspace_id', 'id'],
    set: SETTLED_COLUMNS,
  })
  const updateAttempts = updateOf('finish_attempts', t.message_attempts, {
    key: ['workspace_id', 'message_id', 'number'],
    set: FINISHED_ATTEMPT_COLUMNS,
  })
  const requeue = updateOf('requeue_messages', t.message_queue, {
    key: ['message_id'],
    set: ['task', 'token', 'unknown_since', 'due_at', 'set_at'],
    instead: { due_at: dueAt('r.due_at', '$3'), set_at: dueAt('r.set_at', '$3') },
  })
  const dequeue = removeFrom('dequeue_messages', t.message_queue, ['message_id'])
  const endHolds = removeFrom('end_holds', t.credit_holds, ['workspace_id', 'id'])
  const insertMessageEvents = insertInto('insert_message_events', t.message_events)
  const insertParts = insertInto('insert_message_parts', t.message_parts, {}, KEEP)
  const updateParts = updateOf('update_message_parts', t.message_parts, {
    key: ['workspace_id', 'message_id', 'attempt', 'number'],
    set: ['status'],
  })
  const storeConversations = insertInto(
    'store_conversations',
    t.conversations,
    {},
    CONVERSATION_CONFLICT,
  )
  const insertSuppressions = insertInto('settle_suppressions', t.suppressions, {}, KEEP)
  const writeEvents = prepareWriteEvents(t, clock)
  return (tx: Transaction, plan: SettlePlan, settlements: readonly Settlement[]): void => {
    const plannedAt = new Map(settlements.map(({ message_id, at }) => [message_id, at]))
    tx.write(updateMessages, plan.messages)
    tx.write(updateAttempts, plan.attempts)
    tx.write(insertMessageEvents, plan.message_events)
    tx.write(insertParts, plan.parts)
    tx.write(updateParts, plan.part_changes)
    tx.write(storeConversations, plan.conversations)
    tx.write(insertSuppressions, plan.suppressions)
    tx.write(
      requeue,
      plan.requeue.map((row) => {
        const at = plannedAt.get(row.message_id) ?? row.due_at
        return { ...row, due_at: clock.sent(row.due_at, at), set_at: clock.sent(at, at) }
      }),
      clock.origin,
    )
    tx.write(
      dequeue,
      plan.dequeue.map((message_id) => ({ message_id })),
    )
    credits.store(tx, plan.accounts, plan.entries)
    tx.write(endHolds, plan.ended_holds)
    writeEvents(tx, plan)
    speedUpCodes(tx, plan.failed_codes)
    recountCodes(tx, plan.code_counts)
    // The counts come last, right before the commit: other servers settle messages of the same workspaces.
    tx.write(addSettledCounts, plan.counts)
  }
}
