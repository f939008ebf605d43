import { and, asc, desc, eq, getTableColumns, gt, inArray, sql } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { type Units, units } from '../../contract/fields/units.ts'
import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { BulkRejectionRow, BulkRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { isBelow } from './queries.ts'

/** The progress of a bulk. */
export interface BulkProgress {
  counts: Record<MessageStatus, number>
  /** The part of `counts.failed` that was canceled. */
  canceled: number
  /** The failed messages that were not canceled by their error, most frequent first. */
  failures: { error_code: string | null; count: number }[]
  credits_refunded: Units
}

/** A bulk and the number of its messages that are queued or failed; `canceled` is a part of `failed`. */
export interface ListedBulkRow extends BulkRow {
  queued: number
  failed: number
  canceled: number
}

export function bulkStore(db: Db, { bulks: t, bulk_rejections: rejections, messages }: Tables) {
  // `bigint` is wide enough for the sum on either engine, and becomes a number on both.
  const canceled = sql<number>`cast(sum(case when ${messages.error_code} = 'canceled' then 1 else 0 end) as bigint)`
  const refunded = sql<number>`cast(sum(${messages.credits_refunded}) as bigint)`
  return {
    reads: {
      async byId(workspaceId: string, bulkId: string): Promise<BulkRow | null> {
        const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, bulkId))
        const [row] = await db.select().from(t).where(mine)
        return row ?? null
      },
      /** Returns the newest first. A content longer than `content_length` is null. */
      async list(
        workspaceId: string,
        { channel, livemode }: { channel?: Channel | undefined; livemode?: false | undefined },
        { limit, offset, after, content_length }: Slice & { content_length: number },
      ): Promise<ListedBulkRow[]> {
        const mine = and(
          eq(t.workspace_id, workspaceId),
          channel && eq(t.channel, channel),
          livemode === undefined ? undefined : eq(t.livemode, livemode),
          isBelow(t.id, after),
        )
        const isShort = sql`length(cast(${t.content} as text)) <= ${content_length}`
        const content = sql<BulkRow['content']>`case when ${isShort} then ${t.content} end`
        const found = db
          .select({ ...getTableColumns(t), content: content.mapWith(t.content) })
          .from(t)
          .where(mine)
          .orderBy(desc(t.id))
        const rows = await found.limit(limit).offset(offset)
        if (rows.length === 0) return []
        const ids = rows.map(({ id }) => id)
        const { bulk_id, status } = messages
        const open = await db
          .select({ bulk_id, status, n: rowCount, canceled })
          .from(messages)
          .where(and(eq(messages.workspace_id, workspaceId), inArray(bulk_id, ids)))
          .groupBy(bulk_id, status)
        const of = (id: string, state: string) =>
          open.find((one) => one.bulk_id === id && one.status === state)
        return rows.map((row) => ({
          ...row,
          queued: of(row.id, 'queued')?.n ?? 0,
          failed: of(row.id, 'failed')?.n ?? 0,
          canceled: of(row.id, 'failed')?.canceled ?? 0,
        }))
      },
      /** The bulk that retried the failed messages of this bulk; null when there is none. */
      async retryOf(workspaceId: string, bulkId: string): Promise<BulkRow | null> {
        const mine = and(eq(t.workspace_id, workspaceId), eq(t.retry_of, bulkId))
        const [row] = await db.select().from(t).where(mine)
        return row ?? null
      },
      /** The rejected recipients of a bulk, as in the request. `after`: only those at later positions. */
      async rejections(
        workspaceId: string,
        bulkId: string,
        { limit, offset, after }: Omit<Slice, 'after'> & { after?: number | undefined },
      ): Promise<BulkRejectionRow[]> {
        const { workspace_id, bulk_id, position } = rejections
        const mine = and(eq(workspace_id, workspaceId), eq(bulk_id, bulkId))
        const found = db
          .select()
          .from(rejections)
          .where(and(mine, after === undefined ? undefined : gt(position, after)))
        return found.orderBy(asc(position)).limit(limit).offset(offset)
      },
      /** The number of the bulk's messages for each status and error, of canceled ones, and the sum of refunded credits. */
      async progress(workspaceId: string, bulkId: string): Promise<BulkProgress> {
        const mine = and(eq(messages.workspace_id, workspaceId), eq(messages.bulk_id, bulkId))
        const { status, error_code } = messages
        const found = await db
          .select({ status, error_code, n: rowCount, canceled, refunded })
          .from(messages)
          .where(mine)
          .groupBy(status, error_code)
        const counts = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0 }
        for (const row of found) counts[row.status] += row.n
        const failed = found.filter((row) => row.status === 'failed' && row.canceled === 0)
        return {
          counts,
          canceled: found.reduce((sum, row) => sum + row.canceled, 0),
          failures: failed
            .map(({ error_code, n: count }) => ({ error_code, count }))
            .sort((a, b) => b.count - a.count || compare(a.error_code, b.error_code)),
          credits_refunded: units(found.reduce((sum, row) => sum + row.refunded, 0)),
        }
      },
    },
    writes: {},
  }
}

function compare(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : 1
}
