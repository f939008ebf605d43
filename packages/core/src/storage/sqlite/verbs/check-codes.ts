import type { VerificationRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'
import {
  type CheckResult,
  type CheckState,
  type CodeCheck,
  planChecks,
} from '../../../rules/check-codes.ts'
import { type ClockSteps, type GivenLanes, queueDeliveries } from '../../queueing.ts'
import { CHECKED_COLUMNS } from '../../stores/verifications.ts'
import type { Connection } from '../engine/connection.ts'
import { namesOf, selectFrom, updateOf } from '../engine/rows.ts'
import { codeRows, eventRows, prepareEventLog } from './shared-rows.ts'

/** The verb `checkCodes` on SQLite: look up, plan, write, inside the writer's transaction. */
export function prepareCheckCodes(
  connection: Connection,
  t: Tables,
  {
    steps,
    lanes,
    afterCommit,
    onLogged,
    newId,
  }: {
    steps: ClockSteps
    lanes: GivenLanes
    afterCommit: (work: () => void, undo?: () => void) => void
    /** Called after a commit that added events to the log. */
    onLogged: () => void
    newId: () => string
  },
) {
  const columns = namesOf(t.verifications)
  const byId = selectFrom(connection, t.verifications, columns, 'workspace_id = ? and id = ?')
  const newest = selectFrom(
    connection,
    t.verifications,
    columns,
    `workspace_id = ? and recipient = ? and livemode = ? and created_at > ? and status <> 'external'
     order by created_at desc, id desc limit 1`,
  )
  const update = updateOf(connection, t.verifications, {
    key: ['workspace_id', 'id'],
    set: CHECKED_COLUMNS,
  })
  const { count } = codeRows(connection, t)
  const events = eventRows(connection, t)
  const placeEvents = prepareEventLog(connection, t)

  function find({ workspace_id, livemode, of }: CodeCheck): VerificationRow[] {
    if ('id' in of) return byId(workspace_id, of.id)
    return newest(workspace_id, of.recipient, Number(livemode), of.since.getTime())
  }

  function lookUp(checks: readonly CodeCheck[]): CheckState {
    const subscribers: Map<string, ReturnType<typeof events.findSubscribers>> = new Map()
    for (const { workspace_id } of checks) {
      if (subscribers.has(workspace_id)) continue
      subscribers.set(workspace_id, events.findSubscribers(workspace_id))
    }
    return {
      verifications: checks.flatMap(find),
      subscribers,
      keeps_events: events.isEventLogKept(),
    }
  }

  return (checks: readonly CodeCheck[]): CheckResult[] => {
    const state = lookUp(checks)
    const plan = planChecks(checks, state, newId)
    for (const row of plan.changed) update(row)
    for (const counts of plan.counts) count(counts)
    if (plan.events.length === 0) return plan.results
    const { queue, handOver, release } = queueDeliveries(
      plan,
      state.subscribers,
      lanes.current?.deliveries,
      steps,
    )
    afterCommit(handOver, release)
    events.insertEvents(plan.events)
    events.insertDeliveries(plan.deliveries)
    events.insertQueued(queue)
    if (state.keeps_events) {
      placeEvents(plan.events)
      afterCommit(onLogged)
    }
    return plan.results
  }
}
