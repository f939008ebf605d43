import {
  and,
  asc,
  desc,
  eq,
  exists,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  lte,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { type Units, units } from '../../contract/fields/units.ts'
import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { BulkRejectionRow, BulkRow, MessageRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { isBelow, type StoreDialect } from './queries.ts'

/** The progress of a bulk. */
export interface BulkProgress {
  counts: Record<MessageStatus, number>
  /** The part of `counts.failed` that was canceled. */
  canceled: number
  /** The failed messages that were not canceled by their error, most frequent first. */
  failures: { error_code: string | null; count: number }[]
  /** The failed messages that no provider accepted, and that were neither canceled nor erased. */
  retryable: number
  credits_refunded: Units
}

/** A bulk and the number of its messages that are queued or failed; `canceled` is a part of `failed`. */
export interface ListedBulkRow extends BulkRow {
  queued: number
  failed: number
  canceled: number
  /** The earliest schedule of a queued message; null if none is scheduled. */
  scheduled_at: Date | null
}

/** A bulk without what may be about its recipient. */
export const UNNAMED = { content: null, name: null, sender: null }

/** SQL: whether a bulk to one recipient has something that may be about this person. */
export function namesOne({ accepted, content, name, sender }: Tables['bulks']): SQL | undefined {
  return and(eq(accepted, 1), or(isNotNull(content), isNotNull(name), isNotNull(sender)))
}

/** A message that a pause holds. */
export type HeldMessage = Pick<
  MessageRow,
  'id' | 'channel' | 'recipient' | 'livemode' | 'template' | 'template_version' | 'template_locale'
>

export function bulkStore(
  db: Db,
  { bulks: t, bulk_rejections: rejections, messages, message_queue: queue }: Tables,
  { locked, messagesByBulk }: Pick<StoreDialect, 'locked' | 'messagesByBulk'>,
) {
  const one = (workspaceId: string, id: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, id))
  // `bigint` is wide enough for the sum on either engine, and becomes a number on both.
  const canceled = sql<number>`cast(sum(case when ${messages.error_code} = 'canceled' then 1 else 0 end) as bigint)`
  const isRetryable = sql`${messages.status} = 'failed' and not ${messages.accepted}
    and coalesce(${messages.error_code}, '') <> 'canceled' and ${messages.erased_at} is null`
  const retryable = sql<number>`cast(sum(case when ${isRetryable} then 1 else 0 end) as bigint)`
  const refunded = sql<number>`cast(sum(${messages.credits_refunded}) as bigint)`
  return {
    reads: {
      async byId(workspaceId: string, bulkId: string): Promise<BulkRow | null> {
        const [row] = await db.select().from(t).where(one(workspaceId, bulkId))
        return row ?? null
      },
      /** Returns the newest first. A content longer than `content_length` is null. */
      async list(
        workspaceId: string,
        {
          id,
          channel,
          livemode,
        }: {
          id?: string | undefined
          channel?: Channel | undefined
          livemode?: false | undefined
        },
        { limit, offset, after, content_length }: Slice & { content_length: number },
      ): Promise<ListedBulkRow[]> {
        const mine = and(
          eq(t.workspace_id, workspaceId),
          id === undefined ? undefined : eq(t.id, id),
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
        const { bulk_id, status, scheduled_at } = messages
        // A message without a time is due at once.
        const first =
          sql<Date | null>`case when count(${scheduled_at}) = count(*) then min(${scheduled_at}) end`.mapWith(
            scheduled_at,
          )
        const open = await db
          .select({
            bulk_id: sql`${bulk_id}`,
            status: sql`${status}`,
            n: rowCount,
            canceled,
            first,
          })
          .from(messagesByBulk)
          .where(and(eq(messages.workspace_id, workspaceId), inArray(bulk_id, ids)))
          .groupBy(bulk_id, status)
        const of = (id: string, state: string) =>
          open.find((one) => one.bulk_id === id && one.status === state)
        return rows.map((row) => ({
          ...row,
          queued: of(row.id, 'queued')?.n ?? 0,
          failed: of(row.id, 'failed')?.n ?? 0,
          canceled: of(row.id, 'failed')?.canceled ?? 0,
          scheduled_at: of(row.id, 'queued')?.first ?? null,
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
          .select({
            status: sql<MessageStatus>`${status}`,
            error_code: sql<string | null>`${error_code}`,
            ...{ n: rowCount, canceled, retryable, refunded },
          })
          .from(messagesByBulk)
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
          retryable: found.reduce((sum, row) => sum + row.retryable, 0),
          credits_refunded: units(found.reduce((sum, row) => sum + row.refunded, 0)),
        }
      },
      /** Whether a message of the bulk is queued. */
      async hasQueued(workspaceId: string, bulkId: string): Promise<boolean> {
        const { workspace_id, bulk_id, status } = messages
        const some = and(eq(workspace_id, workspaceId), eq(bulk_id, bulkId), eq(status, 'queued'))
        return (await db.select({ n: sql`1` }).from(messagesByBulk).where(some).limit(1)).length > 0
      },
      /** The paused bulks of a workspace with queued messages, newest first. */
      async paused(
        workspaceId: string,
        livemode: false | undefined,
        limit: number,
      ): Promise<Pick<BulkRow, 'id' | 'name'>[]> {
        const { workspace_id, bulk_id, status } = messages
        const queued = and(
          eq(workspace_id, t.workspace_id),
          eq(bulk_id, t.id),
          eq(status, 'queued'),
        )
        const mine = and(
          eq(t.workspace_id, workspaceId),
          isNotNull(t.paused_at),
          livemode === undefined ? undefined : eq(t.livemode, livemode),
          exists(db.select({ n: sql`1` }).from(messagesByBulk).where(queued)),
        )
        const found = db.select({ id: t.id, name: t.name }).from(t).where(mine)
        return found.orderBy(desc(t.id)).limit(limit)
      },
      /** Bulks of all workspaces whose next step is due, the longest waiting first. */
      async due(now: Date, limit: number): Promise<Pick<BulkRow, 'workspace_id' | 'id'>[]> {
        const found = db
          .select({ workspace_id: t.workspace_id, id: t.id })
          .from(t)
          .where(and(isNotNull(t.next_at), lte(t.next_at, now)))
        return found.orderBy(asc(t.next_at), asc(t.id)).limit(limit)
      },
      /** Messages that a pause of this bulk or broadcast holds. */
      async held(workspaceId: string, heldBy: string, limit: number): Promise<HeldMessage[]> {
        const { id, channel, recipient, livemode } = messages
        const { template, template_version, template_locale } = messages
        return db
          .select({ id, channel, recipient, livemode, template, template_version, template_locale })
          .from(queue)
          .innerJoin(
            messages,
            and(eq(messages.workspace_id, queue.workspace_id), eq(messages.id, queue.message_id)),
          )
          .where(and(eq(queue.held_by, heldBy), eq(queue.workspace_id, workspaceId)))
          .orderBy(asc(queue.message_id))
          .limit(limit)
      },
    },
    writes: {
      /** The bulk, locked until the transaction ends. */
      async lock(workspaceId: string, bulkId: string): Promise<BulkRow | null> {
        return (await locked(db.select().from(t).where(one(workspaceId, bulkId))))[0] ?? null
      },
      /** Pauses or resumes a bulk: the columns of its pause. */
      async change(
        workspaceId: string,
        bulkId: string,
        pause: Pick<BulkRow, 'paused_at' | 'next_at'>,
      ): Promise<void> {
        await db.update(t).set(pause).where(one(workspaceId, bulkId))
      },
    },
  }
}

function compare(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : 1
}
