import {
  and,
  asc,
  desc,
  eq,
  gt,
  gte,
  inArray,
  lt,
  lte,
  notExists,
  type SQL,
  sql,
} from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { MessageRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import { idFloor } from '../../runtime/runtime.ts'
import type {
  PartedText,
  ReceivedFilter,
  ReceivedMessageReads,
  ReceivedMessageWrites,
} from '../ports/inbound.ts'
import { blocksOf, filledUp } from './batches.ts'
import type { StoreDialect } from './dialect.ts'
import { isBelow, removeOldest } from './pages.ts'

/** The number of messages in which one page of conversations is searched: one author may have written all of them. */
export const AUTHORS_SEARCHED = 500

export function receivedMessageStore(
  db: Db,
  tables: Tables,
  { present }: Pick<StoreDialect, 'present'>,
): ReceivedMessageReads & ReceivedMessageWrites {
  const { received_messages: t, messages, message_queue: queue, message_counts: counts } = tables

  /** The ids of test rows, read from their index: a search by the primary key would read all live rows. */
  function testIds(workspaceId: string): SQL {
    // The condition has the same text as in the index: with a parameter, no engine uses the index.
    const mine = and(eq(t.workspace_id, workspaceId), sql`${t.livemode} = false`)
    const ids = db.select({ id: t.id }).from(t).where(mine)
    return sql`(with test as materialized ${ids} select id from test)`
  }

  function matching(workspaceId: string, filter: ReceivedFilter) {
    const { channel, sender, recipient, livemode, from, until } = filter
    return and(
      eq(t.workspace_id, workspaceId),
      channel && eq(t.channel, channel),
      sender ? eq(t.sender, sender) : undefined,
      recipient ? eq(t.recipient, recipient) : undefined,
      from && gte(t.created_at, from),
      until && lte(t.created_at, until),
      livemode === false ? inArray(t.id, testIds(workspaceId)) : undefined,
    )
  }

  const queuedRow = ({ id, workspace_id, channel, created_at }: MessageRow) => ({
    message_id: id,
    workspace_id,
    channel,
    task: 'send' as const,
    due_at: present(created_at),
    set_at: present(created_at),
    token: null,
    attempt: 0,
    unknown_since: null,
  })

  return {
    async byId(workspaceId, id) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, id))
      return (await db.select().from(t).where(mine))[0] ?? null
    },
    async list(workspaceId, filter, { limit, offset, after }) {
      // Ids are UUIDv7: their order is the order of creation, and the primary key serves it without a sort.
      const found = db
        .select()
        .from(t)
        .where(and(matching(workspaceId, filter), isBelow(t.id, after)))
      return found.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId, filter) {
      const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
      return (await found)[0]?.n ?? 0
    },
    async newestOfAuthors(workspaceId, filter, { limit, after }) {
      const mine = and(matching(workspaceId, filter), isBelow(t.id, after))
      const ids = db.select({ id: t.id }).from(t).where(mine).orderBy(desc(t.id))
      const [last] = await ids.limit(1).offset(AUTHORS_SEARCHED - 1)
      const later = alias(t, 'later')
      const isNewer = and(
        eq(later.workspace_id, workspaceId),
        eq(later.channel, t.channel),
        eq(later.sender, t.sender),
        gt(later.id, t.id),
        filter.livemode === false ? eq(later.livemode, false) : undefined,
      )
      const hasLater = db.select({ id: later.id }).from(later).where(isNewer)
      const found = and(mine, last && gte(t.id, last.id), notExists(hasLater))
      const rows = await db.select().from(t).where(found).orderBy(desc(t.id)).limit(limit)
      return { rows, searched_to: last?.id ?? null }
    },
    async insert(received) {
      const stored = await db
        .insert(t)
        .values(received)
        .onConflictDoNothing()
        .returning({ id: t.id })
      return stored.length === 1
    },
    async isKnown(workspaceIds, { provider, provider_message_id }) {
      const same = and(
        inArray(t.workspace_id, filledUp(workspaceIds)),
        eq(t.provider, provider),
        eq(t.provider_message_id, provider_message_id),
      )
      return (await db.select({ id: t.id }).from(t).where(same).limit(1)).length > 0
    },
    async hasRequestedHelp({ workspace_id, channel, sender, recipient, livemode }, since) {
      const same = and(
        eq(t.workspace_id, workspace_id),
        gte(t.id, idFloor(since)),
        eq(t.channel, channel),
        eq(t.sender, sender),
        eq(t.recipient, recipient),
        eq(t.keyword, 'help'),
        eq(t.livemode, livemode),
      )
      return (await db.select({ id: t.id }).from(t).where(same).limit(1)).length > 0
    },
    async reply(replies, changes) {
      for (const block of blocksOf(replies)) {
        await db.insert(messages).values(block)
        await db.insert(queue).values(block.map(queuedRow))
      }
      // The counts are changed one by one in the order of the keys, because other transactions lock the same rows.
      for (const change of changes) {
        await db
          .insert(counts)
          .values(change)
          .onConflictDoUpdate({
            target: [counts.workspace_id, counts.unit, counts.since, counts.channel, counts.status],
            set: {
              count: sql`${counts.count} + excluded.count`,
              test_count: sql`${counts.test_count} + excluded.test_count`,
              first_id: sql`case when ${counts.first_id} <= excluded.first_id then ${counts.first_id}
                else coalesce(excluded.first_id, ${counts.first_id}) end`,
              last_id: sql`case when ${counts.last_id} >= excluded.last_id then ${counts.last_id}
                else coalesce(excluded.last_id, ${counts.last_id}) end`,
            },
          })
      }
    },
    ...partStore(db, tables),
  }
}

/** Parts of incomplete long texts. */
function partStore(db: Db, { received_parts: t }: Tables) {
  const between = ({ provider, sender, recipient }: Omit<PartedText, 'reference' | 'total'>) =>
    and(eq(t.provider, provider), eq(t.sender, sender), eq(t.recipient, recipient))
  const of = (text: PartedText) =>
    and(between(text), eq(t.reference, text.reference), eq(t.total, text.total))
  return {
    async partsOf(text: PartedText, since: Date) {
      const found = db
        .select()
        .from(t)
        .where(and(of(text), gte(t.created_at, since)))
      return found.orderBy(asc(t.number))
    },
    async insertPart(part: typeof t.$inferSelect) {
      const stored = db.insert(t).values(part).onConflictDoNothing().returning({ n: t.number })
      return (await stored).length === 1
    },
    async removeParts(text: PartedText) {
      await db.delete(t).where(of(text))
    },
    async forgetOldestParts(pair: Omit<PartedText, 'reference' | 'total'>, kept: number) {
      const at = { at: t.created_at }
      const newest = db.select(at).from(t).where(between(pair)).orderBy(desc(t.created_at))
      const [last] = await newest.limit(1).offset(kept - 1)
      if (last) await db.delete(t).where(and(between(pair), lt(t.created_at, last.at)))
    },
    async forgetParts(before: Date, limit: number) {
      const by = t.created_at
      return removeOldest(db, { from: t, by, condition: lt(by, before) }, limit)
    },
  }
}
