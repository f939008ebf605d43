import { and, asc, eq, gt, inArray, isNull, lte, ne, or, sql } from 'drizzle-orm'
import type { Units } from '../../contract/fields/units.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { CreditLotReads, CreditLotWrites } from '../ports/credits.ts'
import { isAfter } from './pages.ts'

export function creditLotStore(
  db: Db,
  { credit_lots: t, ledger_entries: entries, messages }: Tables,
): CreditLotReads & CreditLotWrites {
  const openOf = (workspaceId: string) => and(eq(t.workspace_id, workspaceId), isNull(t.ended_at))
  const byId = (workspaceId: string, id: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, id))
  /**
   * The `seq` of a refund's debit: the debit of its message or of the message's bulk. The SQL uses scalar subqueries,
   * so that no engine reads all debits for a few refunds.
   */
  const debitOf = (workspaceId: string) => sql`coalesce(
    (select d.seq from ${entries} d where d.workspace_id = ${workspaceId} and d.ref_id = ${entries.ref_id}
      and d.kind = 'send' and d.ref_type = 'message' and d.ref_n = 0),
    (select d.seq from ${messages} m join ${entries} d on d.ref_id = m.bulk_id
      where m.workspace_id = ${workspaceId} and m.id = ${entries.ref_id} and d.workspace_id = ${workspaceId}
      and d.kind = 'send' and d.ref_type = 'bulk' and d.ref_n = 0))`

  return {
    async open(workspaceId) {
      const lots = db.select().from(t).where(openOf(workspaceId))
      return await lots.orderBy(asc(t.expires_at), asc(t.granted_seq))
    },
    async consumed(workspaceId, { after, up_to, kinds }) {
      const between = and(
        eq(entries.workspace_id, workspaceId),
        gt(entries.seq, after),
        lte(entries.seq, up_to),
        inArray(entries.kind, [...kinds]),
        or(
          ne(entries.kind, 'refund'),
          and(eq(entries.ref_type, 'message'), sql`${debitOf(workspaceId)} > ${after}`),
        ),
      )
      // The sum is read as text, because it has another type on PostgreSQL.
      const consumed = sql<string>`cast(coalesce(-sum(${entries.amount}), 0) as text)`
      const [row] = await db.select({ consumed }).from(entries).where(between)
      return Number(row?.consumed ?? 0) as Units
    },
    async insert(lot) {
      await db.insert(t).values(lot)
    },
    async recount(workspaceId, seq, lots) {
      await db.update(t).set({ counted_seq: seq }).where(openOf(workspaceId))
      for (const { id, remaining } of lots) {
        await db.update(t).set({ remaining }).where(byId(workspaceId, id))
      }
    },
    async end(workspaceId, id, at) {
      await db.update(t).set({ ended_at: at }).where(byId(workspaceId, id))
    },
    async due(now, { after, limit }) {
      const past = and(
        lte(t.expires_at, now),
        isNull(t.ended_at),
        isAfter([t.expires_at, t.id], after && [after.expires_at, after.id]),
      )
      const lots = db.select().from(t).where(past)
      return await lots.orderBy(asc(t.expires_at), asc(t.id)).limit(limit)
    },
  }
}
