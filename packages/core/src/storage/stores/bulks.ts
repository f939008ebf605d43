import { and, eq, sql } from 'drizzle-orm'
import { units } from '../../contract/fields/units.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { BulkReads } from '../ports/messages.ts'

export function bulkStore(db: Db, { bulks: t, messages }: Tables): BulkReads {
  // `bigint` is wide enough for the sum on either engine, and becomes a number on both.
  const refunded = sql<number>`cast(sum(${messages.credits_refunded}) as bigint)`
  return {
    async byId(workspaceId, bulkId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, bulkId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
    },
    async retryOf(workspaceId, bulkId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.retry_of, bulkId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
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
