import { and, count, desc, eq, gte, isNotNull, ne, or } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { BegunPurchases, PurchaseReads, PurchaseWrites } from '../ports/billing.ts'
import { isAfter } from './pages.ts'

export function purchaseStore(db: Db, { purchases: t }: Tables): PurchaseReads & PurchaseWrites {
  const begunIn = ({ provider, since, workspace_id }: BegunPurchases) =>
    and(
      eq(t.provider, provider),
      or(isNotNull(t.session_id), eq(t.status, 'pending')),
      gte(t.created_at, since),
      workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id),
    )

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
    async byPayment(paymentId) {
      const [row] = await db.select().from(t).where(eq(t.payment_id, paymentId))
      return row ?? null
    },
    async begun(which, { is_pending, after, limit }) {
      const isLater = isAfter([t.created_at, t.id], after && [after.created_at, after.id])
      const status = is_pending ? eq(t.status, 'pending') : ne(t.status, 'pending')
      return db
        .select()
        .from(t)
        .where(and(begunIn(which), status, isLater))
        .orderBy(t.created_at, t.id)
        .limit(limit)
    },
    async countBegun(which) {
      const [row] = await db.select({ count: count() }).from(t).where(begunIn(which))
      return row?.count ?? 0
    },
    async list({ workspace_id, status, in_review }, { limit, offset }) {
      const which = and(
        workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id),
        status === undefined ? undefined : eq(t.status, status),
        in_review ? isNotNull(t.review_reason) : undefined,
      )
      const newestFirst = [desc(t.created_at), desc(t.id)]
      return db
        .select()
        .from(t)
        .where(which)
        .orderBy(...newestFirst)
        .limit(limit)
        .offset(offset)
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
