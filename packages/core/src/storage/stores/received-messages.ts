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
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Channel } from '../../contract/resources/content.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { MessageRow, ReceivedMessageRow, ReceivedPartRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import type { CountChange } from '../../rules/count-changes.ts'
import { idFloor } from '../../runtime/runtime.ts'
import { blocksOf, filledUp, isBelow, removeOldest, type StoreDialect } from './queries.ts'

/** Filters of a list. Bounds are inclusive. */
export interface ReceivedFilter {
  channel?: Channel | undefined
  /** The author's number or address. */
  sender?: string | undefined
  /** The number or address that received the message. */
  recipient?: string | undefined
  /** Only replies to messages of test keys. */
  livemode?: false | undefined
  from?: Date | undefined
  until?: Date | undefined
}

/** The common columns of the parts of one text. */
export type PartedText = Pick<
  ReceivedPartRow,
  'provider' | 'sender' | 'recipient' | 'reference' | 'total'
>

/** The number of messages in which one page of conversations is searched: one author may have written all of them. */
export const AUTHORS_SEARCHED = 500

export function receivedMessageStore(
  db: Db,
  tables: Tables,
  { present }: Pick<StoreDialect, 'present'>,
) {
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
    is_bulk: false,
    unknown_since: null,
    held_by: null,
  })

  return {
    reads: {
      async byId(workspaceId: string, id: string): Promise<ReceivedMessageRow | null> {
        const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, id))
        return (await db.select().from(t).where(mine))[0] ?? null
      },
      /** Returns the newest first. */
      async list(
        workspaceId: string,
        filter: ReceivedFilter,
        { limit, offset, after }: Slice,
      ): Promise<ReceivedMessageRow[]> {
        // Ids are UUIDv7: their order is the order of creation, and the primary key serves it without a sort.
        const found = db
          .select()
          .from(t)
          .where(and(matching(workspaceId, filter), isBelow(t.id, after)))
        return found.orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      async count(workspaceId: string, filter: ReceivedFilter): Promise<number> {
        const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
        return (await found)[0]?.n ?? 0
      },
      /**
       * The newest message of each author on a channel, newest first. Searches only the next `AUTHORS_SEARCHED` messages after the
       * position; `searched_to` is the id of the last one of them, and null if there are fewer.
       */
      async newestOfAuthors(
        workspaceId: string,
        filter: Pick<ReceivedFilter, 'livemode'>,
        { limit, after }: Pick<Slice, 'limit' | 'after'>,
      ): Promise<{ rows: ReceivedMessageRow[]; searched_to: string | null }> {
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
    },
    writes: {
      /** Returns false, and changes nothing, if the workspace already has a message with this provider id. */
      async insert(received: ReceivedMessageRow): Promise<boolean> {
        const stored = await db
          .insert(t)
          .values(received)
          .onConflictDoNothing()
          .returning({ id: t.id })
        return stored.length === 1
      },
      /** Whether one of these workspaces already has this message. */
      async isKnown(
        workspaceIds: readonly string[],
        { provider, provider_message_id }: { provider: string; provider_message_id: string },
      ): Promise<boolean> {
        const same = and(
          inArray(t.workspace_id, filledUp(workspaceIds)),
          eq(t.provider, provider),
          eq(t.provider_message_id, provider_message_id),
        )
        return (await db.select({ id: t.id }).from(t).where(same).limit(1)).length > 0
      },
      /** Whether this sender sent the keyword `help` to this recipient since that time. */
      async hasRequestedHelp(
        {
          workspace_id,
          channel,
          sender,
          recipient,
          livemode,
        }: Pick<
          ReceivedMessageRow,
          'workspace_id' | 'channel' | 'sender' | 'recipient' | 'livemode'
        >,
        since: Date,
      ): Promise<boolean> {
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
      /**
       * Queues messages that cost nothing, due at once. Call it last in a transaction, because other writers lock the same
       * counts.
       */
      async reply(replies: readonly MessageRow[], changes: readonly CountChange[]): Promise<void> {
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
              target: [
                counts.workspace_id,
                counts.unit,
                counts.since,
                counts.channel,
                counts.status,
              ],
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
    },
  }
}

/** Parts of incomplete long texts. */
function partStore(db: Db, { received_parts: t }: Tables) {
  const between = ({ provider, sender, recipient }: Omit<PartedText, 'reference' | 'total'>) =>
    and(eq(t.provider, provider), eq(t.sender, sender), eq(t.recipient, recipient))
  const of = (text: PartedText) =>
    and(between(text), eq(t.reference, text.reference), eq(t.total, text.total))
  return {
    /** The parts of a text that arrived since then, sorted by number. Number 0 marks a text that was joined already. */
    async partsOf(text: PartedText, since: Date) {
      const found = db
        .select()
        .from(t)
        .where(and(of(text), gte(t.created_at, since)))
      return found.orderBy(asc(t.number))
    },
    /** Returns false if a part with that number exists. */
    async insertPart(part: typeof t.$inferSelect) {
      const stored = db.insert(t).values(part).onConflictDoNothing().returning({ n: t.number })
      return (await stored).length === 1
    },
    async removeParts(text: PartedText) {
      await db.delete(t).where(of(text))
    },
    /** Keeps the newest `kept` parts from `sender` to `recipient`; parts of one millisecond stay together. */
    async forgetOldestParts(pair: Omit<PartedText, 'reference' | 'total'>, kept: number) {
      const at = { at: t.created_at }
      const newest = db.select(at).from(t).where(between(pair)).orderBy(desc(t.created_at))
      const [last] = await newest.limit(1).offset(kept - 1)
      if (last) await db.delete(t).where(and(between(pair), lt(t.created_at, last.at)))
    },
    /** Removes parts that arrived before that moment; returns their number. */
    async forgetParts(before: Date, limit: number) {
      const by = t.created_at
      return removeOldest(db, { from: t, by, condition: lt(by, before) }, limit)
    },
  }
}
