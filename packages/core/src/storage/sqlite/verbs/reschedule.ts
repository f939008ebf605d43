import type { Tables } from '../../../rows/tables.ts'
import {
  planReschedule,
  REQUEUED_COLUMNS,
  RESCHEDULED_COLUMNS,
  type RescheduleOutcome,
  type RescheduleRequest,
} from '../../../rules/reschedule.ts'
import type { SettleContext } from '../../../rules/settlement.ts'
import type { Connection } from '../engine/connection.ts'
import { insertInto, namesOf, selectFrom, updateOf } from '../engine/rows.ts'

/** The verb `reschedule` on SQLite: look up, plan, write, inside the writer's transaction. */
export function prepareReschedule(
  connection: Connection,
  t: Tables,
  context: Pick<SettleContext, 'newId'>,
) {
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
    'workspace_id = ? and message_id = ?',
  )
  const updateMessage = updateOf(connection, t.messages, {
    key: ['workspace_id', 'id'],
    set: RESCHEDULED_COLUMNS,
  })
  const requeue = updateOf(connection, t.message_queue, {
    key: ['message_id'],
    set: REQUEUED_COLUMNS,
  })
  const insertMessageEvent = insertInto(connection, t.message_events)
  return (request: RescheduleRequest): RescheduleOutcome => {
    const { workspace_id, message_id } = request
    const state = {
      message: findMessage(workspace_id, message_id)[0] ?? null,
      queued: findQueued(workspace_id, message_id)[0] ?? null,
    }
    const { outcome, plan } = planReschedule(request, state, context)
    if (plan) {
      updateMessage(plan.message)
      requeue(plan.queued)
      insertMessageEvent(plan.report)
    }
    return outcome
  }
}
