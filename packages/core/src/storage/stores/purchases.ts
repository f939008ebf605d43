import { and, eq } from 'drizzle-orm'
import type { PurchaseReads, PurchaseWrites } from '../../billing/store.ts'
import type { Db } from '../dialect.ts'
import type { Tables } from '../tables.ts'

export function purchaseStore(db: Db, { purchases: t }: Tables): PurchaseReads & PurchaseWrites {
  return {
    async byId(workspaceId, purchaseId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, purchaseId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
    },
    async bySession(sessionId) {
      const [row] = await db.select().from(t).where(eq(t.session_id, sessionId))
      return row ?? null
    },
    async insert(purchase) {
      await db.insert(t).values(purchase)
    },
    async change({ workspace_id, id, version }, change) {
      const changed = await db
        .update(t)
        .set({ ...change, version: version + 1 })
        .where(and(eq(t.workspace_id, workspace_id), eq(t.id, id), eq(t.version, version)))
        .returning({ id: t.id })
      return changed.length === 1
    },
  }
}
