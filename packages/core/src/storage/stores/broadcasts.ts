import {
  and,
  asc,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  notInArray,
  or,
  sql,
} from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { BroadcastStatus } from '../../contract/resources/broadcasts.ts'
import type { MessageStatus } from '../../contract/resources/messages.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { BroadcastRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { filledUp, isBelow, type StoreDialect } from './queries.ts'
import { isSuppressedAfter } from './suppressions.ts'

/** The columns of a broadcast that change. */
export type BroadcastChange = Partial<Omit<BroadcastRow, 'workspace_id' | 'id'>>

/** The messages of a broadcast with one status and one reason. */
export interface BroadcastTotal {
  status: MessageStatus
  error_code: string | null
  count: number
  /** The sum of refunded micro-credits. */
  refunded: number
}

/**
 * SQL: whether claims hold the messages of the broadcast `c`. One that paused itself does not: they are paid. After a restore they may have
 * been sent. Those of a canceled one wait for its next step, which cancels them: the cancellation of an earlier version has none.
 */
export const BROADCAST_HOLDS = `((c.status = 'canceled' and c.next_at is not null) or (c.status = 'paused' and c.pause_reason in ('requested', 'restored')))`

export function broadcastStore(
  db: Db,
  tables: Tables,
  { locked, messagesByBulk }: Pick<StoreDialect, 'locked' | 'messagesByBulk'>,
) {
  const { broadcasts: t, bulks, messages, templates } = tables
  const one = (workspaceId: string, id: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, id))
  const matching = (workspaceId: string, status: BroadcastStatus | undefined) =>
    and(eq(t.workspace_id, workspaceId), status && eq(t.status, status))
  const bulksOf = (workspaceId: string, id: string) =>
    and(eq(bulks.workspace_id, workspaceId), eq(bulks.broadcast_id, id))
  const messagesOf = (workspaceId: string, id: string) =>
    and(
      eq(messages.workspace_id, workspaceId),
      inArray(
        messages.bulk_id,
        db.select({ id: bulks.id }).from(bulks).where(bulksOf(workspaceId, id)),
      ),
    )
  return {
    reads: {
      async byId(workspaceId: string, id: string): Promise<BroadcastRow | null> {
        return (await db.select().from(t).where(one(workspaceId, id)))[0] ?? null
      },
      /** Returns the newest first. */
      async list(
        workspaceId: string,
        status: BroadcastStatus | undefined,
        { limit, offset, after }: Slice,
      ): Promise<BroadcastRow[]> {
        const some = and(matching(workspaceId, status), isBelow(t.id, after))
        return db.select().from(t).where(some).orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      async count(workspaceId: string, status: BroadcastStatus | undefined): Promise<number> {
        const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, status))
        return (await found)[0]?.n ?? 0
      },
      /** Broadcasts that are neither finished nor canceled. */
      async countOpen(workspaceId: string): Promise<number> {
        const open = notInArray(t.status, ['finished', 'canceled'])
        const own = and(eq(t.workspace_id, workspaceId), open)
        return (await db.select({ n: rowCount }).from(t).where(own))[0]?.n ?? 0
      },
      /** The names of the templates that are not deleted and that only finished or canceled broadcasts name, the oldest first. */
      async endedTemplates(workspaceId: string): Promise<string[]> {
        const { name, id, deleted_at } = templates
        const own = and(eq(templates.workspace_id, t.workspace_id), eq(name, t.template))
        const isOpen = sql<number>`case when ${t.status} in ('finished', 'canceled') then 0 else 1 end`
        const found = db
          .select({ name: sql<string>`${name}` })
          .from(t)
          .innerJoin(templates, and(own, isNull(deleted_at)))
          .where(eq(t.workspace_id, workspaceId))
          .groupBy(name, id)
          .having(sql`sum(${isOpen}) = 0`)
        return (await found.orderBy(asc(id))).map((row) => row.name)
      },
      /** Broadcasts of all workspaces whose next step is due, the longest waiting first. */
      async due(now: Date, limit: number): Promise<BroadcastRow[]> {
        const found = db
          .select()
          .from(t)
          .where(and(isNotNull(t.next_at), lte(t.next_at, now)))
        return found.orderBy(asc(t.next_at), asc(t.id)).limit(limit)
      },
      /** The messages of a bulk that wait for their provider now. */
      async waiting(workspaceId: string, bulkId: string, now: Date): Promise<number> {
        const { workspace_id, bulk_id, status, scheduled_at } = messages
        const waiting = and(
          and(eq(workspace_id, workspaceId), eq(bulk_id, bulkId), eq(status, 'queued')),
          or(isNull(scheduled_at), lte(scheduled_at, now)),
        )
        return (await db.select({ n: rowCount }).from(messagesByBulk).where(waiting))[0]?.n ?? 0
      },
      /** The messages of a broadcast by status and reason. */
      async totals(workspaceId: string, id: string): Promise<BroadcastTotal[]> {
        const { status, error_code, credits_refunded } = messages
        const refunded = sql<number>`cast(sum(${credits_refunded}) as bigint)`.mapWith(Number)
        return db
          .select({
            status: sql<MessageStatus>`${status}`,
            error_code: sql<string | null>`${error_code}`,
            ...{ count: rowCount, refunded },
          })
          .from(messagesByBulk)
          .where(messagesOf(workspaceId, id))
          .groupBy(status, error_code)
          .orderBy(desc(rowCount), asc(error_code))
      },
      /** The messages of a broadcast whose recipients opted out of its channel after its start. */
      async unsubscribed(
        workspaceId: string,
        { id, channel, started_at }: Pick<BroadcastRow, 'id' | 'channel' | 'started_at'>,
      ): Promise<number> {
        if (!started_at) return 0
        const left = { channel, reason: 'opt_out', since: started_at } as const
        const isLeft = isSuppressedAfter(db, tables, workspaceId, left)
        const found = db.select({ n: rowCount }).from(messagesByBulk)
        return (await found.where(and(messagesOf(workspaceId, id), isLeft)))[0]?.n ?? 0
      },
      /** The next bulks of a broadcast after the bulk `after`, in their order. */
      async nextBulks(
        workspaceId: string,
        id: string,
        { after, limit }: { after: string; limit: number },
      ): Promise<string[]> {
        const next = and(bulksOf(workspaceId, id), gt(bulks.id, after))
        const found = db.select({ id: bulks.id }).from(bulks).where(next)
        return (await found.orderBy(asc(bulks.id)).limit(limit)).map((row) => row.id)
      },
      /** The ids of the queued messages of these bulks. */
      async queued(workspaceId: string, bulkIds: readonly string[]): Promise<string[]> {
        const { workspace_id, bulk_id, id, status } = messages
        const some = and(
          eq(workspace_id, workspaceId),
          inArray(bulk_id, filledUp(bulkIds)),
          eq(status, 'queued'),
        )
        const found = db.select({ id: sql<string>`${id}` }).from(messagesByBulk)
        return (await found.where(some)).map((row) => row.id)
      },
      /** Whether a message of the broadcast is queued. */
      async hasQueued(workspaceId: string, id: string): Promise<boolean> {
        const some = and(messagesOf(workspaceId, id), eq(messages.status, 'queued'))
        return (await db.select({ n: sql`1` }).from(messagesByBulk).where(some).limit(1)).length > 0
      },
    },
    writes: {
      async insert(broadcast: BroadcastRow): Promise<void> {
        await db.insert(t).values(broadcast)
      },
      /** The broadcast, locked until the transaction ends. */
      async lock(workspaceId: string, id: string): Promise<BroadcastRow | null> {
        return (await locked(db.select().from(t).where(one(workspaceId, id))))[0] ?? null
      },
      async change(workspaceId: string, id: string, change: BroadcastChange): Promise<void> {
        await db.update(t).set(change).where(one(workspaceId, id))
      },
      /**
       * After a restore: pauses the broadcasts of all workspaces that began before a time, or would have begun, and marks paused ones,
       * which a request may have resumed after the backup.
       */
      async holdAll(now: Date, message: string): Promise<void> {
        const begun = or(
          eq(t.status, 'paused'),
          and(eq(t.status, 'running'), isNotNull(t.next_at)),
          and(eq(t.status, 'scheduled'), lte(t.next_at, now)),
        )
        await db
          .update(t)
          .set({
            status: 'paused',
            pause_reason: 'restored',
            pause_message: message,
            next_at: null,
            updated_at: now,
          })
          .where(begun)
      },
    },
  }
}
