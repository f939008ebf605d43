import type { Tables } from '../../../rows/tables.ts'

import {
  planReschedule,
  REQUEUED_COLUMNS,
  RESCHEDULED_COLUMNS,
  type RescheduleOutcome,
  type RescheduleRequest,
} from '../../../rules/reschedule.ts'
import type { SettleContext } from '../../../rules/settlement.ts'
import type { Clock } from '../../queueing.ts'
import type { Database } from '../engine/database.ts'
import { dueAt, insertInto, updateOf } from '../engine/rows.ts'
import { repeatableIds } from './settle.ts'
import { messageRows } from './shared-rows.ts'

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
): (requests: readonly RescheduleRequest[]) => Promise<RescheduleOutcome[]> {
  const { lockQueued, lockMessages } = messageRows(t)
  const updateMessages = updateOf('reschedule_messages', t.messages, {
    key: ['workspace_id', 'id'],
    set: RESCHEDULED_COLUMNS,
  })
  const requeue = updateOf('requeue_rescheduled_messages', t.message_queue, {
    key: ['message_id'],
    set: REQUEUED_COLUMNS,
    instead: { due_at: dueAt('r.due_at', '$3'), set_at: dueAt('r.set_at', '$3') },
  })
  const insertMessageEvents = insertInto('insert_message_events', t.message_events)
  return async (requests) => {
    const idsOf = repeatableIds(newId)
    const ids = [
      requests.map(({ workspace_id }) => workspace_id),
      requests.map(({ message_id }) => message_id),
    ] as const
    const outcomes = await database.transact(async (tx) => {
      const [queued, messages] = await Promise.all([
        tx.rows(lockQueued, ...ids),
        tx.rows(lockMessages, ...ids),
      ])
      const queuedById = new Map(queued.map((row) => [row.message_id, row]))
      const messageById = new Map(messages.map((row) => [row.id, row]))
      const context = { newId: idsOf() }
      const planned = requests.map((request) =>
        planReschedule(
          request,
          {
            message: messageById.get(request.message_id) ?? null,
            queued: queuedById.get(request.message_id) ?? null,
          },
          context,
        ),
      )
      const plans = planned.flatMap(({ plan }) => plan ?? [])
      const due = plans.map(({ queued, report: { at } }) => ({
        ...queued,
        due_at: clock.sent(queued.due_at, at),
        set_at: clock.sent(at, at),
      }))
      tx.write(
        updateMessages,
        plans.map(({ message }) => message),
      )
      tx.write(requeue, due, clock.origin)
      tx.write(
        insertMessageEvents,
        plans.map(({ report }) => report),
      )
      return planned.map(({ outcome }) => outcome)
    })
    if (outcomes.includes('rescheduled')) onQueued()
    return outcomes
  }
}
