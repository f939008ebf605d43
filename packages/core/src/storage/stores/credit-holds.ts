import { and, asc, eq, inArray, lte } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { CreditHoldReads, CreditHoldWrites } from '../ports/credits.ts'
import { isAfter } from './pages.ts'

export function creditHoldStore(
  db: Db,
  { credit_holds: t }: Tables,
): CreditHoldReads & CreditHoldWrites {
  return {
    async open(workspaceId, { limit, offset }) {
      const mine = db.select().from(t).where(eq(t.workspace_id, workspaceId))
      return await mine.orderBy(asc(t.expires_at), asc(t.id)).limit(limit).offset(offset)
    },
    async insert(hold) {
      await db.insert(t).values(hold)
    },
    async remove(workspaceId, ids) {
      await db.delete(t).where(and(eq(t.workspace_id, workspaceId), inArray(t.id, [...ids])))
    },
    async overdue(now, { after, limit }) {
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
  }
}
