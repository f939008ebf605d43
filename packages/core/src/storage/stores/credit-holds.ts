import { and, asc, eq, inArray, lte } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Db } from '../../rows/dialect.ts'
import type { HoldRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import { isAfter } from './pages.ts'

/** The position of a row in the order of expiry: by time, then by id. */
export interface Overdue {
  expires_at: Date
  id: string
}

export function creditHoldStore(db: Db, { credit_holds: t }: Tables) {
  return {
    reads: {
      /** The open holds, sorted by their expiry. */
      async open(workspaceId: string, { limit, offset }: Slice): Promise<HoldRow[]> {
        const mine = db.select().from(t).where(eq(t.workspace_id, workspaceId))
        return await mine.orderBy(asc(t.expires_at), asc(t.id)).limit(limit).offset(offset)
      },
    },
    writes: {
      async insert(hold: HoldRow): Promise<void> {
        await db.insert(t).values(hold)
      },
      async remove(workspaceId: string, ids: readonly string[]): Promise<void> {
        await db.delete(t).where(and(eq(t.workspace_id, workspaceId), inArray(t.id, [...ids])))
      },
      /** Expired holds of all workspaces after the position `after`, the longest expired first. */
      async overdue(
        now: Date,
        { after, limit }: { after: Overdue | null; limit: number },
      ): Promise<HoldRow[]> {
        const past = db
          .select()
          .from(t)
          .where(
            and(
              lte(t.expires_at, now),
              isAfter([t.expires_at, t.id], after && [after.expires_at, after.id]),
            ),
          )
        return await past.orderBy(asc(t.expires_at), asc(t.id)).limit(limit)
      },
    },
  }
}
