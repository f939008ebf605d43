import type { MessageQueueRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'

import {
  planReschedule,
  REQUEUED_COLUMNS,
  RESCHEDULED_COLUMNS,
  type RescheduleOutcome,
  type RescheduleRequest,
} from '../../../rules/reschedule.ts'
import type { SettleContext, SettledMessage } from '../../../rules/settlement.ts'
import type { Clock } from '../../queueing.ts'
import { type Database, statement } from '../engine/database.ts'
import { dueAt, insertInto, namesOf, updateOf } from '../engine/rows.ts'
import { repeatableIds } from './settle.ts'

/** The verb `reschedule` on PostgreSQL: lock, look up, plan, write. The order of the locks is the order of `settle`. */
export function prepareReschedule(
  database: Database,
  t: Tables,
  {
    clock,
    onQueued,
    newId,
  }: Pick<SettleContext, 'newId'> & {
    clock: Clock
    onQueued: () => void
  },
): (request: RescheduleRequest) => Promise<RescheduleOutcome> {
  const lockQueued = statement<MessageQueueRow>(
    'lock_rescheduled_queue_row',
    `select ${namesOf(t.message_queue).join(', ')} from message_queue
     where workspace_id = $1 and message_id = $2 for update`,
  )
  const lockMessage = statement<SettledMessage>(
    'lock_rescheduled_message',
    `select ${namesOf(t.messages, 'content').join(', ')} from messages
     where workspace_id = $1 and id = $2 for update`,
  )
  const updateMessage = updateOf('reschedule_message', t.messages, {
    key: ['workspace_id', 'id'],
    set: RESCHEDULED_COLUMNS,
  })
  const requeue = updateOf('requeue_rescheduled_message', t.message_queue, {
    key: ['message_id'],
    set: REQUEUED_COLUMNS,
    instead: { due_at: dueAt('r.due_at', '$3'), set_at: dueAt('r.set_at', '$3') },
  })
  const insertMessageEvents = insertInto('insert_message_events', t.message_events)
  return async (request) => {
    const { workspace_id, message_id, at } = request
    const idsOf = repeatableIds(newId)
    const outcome = await database.transact(async (tx) => {
      const [queued, messages] = await Promise.all([
        tx.rows(lockQueued, workspace_id, message_id),
        tx.rows(lockMessage, workspace_id, message_id),
      ])
      const state = { message: messages[0] ?? null, queued: queued[0] ?? null }
      const { outcome, plan } = planReschedule(request, state, { newId: idsOf() })
      if (plan) {
        const { queued: row } = plan
        const due = { ...row, due_at: clock.sent(row.due_at, at), set_at: clock.sent(at, at) }
        tx.write(updateMessage, [plan.message])
        tx.write(requeue, [due], clock.origin)
        tx.write(insertMessageEvents, [plan.report])
      }
      return outcome
    })
    if (outcome === 'rescheduled') onQueued()
    return outcome
  }
}
