import { and, asc, desc, eq, gt, inArray, sql } from 'drizzle-orm'
import { units } from '../../contract/fields/units.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { BulkReads } from '../ports/messages.ts'
import { isBelow } from './pages.ts'

export function bulkStore(
  db: Db,
  { bulks: t, bulk_rejections: rejections, messages }: Tables,
): BulkReads {
  // `bigint` is wide enough for the sum on either engine, and becomes a number on both.
  const refunded = sql<number>`cast(sum(${messages.credits_refunded}) as bigint)`
  return {
    async byId(workspaceId, bulkId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, bulkId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
    },
    async list(workspaceId, { channel, livemode }, { limit, offset, after }) {
      const mine = and(
        eq(t.workspace_id, workspaceId),
        channel && eq(t.channel, channel),
        livemode === undefined ? undefined : eq(t.livemode, livemode),
        isBelow(t.id, after),
      )
      const found = db.select().from(t).where(mine).orderBy(desc(t.id))
      const rows = await found.limit(limit).offset(offset)
      if (rows.length === 0) return []
      const ids = rows.map(({ id }) => id)
      const { bulk_id, status } = messages
      const open = await db
        .select({ bulk_id, status, n: rowCount })
        .from(messages)
        .where(and(eq(messages.workspace_id, workspaceId), inArray(bulk_id, ids)))
        .groupBy(bulk_id, status)
      const of = (id: string, state: string) =>
        open.find((one) => one.bulk_id === id && one.status === state)?.n ?? 0
      return rows.map((row) => ({
        ...row,
        queued: of(row.id, 'queued'),
        failed: of(row.id, 'failed'),
      }))
    },
    async retryOf(workspaceId, bulkId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.retry_of, bulkId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
    },
    async rejections(workspaceId, bulkId, { limit, offset, after }) {
      const { workspace_id, bulk_id, position } = rejections
      const mine = and(eq(workspace_id, workspaceId), eq(bulk_id, bulkId))
      const found = db
        .select()
        .from(rejections)
        .where(and(mine, after === undefined ? undefined : gt(position, after)))
      return found.orderBy(asc(position)).limit(limit).offset(offset)
    },
    async progress(workspaceId, bulkId) {
      const mine = and(eq(messages.workspace_id, workspaceId), eq(messages.bulk_id, bulkId))
      const { status } = messages
      const found = await db
        .select({ status, n: rowCount, refunded })
        .from(messages)
        .where(mine)
        .groupBy(status)
      const none = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0 }
      return {
        counts: { ...none, ...Object.fromEntries(found.map((row) => [row.status, row.n])) },
        credits_refunded: units(found.reduce((sum, row) => sum + row.refunded, 0)),
      }
    },
  }
}
