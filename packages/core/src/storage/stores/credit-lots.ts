import { and, asc, eq, gt, inArray, isNull, lte, ne, or, sql } from 'drizzle-orm'
import type { Units } from '../../contract/fields/units.ts'
import type { EntryKind } from '../../rows/credits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { LotRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { Overdue } from './credit-holds.ts'
import { isAfter } from './pages.ts'

export function creditLotStore(
  db: Db,
  { credit_lots: t, ledger_entries: entries, messages }: Tables,
) {
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
    reads: {
      /** The lots that have not ended, in the order of their use. `remaining` includes entries up to `counted_seq`. */
      async open(workspaceId: string): Promise<LotRow[]> {
        const lots = db.select().from(t).where(openOf(workspaceId))
        return await lots.orderBy(asc(t.expires_at), asc(t.granted_seq))
      },
      /**
       * The sum that entries of these kinds consumed, with numbers above `after` and at most `up_to`. A refund returns the
       * consumption of its debit, so it counts only if its debit is above `after` too.
       */
      async consumed(
        workspaceId: string,
        { after, up_to, kinds }: { after: number; up_to: number; kinds: readonly EntryKind[] },
      ): Promise<Units> {
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
    },
    writes: {
      async insert(lot: LotRow): Promise<void> {
        await db.insert(t).values(lot)
      },
      /** Stores the remaining credits of `lots`, and `seq` as the entry up to which all open lots are counted. */
      async recount(
        workspaceId: string,
        seq: number,
        lots: readonly Pick<LotRow, 'id' | 'remaining'>[],
      ): Promise<void> {
        await db.update(t).set({ counted_seq: seq }).where(openOf(workspaceId))
        for (const { id, remaining } of lots) {
          await db.update(t).set({ remaining }).where(byId(workspaceId, id))
        }
      },
      async end(workspaceId: string, id: string, at: Date): Promise<void> {
        await db.update(t).set({ ended_at: at }).where(byId(workspaceId, id))
      },
      /** Lots of all workspaces that expired and have not ended, after the position `after`, the longest expired first. */
      async due(
        now: Date,
        { after, limit }: { after: Overdue | null; limit: number },
      ): Promise<LotRow[]> {
        const past = and(
          lte(t.expires_at, now),
          isNull(t.ended_at),
          isAfter([t.expires_at, t.id], after && [after.expires_at, after.id]),
        )
        const lots = db.select().from(t).where(past)
        return await lots.orderBy(asc(t.expires_at), asc(t.id)).limit(limit)
      },
    },
  }
}
