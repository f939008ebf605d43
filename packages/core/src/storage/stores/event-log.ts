import { and, asc, eq, gt, lte, sql } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { EventRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { EventLogReads, EventLogState, EventLogWrites } from '../ports/event-log.ts'
import { blocksOf } from './batches.ts'
import type { StoreDialect } from './dialect.ts'

/** The name of the only row of `event_log_state`. */
const EVENTS = 'events'

const NEVER_KEPT: EventLogState = { is_kept: false, position: 0, since: 0 }

/** The log of events. `note` is called with the events that the transaction stores. */
export function eventLogStore(
  db: Db,
  { events, event_log: log, event_log_state: states }: Tables,
  { alone }: StoreDialect,
): EventLogReads & EventLogWrites & { note(stored: readonly EventRow[]): void } {
  const only = eq(states.name, EVENTS)
  let noted: EventRow[] = []

  async function state(): Promise<EventLogState> {
    const [row] = await db.select().from(states).where(only)
    return row ? { is_kept: row.is_kept, position: row.position, since: row.since } : NEVER_KEPT
  }

  return {
    state,
    async between({ after, until }, workspaceId) {
      const found = await db
        .select({ position: log.position, row: events })
        .from(log)
        .innerJoin(
          events,
          and(eq(events.workspace_id, log.workspace_id), eq(events.id, log.event_id)),
        )
        .where(
          and(
            gt(log.position, after),
            lte(log.position, until),
            workspaceId === undefined ? undefined : eq(log.workspace_id, workspaceId),
          ),
        )
        .orderBy(asc(log.position))
      return found.map(({ position, row }) => ({ ...row, position }))
    },
    async keep(is_kept) {
      // A transaction that has read the state without events would end without them after this one.
      if (is_kept) await alone(db, states)
      const fresh = { name: EVENTS, is_kept, position: 0, since: 0 }
      await db.insert(states).values(fresh).onConflictDoNothing()
      // The time without events ends here: a reader with an older position must learn that events are missing.
      const since = sql`case when ${states.is_kept} then ${states.since} else ${states.position} end`
      await db
        .update(states)
        .set({ is_kept, ...(is_kept && { since }) })
        .where(only)
      return state()
    },
    async isKept() {
      return (await state()).is_kept
    },
    note(stored) {
      noted.push(...stored)
    },
    async place() {
      const rows = noted
      noted = []
      if (rows.length === 0) return false
      const taken = await db
        .update(states)
        .set({ position: sql`${states.position} + ${rows.length}` })
        .where(and(only, eq(states.is_kept, true)))
        .returning({ position: states.position })
      const newest = taken[0]?.position
      if (newest === undefined) return false
      const first = newest - rows.length + 1
      const placed = rows.map(({ workspace_id, id: event_id }, i) => {
        return { position: first + i, workspace_id, event_id }
      })
      for (const block of blocksOf(placed)) await db.insert(log).values(block)
      return true
    },
  }
}
