import type { VerificationRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'
import { type CheckResult, type CodeCheck, planChecks } from '../../../rules/check-codes.ts'
import { type Clock, type ClockSteps, type GivenLanes, queueDeliveries } from '../../queueing.ts'
import { CHECKED_COLUMNS } from '../../stores/verifications.ts'
import { type Database, statement } from '../engine/database.ts'
import { updateOf } from '../engine/rows.ts'
import { repeatableIds } from './settle.ts'
import { codeRows, lookUpSubscribers, placeEvents, prepareWriteEvents } from './shared-rows.ts'

/** Locks the verifications in the order of their ids, which prevents deadlocks. */
const lockChecked = statement<VerificationRow>(
  'lock_checked_verifications',
  `with asked as (
     select * from unnest($1::text[], $2::text[]) r(workspace_id, id)
     union
     select n.workspace_id, n.id
     from unnest($3::text[], $4::text[], $5::boolean[]) r(workspace_id, recipient, livemode)
     cross join lateral (
       select v.workspace_id, v.id from verifications v
       where v.workspace_id = r.workspace_id and v.recipient = r.recipient and v.livemode = r.livemode
         and v.created_at > $6 and v.status <> 'external'
       order by v.created_at desc, v.id desc limit 1) n)
   select v.* from asked join verifications v using (workspace_id, id)
   order by v.workspace_id, v.id for update of v`,
)

/**
 * The verb `checkCodes` on PostgreSQL: lock, look up, plan, write; two round trips. Rows are locked kind by kind:
 * verifications, webhooks, counts, and the log of events last.
 */
export function prepareCheckCodes(
  database: Database,
  t: Tables,
  {
    clock,
    onQueued,
    onLogged,
    steps,
    lanes,
    newId,
  }: {
    clock: Clock
    onQueued: () => void
    /** Called after a commit that added events to the log. */
    onLogged: () => void
    steps: ClockSteps
    lanes: GivenLanes
    newId: () => string
  },
) {
  const update = updateOf('check_verifications', t.verifications, {
    key: ['workspace_id', 'id'],
    set: CHECKED_COLUMNS,
  })
  const { count } = codeRows(t)
  const writeEvents = prepareWriteEvents(t, clock)
  return async (checks: readonly CodeCheck[]): Promise<CheckResult[]> => {
    const ids: [string, string][] = []
    const addresses: [string, string, boolean][] = []
    let since: Date | null = null
    for (const { workspace_id, livemode, of } of checks) {
      if ('id' in of) ids.push([workspace_id, of.id])
      else {
        addresses.push([workspace_id, of.recipient, livemode])
        // The batch has one time, because its checks are made at almost the same time.
        since ??= of.since
      }
    }
    const workspaces = checks.map(({ workspace_id }) => workspace_id)
    const idsOf = repeatableIds(newId)
    const { results, waiting, has_logged } = await database.transact(async (tx) => {
      const [verifications, subscribed] = await Promise.all([
        tx.rows(
          lockChecked,
          ...[0, 1].map((i) => ids.map((key) => key[i])),
          ...[0, 1, 2].map((i) => addresses.map((key) => key[i])),
          since,
        ),
        lookUpSubscribers(tx, workspaces),
      ])
      const state = { verifications, ...subscribed }
      const plan = planChecks(checks, state, idsOf())
      const queued = queueDeliveries(plan, state.subscribers, lanes.current?.deliveries, steps)
      tx.hold(queued)
      tx.write(update, plan.changed)
      tx.write(count, plan.counts)
      writeEvents(tx, { ...plan, delivery_queue: queued.queue })
      const has_logged = state.keeps_events && plan.events.length > 0
      if (has_logged) placeEvents(tx, plan.events)
      return { results: plan.results, waiting: queued.waiting, has_logged }
    })
    if (waiting.length > 0) onQueued()
    if (has_logged) onLogged()
    return results
  }
}
