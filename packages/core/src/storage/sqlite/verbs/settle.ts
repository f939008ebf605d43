import { SETTLED_COLUMNS } from '../../../rows/messages.ts'
import type { Tables } from '../../../rows/tables.ts'
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
  FINISHED_ATTEMPT_COLUMNS,
  type SettleContext,
  type Settlement,
  type SettlePlan,
  type SettleState,
} from '../../../rules/settlement.ts'
import { type ClockSteps, type GivenLanes, queueDeliveries } from '../../queueing.ts'
import { CONVERSATION_CONFLICT } from '../../stores/conversations.ts'
import type { Connection } from '../engine/connection.ts'
import { insertInto, namesOf, selectFrom, updateOf } from '../engine/rows.ts'
import {
  addCounts,
  creditRows,
  eventRows,
  prepareEventLog,
  recountCodes,
  speedUpCodes,
} from './shared-rows.ts'

/** The verbs `settle` and `cancel` on SQLite: look up, plan, write, inside the writer's transaction. */
export function prepareSettle(
  connection: Connection,
  t: Tables,
  {
    onSettled,
    steps,
    lanes,
    afterCommit,
    onLogged,
    ...context
  }: SettleContext & {
    /** Called in the transaction. */
    onSettled: ((plan: SettlePlan) => void) | undefined
    steps: ClockSteps
    lanes: GivenLanes
    afterCommit: (work: () => void, undo?: () => void) => void
    /** Called after a commit that added events to the log. */
    onLogged: () => void
  },
) {
  const lookUp = prepareLookUp(connection, t)
  const write = prepareWrite(connection, t)
  const placeEvents = prepareEventLog(connection, t)

  function store(plan: SettlePlan, { subscribers, keeps_events }: LookedUp): void {
    const { queue, handOver, release } = queueDeliveries(
      plan,
      subscribers,
      lanes.current?.deliveries,
      steps,
    )
    afterCommit(handOver, release)
    write({ ...plan, delivery_queue: queue })
    if (keeps_events && plan.events.length > 0) {
      placeEvents(plan.events)
      afterCommit(onLogged)
    }
    onSettled?.(plan)
  }

  return {
    settle(settlements: readonly Settlement[]): boolean[] {
      const state = lookUp(settlements)
      const plan = planSettle(settlements, state, context)
      store(plan, state)
      return plan.counted
    },
    cancel(request: CancelRequest): CancelOutcome[] {
      const settlements = cancellations(request)
      const state = lookUp(settlements)
      const { plan, outcomes } = planCancel(settlements, state, context)
      store(plan, state)
      return outcomes
    },
  }
}

interface LookedUp extends SettleState {
  subscribers: Map<string, SubscribedWebhook[]>
}

function prepareLookUp(connection: Connection, t: Tables) {
  const credits = creditRows(connection, t)
  const findMessage = selectFrom(
    connection,
    t.messages,
    namesOf(t.messages, 'content'),
    'workspace_id = ? and id = ?',
  )
  const findQueued = selectFrom(
    connection,
    t.message_queue,
    namesOf(t.message_queue),
    'message_id = ?',
  )
  const findAttempts = selectFrom(
    connection,
    t.message_attempts,
    ATTEMPT_SUMMARY_COLUMNS,
    'workspace_id = ? and message_id = ? order by number',
  )
  const findParts = selectFrom(
    connection,
    t.message_parts,
    namesOf(t.message_parts),
    'workspace_id = ? and message_id = ? order by attempt, number',
  )
  const findEntries = selectFrom(
    connection,
    t.ledger_entries,
    namesOf(t.ledger_entries),
    'workspace_id = ? and ref_id = ? order by seq',
    'ledger_entries_reference',
  )
  const { findSubscribers, isEventLogKept } = eventRows(connection, t)
  return (settlements: readonly Settlement[]): LookedUp => {
    const state: LookedUp = {
      keeps_events: isEventLogKept(),
      messages: new Map(),
      queue: new Map(),
      subscribers: new Map(),
      accounts: new Map(),
      attempts: new Map(),
      parts: new Map(),
      entries_about: new Map(),
    }
    for (const { workspace_id, message_id, result } of settlements) {
      if (result.task === 'callback' && !state.parts.has(message_id)) {
        state.parts.set(message_id, findParts(workspace_id, message_id))
      }
      if (result.task === 'refused' && !state.attempts.has(message_id)) {
        state.attempts.set(message_id, findAttempts(workspace_id, message_id))
      }
      if (state.messages.has(message_id)) continue
      const message = findMessage(workspace_id, message_id)[0]
      if (!message) continue
      state.messages.set(message_id, message)
      if (message.channel === 'voice') {
        state.entries_about.set(message_id, findEntries(workspace_id, message_id))
      }
      const queued = findQueued(message_id)[0]
      if (queued) state.queue.set(message_id, queued)
      credits.load(state.accounts, workspace_id)
      if (!state.subscribers.has(workspace_id)) {
        state.subscribers.set(workspace_id, findSubscribers(workspace_id))
      }
    }
    return state
  }
}

function prepareWrite(connection: Connection, t: Tables) {
  const credits = creditRows(connection, t)
  const updateMessage = updateOf(connection, t.messages, {
    key: ['workspace_id', 'id'],
    set: SETTLED_COLUMNS,
  })
  const updateAttempt = updateOf(connection, t.message_attempts, {
    key: ['workspace_id', 'message_id', 'number'],
    set: FINISHED_ATTEMPT_COLUMNS,
  })
  const requeue = updateOf(connection, t.message_queue, {
    key: ['message_id'],
    set: ['task', 'due_at', 'set_at', 'token', 'unknown_since'],
  })
  const dequeue = connection.prepare('delete from message_queue where message_id = ?')
  const endHold = connection.prepare('delete from credit_holds where workspace_id = ? and id = ?')
  const insertMessageEvent = insertInto(connection, t.message_events)
  const insertPart = insertInto(connection, t.message_parts, { keeping: true })
  const updatePart = updateOf(connection, t.message_parts, {
    key: ['workspace_id', 'message_id', 'attempt', 'number'],
    set: ['status'],
  })
  const storeConversation = insertInto(connection, t.conversations, {
    conflict: CONVERSATION_CONFLICT,
  })
  const insertSuppression = insertInto(connection, t.suppressions, { keeping: true })
  const { insertEvents, insertDeliveries, insertQueued } = eventRows(connection, t)
  const count = addCounts(connection)
  const recount = recountCodes(connection)
  const speedUp = speedUpCodes(connection)
  return (plan: SettlePlan): void => {
    count(plan.counts)
    for (const change of plan.code_counts) recount(change)
    for (const failed of plan.failed_codes) speedUp(failed)
    credits.store(plan.accounts, plan.entries)
    for (const message of plan.messages) updateMessage(message)
    for (const attempt of plan.attempts) updateAttempt(attempt)
    for (const row of plan.message_events) insertMessageEvent(row)
    for (const row of plan.parts) insertPart(row)
    for (const row of plan.part_changes) updatePart(row)
    for (const row of plan.conversations) storeConversation(row)
    for (const row of plan.suppressions) insertSuppression(row)
    for (const row of plan.requeue) requeue(row)
    for (const id of plan.dequeue) dequeue.run(id)
    for (const { workspace_id, id } of plan.ended_holds) endHold.run(workspace_id, id)
    insertEvents(plan.events)
    insertDeliveries(plan.deliveries)
    insertQueued(plan.delivery_queue)
  }
}
