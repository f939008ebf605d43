import { and, asc, between, eq, gt, gte, inArray, isNull, lt, lte, ne, or, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Db } from '../../rows/dialect.ts'
import type { MessageRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import {
  type CountChange,
  countRemoved,
  isWithoutMessages,
  OF_SETTLEMENTS_MS,
} from '../../rules/count-changes.ts'
import { idFloor, timeOfId } from '../../runtime/runtime.ts'
import { fileStore } from './files.ts'
import { filledUp, isIndexed, type StoreDialect } from './queries.ts'
import { recipientIndexStore } from './recipient-index.ts'

/** The tables that are read in pages, by ids that are sorted by time. */
export type HistoryTable = 'messages' | 'events' | 'received_messages'

/** The next `limit` rows with ids above `after_id` and below `before_id`, oldest first. */
export interface HistoryPage {
  after_id: string
  before_id: string
  limit: number
}

/** The columns that decide whether a message is finished, and what its removal changes. */
type FinishedMessage = Pick<
  MessageRow,
  | 'id'
  | 'workspace_id'
  | 'channel'
  | 'livemode'
  | 'status'
  | 'error_code'
  | 'bulk_id'
  | 'credits_used'
  | 'credits_refunded'
  | 'created_at'
>

/** The entries of one message in the ledger. */
interface Booked {
  charged: number
  refunded: number
  is_held: boolean
  /** The newest refund. */
  refund_seq: number
}

/** The maximum distance of the ids of an event and of its deliveries, which one transaction makes. */
const SKEW_MS = 60 * 60_000

/** Above this number of deliveries in the time of a page of events, the events wait for the next look. */
const DELIVERIES_MAX = 5_000

const NOTHING_BOOKED: Booked = { charged: 0, refunded: 0, is_held: false, refund_seq: 0 }

/**
 * Removes finished history. Every removal checks its rows again under a lock, so that a row that is no longer finished
 * stays. The ledger does not change.
 */
export function historyStore(db: Db, tables: Tables, dialect: StoreDialect) {
  const { locked } = dialect
  const { writes: files } = fileStore(db, tables, dialect)
  const { writes: recipients } = recipientIndexStore(db, tables, dialect)
  const { workspaces, messages, message_queue: queue, message_attempts, message_events } = tables
  const { message_parts, message_counts: counts, bulks, bulk_rejections: rejections } = tables
  const { webhooks, events, deliveries, delivery_attempts: tries } = tables
  const { received_messages: received, ledger_entries: entries } = tables
  const { credit_holds: holds, credit_lots: lots, removed_history: removed } = tables
  const { event_log: log, event_log_state: log_states } = tables

  const within = (id: PgColumn, { after_id, before_id }: Omit<HistoryPage, 'limit'>) =>
    and(gt(id, after_id), lt(id, before_id))
  /** SQL: whether nothing can change the status of a message, or give its credits back, any more. */
  const isFinal = () =>
    or(
      inArray(messages.status, ['delivered', 'read', 'failed']),
      and(eq(messages.status, 'sent'), eq(messages.accepted, true)),
    )
  const ofWebhooks = (workspaceId: string) =>
    inArray(
      deliveries.webhook_id,
      db.select({ id: webhooks.id }).from(webhooks).where(eq(webhooks.workspace_id, workspaceId)),
    )

  /** The ids among these that the workspace's rows of a table have in a column. */
  async function found(
    { workspace_id, column }: { workspace_id: PgColumn; column: PgColumn },
    workspaceId: string,
    ids: readonly string[],
  ): Promise<Set<unknown>> {
    if (ids.length === 0) return new Set()
    const some = and(eq(workspace_id, workspaceId), inArray(column, filledUp(ids)))
    const rows = await db.selectDistinct({ id: column }).from(column.table).where(some)
    return new Set(rows.map(({ id }) => id))
  }
  const queued = { workspace_id: queue.workspace_id, column: queue.message_id }
  const held = { workspace_id: holds.workspace_id, column: holds.message_id }
  const delivered = { workspace_id: deliveries.workspace_id, column: deliveries.message_id }
  const bulked = { workspace_id: bulks.workspace_id, column: bulks.id }

  /** What the ledger has about these messages or bulks. */
  async function bookedAbout(
    workspaceId: string,
    type: 'message' | 'bulk',
    ids: readonly string[],
  ): Promise<Map<string, Booked>> {
    const { ref_id, ref_type, kind, amount, seq } = entries
    const mine = eq(entries.workspace_id, workspaceId)
    const some = and(mine, inArray(ref_id, filledUp(ids)), eq(ref_type, type))
    const rows = await db
      .select({ ref_id, kind, amount, seq })
      .from(entries)
      .where(and(mine, isIndexed(db, entries, [seq], some)))
    const all = new Map<string, Booked>()
    for (const row of rows) {
      const booked = all.get(row.ref_id) ?? { ...NOTHING_BOOKED }
      all.set(row.ref_id, booked)
      if (row.kind === 'send') booked.charged -= row.amount
      if (row.kind === 'hold') booked.is_held = true
      if (row.kind === 'refund') {
        booked.refunded += row.amount
        booked.refund_seq = Math.max(booked.refund_seq, row.seq)
      }
    }
    return all
  }

  /**
   * The last entry that the open lots include; null without open lots. A lot finds the debit of a refund of a bulk
   * through the message, so such a message stays until the lots include its refund.
   */
  async function countedSeq(workspaceId: string): Promise<number | null> {
    const open = and(eq(lots.workspace_id, workspaceId), isNull(lots.ended_at))
    const rows = await db.select({ seq: lots.counted_seq }).from(lots).where(open)
    return rows.length === 0 ? null : Math.min(...rows.map(({ seq }) => seq))
  }

  async function note(
    workspaceId: string,
    last_id: string,
    sums: Partial<typeof removed.$inferInsert>,
    at: Date,
  ): Promise<void> {
    const row = {
      ...{ workspace_id: workspaceId, last_id, messages: 0, bulks: 0, updated_at: at },
      ...{ charged: 0, refunded: 0, charged_bulks: 0, ...sums },
    }
    await db
      .insert(removed)
      .values(row)
      .onConflictDoUpdate({
        target: [removed.workspace_id],
        set: {
          last_id: sql`case when ${removed.last_id} > excluded.last_id then ${removed.last_id} else excluded.last_id end`,
          messages: sql`${removed.messages} + excluded.messages`,
          bulks: sql`${removed.bulks} + excluded.bulks`,
          charged: sql`${removed.charged} + excluded.charged`,
          refunded: sql`${removed.refunded} + excluded.refunded`,
          charged_bulks: sql`${removed.charged_bulks} + excluded.charged_bulks`,
          updated_at: at,
        },
      })
  }

  /** Takes messages out of the totals, and removes the totals of periods that have no messages left. */
  async function uncount(gone: readonly FinishedMessage[]): Promise<void> {
    const key = [counts.workspace_id, counts.unit, counts.since, counts.channel, counts.status]
    const periods = new Map<string, CountChange>()
    // In the order of the keys, as in a settlement.
    for (const change of countRemoved(gone)) {
      await db
        .insert(counts)
        .values(change)
        .onConflictDoUpdate({
          target: key,
          set: {
            count: sql`${counts.count} + excluded.count`,
            test_count: sql`${counts.test_count} + excluded.test_count`,
          },
        })
      const { unit, since } = change
      if (unit !== 'all') periods.set(`${unit} ${since.toISOString()}`, change)
    }
    for (const { workspace_id, unit, since } of periods.values()) {
      const period = and(
        eq(counts.workspace_id, workspace_id),
        eq(counts.unit, unit),
        between(counts.since, since, new Date(since.getTime() + OF_SETTLEMENTS_MS)),
      )
      const rows = await locked(
        db
          .select()
          .from(counts)
          .where(period)
          .orderBy(...key),
      )
      if (!isWithoutMessages(rows)) continue
      for (const row of rows) {
        const [mine, at] = [eq(counts.channel, row.channel), eq(counts.since, row.since)]
        await db.delete(counts).where(and(period, at, mine, eq(counts.status, row.status)))
      }
    }
  }

  return {
    reads: {
      /** Workspaces with ids above `after`, sorted by id. This is the only query here that names no workspace. */
      async due(after: string, limit: number): Promise<string[]> {
        const { id } = workspaces
        const rows = db.select({ id }).from(workspaces).where(gt(id, after))
        return (await rows.orderBy(asc(id)).limit(limit)).map((row) => row.id)
      },
      /** The ids of one page. */
      async ids(workspaceId: string, table: HistoryTable, page: HistoryPage): Promise<string[]> {
        const t = tables[table]
        const rows = db
          .select({ id: t.id })
          .from(t)
          .where(and(eq(t.workspace_id, workspaceId), within(t.id, page)))
        return (await rows.orderBy(asc(t.id)).limit(page.limit)).map(({ id }) => id)
      },
      /** The ids of the next bulks, and whether all messages of each are finished, and unchanged since `until`. */
      async bulks(
        workspaceId: string,
        page: HistoryPage,
        until: Date,
      ): Promise<{ id: string; is_finished: boolean }[]> {
        const open = db
          .select({ n: sql`1` })
          .from(dialect.messagesByBulk)
          .where(
            and(
              eq(messages.workspace_id, workspaceId),
              eq(messages.bulk_id, bulks.id),
              or(
                gte(messages.id, page.before_id),
                gte(messages.updated_at, until),
                sql`not ${isFinal()}`,
              ),
            ),
          )
        const is_open = sql<boolean | number>`exists ${open}`
        const rows = await db
          .select({ id: bulks.id, is_open })
          .from(bulks)
          .where(and(eq(bulks.workspace_id, workspaceId), within(bulks.id, page)))
          .orderBy(asc(bulks.id))
          .limit(page.limit)
        return rows.map(({ id, is_open }) => ({ id, is_finished: !is_open }))
      },
      /** The webhooks of a workspace, hidden ones too. */
      async webhooks(workspaceId: string): Promise<string[]> {
        const mine = eq(webhooks.workspace_id, workspaceId)
        const rows = await db.select({ id: webhooks.id }).from(webhooks).where(mine)
        return rows.map(({ id }) => id)
      },
      /** The ids of a page of the deliveries to one webhook. */
      async deliveries(
        workspaceId: string,
        webhookId: string,
        page: HistoryPage,
      ): Promise<string[]> {
        const { id, workspace_id, webhook_id } = deliveries
        const mine = and(eq(workspace_id, workspaceId), eq(webhook_id, webhookId))
        const rows = db
          .select({ id })
          .from(deliveries)
          .where(and(mine, within(id, page)))
        return (await rows.orderBy(asc(id)).limit(page.limit)).map((row) => row.id)
      },
    },
    writes: {
      /**
       * Removes those of these messages that are finished and unchanged since `until`, with all that hangs on them, and
       * counts them out of the totals. Kept are messages in the queue, with a hold, a delivery, or a bulk that exists, and
       * messages that do not agree with the ledger. Returns the number of removed messages.
       */
      async removeMessages(
        workspaceId: string,
        messageIds: readonly string[],
        { until, at }: { until: Date; at: Date },
      ): Promise<number> {
        if (messageIds.length === 0) return 0
        const { id, workspace_id, channel, livemode, status, error_code, bulk_id } = messages
        const { credits_used, credits_refunded, created_at } = messages
        const mine = eq(workspace_id, workspaceId)
        const over = and(
          ...[mine, inArray(id, filledUp(messageIds))],
          ...[lt(messages.updated_at, until), isFinal()],
        )
        // Locked in the same order as in a settlement, which then sees no message.
        const over_rows: FinishedMessage[] = await locked(
          db
            .select({
              ...{ id, workspace_id, channel, livemode, status, error_code, bulk_id },
              ...{ credits_used, credits_refunded, created_at },
            })
            .from(messages)
            .where(over)
            .orderBy(asc(id)),
        )
        if (over_rows.length === 0) return 0
        const ids = over_rows.map((row) => row.id)
        const kept = new Set<unknown>()
        for (const where of [queued, held, delivered]) {
          for (const one of await found(where, workspaceId, ids)) kept.add(one)
        }
        const bulk_ids = over_rows.flatMap((row) => row.bulk_id ?? [])
        const open_bulks = await found(bulked, workspaceId, bulk_ids)
        const booked = await bookedAbout(workspaceId, 'message', ids)
        const counted_seq = await countedSeq(workspaceId)
        const gone = over_rows.filter((row) => {
          if (kept.has(row.id) || (row.bulk_id !== null && open_bulks.has(row.bulk_id)))
            return false
          const own = booked.get(row.id) ?? NOTHING_BOOKED
          if (row.bulk_id !== null && counted_seq !== null && own.refund_seq > counted_seq)
            return false
          return agrees(row, own)
        })
        const last = gone.at(-1)
        if (!last) return 0
        const gone_ids = gone.map((row) => row.id)
        const some = filledUp(gone_ids)
        await db.delete(messages).where(and(mine, inArray(id, some)))
        for (const t of [message_attempts, message_events, message_parts]) {
          await db
            .delete(t)
            .where(and(eq(t.workspace_id, workspaceId), inArray(t.message_id, some)))
        }
        await files.removeOf(workspaceId, gone_ids)
        await recipients.forget(workspaceId, gone_ids)
        await uncount(gone)
        const sums = gone.map((row) => booked.get(row.id) ?? NOTHING_BOOKED)
        await note(
          workspaceId,
          last.id,
          {
            messages: gone.length,
            charged: sums.reduce((sum, one) => sum + one.charged, 0),
            refunded: sums.reduce((sum, one) => sum + one.refunded, 0),
          },
          at,
        )
        return gone.length
      },
      /**
       * Removes at most `limit` rejected recipients of a bulk, or the bulk if it has none left; its messages can then be
       * removed. A bulk that does not agree with the ledger stays. Returns whether a call can remove more.
       */
      async removeBulk(
        workspaceId: string,
        bulkId: string,
        { limit, at }: { limit: number; at: Date },
      ): Promise<boolean> {
        const mine = and(eq(bulks.workspace_id, workspaceId), eq(bulks.id, bulkId))
        const [bulk] = await locked(db.select().from(bulks).where(mine))
        if (!bulk) return false
        const booked = await bookedAbout(workspaceId, 'bulk', [bulkId])
        const { charged } = booked.get(bulkId) ?? NOTHING_BOOKED
        if (bulk.livemode && charged !== bulk.credits_used) return false
        const { workspace_id, bulk_id, position } = rejections
        const theirs = and(eq(workspace_id, workspaceId), eq(bulk_id, bulkId))
        const next = db.select({ position }).from(rejections).where(theirs)
        const some = await next.orderBy(asc(position)).limit(limit)
        const last = some.at(-1)
        if (last) {
          await db.delete(rejections).where(and(theirs, lte(position, last.position)))
          if (some.length === limit) return true
        }
        await db.delete(bulks).where(mine)
        await note(workspaceId, bulkId, { bulks: 1, charged_bulks: charged }, at)
        return false
      },
      /** Removes those of these deliveries that have ended, and are unchanged since `until`. Returns their number. */
      async removeDeliveries(
        workspaceId: string,
        webhookId: string,
        deliveryIds: readonly string[],
        until: Date,
      ): Promise<number> {
        if (deliveryIds.length === 0) return 0
        const { id, workspace_id, webhook_id, status, updated_at } = deliveries
        const gone = await db
          .delete(deliveries)
          .where(
            and(
              ...[eq(workspace_id, workspaceId), eq(webhook_id, webhookId)],
              ...[inArray(id, filledUp(deliveryIds)), ne(status, 'pending'), lt(updated_at, until)],
            ),
          )
          .returning({ id })
        if (gone.length > 0) {
          const theirs = inArray(tries.delivery_id, filledUp(gone.map((row) => row.id)))
          await db.delete(tries).where(and(eq(tries.workspace_id, workspaceId), theirs))
        }
        return gone.length
      },
      /** Removes those of these events, sorted by id, that have no delivery. Returns their number. */
      async removeEvents(workspaceId: string, eventIds: readonly string[]): Promise<number> {
        const [first, last] = [eventIds[0], eventIds.at(-1)]
        if (first === undefined || last === undefined) return 0
        const { id, workspace_id, event_id } = deliveries
        const left = await db
          .select({ event_id })
          .from(deliveries)
          .where(
            and(
              ...[eq(workspace_id, workspaceId), ofWebhooks(workspaceId)],
              gte(id, idFloor(new Date(timeOfId(first).getTime() - SKEW_MS))),
              lt(id, idFloor(new Date(timeOfId(last).getTime() + SKEW_MS))),
            ),
          )
          .limit(DELIVERIES_MAX)
        if (left.length === DELIVERIES_MAX) return 0
        const open = new Set(left.map((row) => row.event_id))
        const over = eventIds.filter((one) => !open.has(one))
        if (over.length === 0) return 0
        const some = and(eq(events.workspace_id, workspaceId), inArray(events.id, filledUp(over)))
        return (await db.delete(events).where(some).returning({ id: events.id })).length
      },
      /** Removes those of these received messages that have no delivery. Returns their number. */
      async removeReceived(workspaceId: string, ids: readonly string[]): Promise<number> {
        const open = await found(delivered, workspaceId, ids)
        const over = ids.filter((id) => !open.has(id))
        if (over.length === 0) return 0
        const some = and(
          eq(received.workspace_id, workspaceId),
          inArray(received.id, filledUp(over)),
        )
        return (await db.delete(received).where(some).returning({ id: received.id })).length
      },
      /**
       * Removes the oldest positions of the log whose events were removed, at most `limit`; a reader with an older position
       * learns that events are missing. Returns their number. Locks the log until the transaction ends.
       */
      async removePositions(limit: number): Promise<number> {
        const oldest = await db
          .select({ position: log.position, event_id: events.id })
          .from(log)
          .leftJoin(
            events,
            and(eq(events.workspace_id, log.workspace_id), eq(events.id, log.event_id)),
          )
          .orderBy(asc(log.position))
          .limit(limit)
        const stop = oldest.findIndex((row) => row.event_id !== null)
        const gone = stop === -1 ? oldest : oldest.slice(0, stop)
        const last = gone.at(-1)
        if (!last) return 0
        await db.delete(log).where(lte(log.position, last.position))
        await db
          .update(log_states)
          .set({ since: last.position })
          .where(lt(log_states.since, last.position))
        return gone.length
      },
    },
  }
}

/** Whether the ledger has exactly what the message says. What differs stays, so that `verifyLedger` can name it. */
function agrees(message: FinishedMessage, { charged, refunded, is_held }: Booked): boolean {
  const isCharged = message.livemode && message.bulk_id === null && !is_held
  return charged === (isCharged ? message.credits_used : 0) && refunded === message.credits_refunded
}
