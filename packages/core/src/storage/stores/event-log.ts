import { and, asc, eq, gt, lte, sql } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { EventRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { blocksOf, type StoreDialect } from './queries.ts'

/** The state of the log of events. */
export interface EventLogState {
  /** Whether events are added to the log. */
  is_kept: boolean
  /** The position of the newest event; 0 if there is none. */
  position: number
  /** The log has every event after this position. */
  since: number
}

/** An event with its position in the order of commits. */
export interface LoggedEvent extends EventRow {
  position: number
}

/** The name of the only row of `event_log_state`. */
const EVENTS = 'events'

const NEVER_KEPT: EventLogState = { is_kept: false, position: 0, since: 0 }

/** The log of events. `note` is called with the events that the transaction stores. */
export function eventLogStore(
  db: Db,
  { events, event_log: log, event_log_state: states }: Tables,
  { alone }: StoreDialect,
) {
  const only = eq(states.name, EVENTS)
  let noted: EventRow[] = []

  async function state(): Promise<EventLogState> {
    const [row] = await db.select().from(states).where(only)
    return row ? { is_kept: row.is_kept, position: row.position, since: row.since } : NEVER_KEPT
  }

  return {
    reads: {
      state,
      /**
       * The events with positions above `after` and up to `until`, in this order, of one workspace or of all. Once `state` has
       * returned a position, every event up to it is visible, and no event gets a position up to it later.
       */
      async between(
        { after, until }: { after: number; until: number },
        workspaceId: string | undefined,
      ): Promise<LoggedEvent[]> {
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
    },
    writes: {
      /**
       * Begins or ends keeping events; returns the state afterwards. Locks the log until the transaction ends. To begin, it
       * waits for transactions that have read the state, so that all that end later store their events; such a wait delays
       * them, so call it only if `state` says that none are kept, and as the first call of a transaction.
       * @throws Error if another program's transaction, such as a backup, holds the log for longer than the deadline.
       */
      async keep(is_kept: boolean): Promise<EventLogState> {
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
      /** Whether the transaction must store its events even if no webhook subscribes to them. */
      async isKept(): Promise<boolean> {
        return (await state()).is_kept
      },
      /**
       * Gives positions to the events that the transaction stored. Called after its work, because the lock of the log must be
       * its last lock. Returns whether events got positions.
       */
      async place(): Promise<boolean> {
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
    },
    note(stored: readonly EventRow[]): void {
      noted.push(...stored)
    },
  }
}
