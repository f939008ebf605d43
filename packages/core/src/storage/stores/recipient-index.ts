import { and, asc, desc, eq, gt, gte, inArray, lt, lte, max, type SQL, sql, sum } from 'drizzle-orm'
import { ERASED } from '../../contract/resources/message.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { StoreDialect } from './queries.ts'

/** A recipient with a larger part of the messages, one in this number, is found faster by reading the history. */
const RARE = 16

/** Numbers of messages. */
export interface IndexSizes {
  /** Of a batch. */
  batch: number
  /** The maximum of a segment. */
  segment_max: number
}

/** Where to find the messages of one recipient. */
export interface IndexedRecipient {
  /** SQL: ids, among which are those of all messages to the recipient. */
  ids: SQL
}

/** The state of the index of a workspace in one snapshot. */
export interface IndexState {
  /** The number of messages in segments, and the last id of these. */
  indexed: number
  last_id: string | null
  /** The number of messages of the workspace, and of those after `last_id`. */
  total: number
  newer: number
  /** The number of messages up to `last_id` that are in no segment; a removed one of these is counted until the next comparison. */
  late: number
}

/**
 * Look-ups in the index of messages by recipient. A message that is committed after its segment was written, with an id of
 * the segment, is not in it. The stored totals show this: they change in the transaction of each new message. Until the
 * sweeper has added the message, lists read the history.
 */
export function recipientIndex(
  db: Db,
  tables: Tables,
  { bucketOf }: Pick<StoreDialect, 'bucketOf'>,
) {
  const { recipient_segments: segments, recipient_entries: entries } = tables
  const { messages: t, message_counts: counts } = tables

  const total = (workspaceId: string) =>
    db
      .select({ n: sql`cast(coalesce(sum(${counts.count}), 0) as bigint)` })
      .from(counts)
      .where(and(eq(counts.workspace_id, workspaceId), eq(counts.unit, 'all')))

  /** SQL: the ids of entries that have the bucket of the recipient. `cross join` keeps SQLite from reading all entries first. */
  function found(workspaceId: string, recipient: string) {
    const bucket = sql`(select ${bucketOf(sql`cast(${recipient} as text)`)})`
    const mine = and(
      eq(segments.workspace_id, workspaceId),
      eq(entries.workspace_id, workspaceId),
      eq(entries.segment, segments.number),
      eq(entries.bucket, bucket),
    )
    return db
      .select({ id: sql`${entries.message_id}`.as('id') })
      .from(segments)
      .crossJoin(entries)
      .where(mine)
  }

  /** One statement, so that all numbers are of one snapshot. `found` is counted up to the limit for a rare recipient. */
  async function stateOf(
    workspaceId: string,
    recipient: string | null,
  ): Promise<IndexState & { found: number }> {
    const has = db
      .select({
        indexed: sum(segments.count).as('indexed'),
        last_id: max(segments.last_id).as('last_id'),
      })
      .from(segments)
      .where(eq(segments.workspace_id, workspaceId))
      .as('has')
    const newer = db
      .select({ n: rowCount })
      .from(t)
      .where(and(eq(t.workspace_id, workspaceId), gt(t.id, sql`has.last_id`)))
    const some = sql`select 1 from (${found(workspaceId, recipient ?? '')}) entry limit (${total(workspaceId)}) / ${sql.raw(`${RARE}`)} + 1`
    const [state] = await db
      .select({
        indexed: sql<number>`cast(coalesce(has.indexed, 0) as bigint)`,
        last_id: sql<string | null>`has.last_id`,
        total: sql<number>`(${total(workspaceId)})`,
        newer: sql<number>`case when has.last_id is null then 0 else (${newer}) end`,
        found:
          recipient === null
            ? sql<number>`0`
            : sql<number>`case when has.last_id is null then 0 else (select ${rowCount} from (${some}) rare) end`,
      })
      .from(has)
    const { indexed, total: all, newer: rest } = state ?? NOTHING
    return { ...(state ?? NOTHING), late: all - indexed - rest }
  }

  return {
    stateOf: (workspaceId: string): Promise<IndexState> => stateOf(workspaceId, null),
    /** Where to find the messages of a recipient; null if only the history has them, or is read faster. */
    async find(workspaceId: string, recipient: string): Promise<IndexedRecipient | null> {
      // Erased messages have entries of their earlier recipients.
      if (recipient === ERASED) return null
      const state = await stateOf(workspaceId, recipient)
      const { last_id, found: n } = state
      if (last_id === null || state.late !== 0 || n > state.total / RARE) return null
      const newer = db
        .select({ id: t.id })
        .from(t)
        .where(and(eq(t.workspace_id, workspaceId), gt(t.id, last_id), eq(t.recipient, recipient)))
      const ids = sql`select id from (${found(workspaceId, recipient)}) stored union all select id from (${newer}) newer`
      return { ids: sql`(with known(id) as materialized (${ids}) select id from known)` }
    },
  }
}

const NOTHING = { indexed: 0, last_id: null, total: 0, newer: 0, found: 0 }

/** The stores that write the index. */
export function recipientIndexStore(
  db: Db,
  tables: Tables,
  dialect: Pick<StoreDialect, 'bucketOf' | 'hold'>,
) {
  const { bucketOf, hold } = dialect
  const { recipient_segments: segments, recipient_entries: entries } = tables
  const { messages: t, message_counts: counts } = tables
  const { stateOf } = recipientIndex(db, tables, dialect)

  const within = (workspaceId: string, { after, last }: { after: string; last: string }) =>
    and(eq(t.workspace_id, workspaceId), gt(t.id, after), lte(t.id, last))

  /** Adds the messages of a range that have no entry; returns their number. */
  async function add(
    workspaceId: string,
    segment: number,
    range: { after: string; last: string },
  ): Promise<number> {
    const bucket = bucketOf(t.recipient).as('bucket')
    const rows = db
      .select({
        workspace_id: t.workspace_id,
        segment: sql<number>`cast(${segment} as integer)`.as('segment'),
        bucket,
        message_id: t.id,
      })
      .from(t)
      .where(within(workspaceId, range))
      .orderBy(sql`3`, sql`4`)
    const added = db.insert(entries).select(rows).onConflictDoNothing()
    return (await added.returning({ segment: entries.segment })).length
  }

  /** The number of messages of a range that have an entry in its segment. */
  async function entered(
    workspaceId: string,
    segment: number,
    range: { after: string; last: string },
  ): Promise<number> {
    const known = db
      .select({ id: entries.message_id })
      .from(entries)
      .where(and(eq(entries.workspace_id, workspaceId), eq(entries.segment, segment)))
    const has = and(within(workspaceId, range), inArray(t.id, known))
    const [found] = await db.select({ n: rowCount }).from(t).where(has)
    return found?.n ?? 0
  }

  /** Notes the number of messages of a segment, and removes a segment without messages unless it is kept. */
  async function keepCount(
    workspaceId: string,
    number: number,
    count: number,
    isKept = false,
  ): Promise<void> {
    const one = and(eq(segments.workspace_id, workspaceId), eq(segments.number, number))
    if (count > 0 || isKept) {
      await db.update(segments).set({ count }).where(one)
      return
    }
    await db.delete(segments).where(one)
    const theirs = and(eq(entries.workspace_id, workspaceId), eq(entries.segment, number))
    await db.delete(entries).where(theirs)
  }

  const named = (workspaceId: string) => `recipients ${workspaceId}`

  return {
    reads: {
      /** Workspaces with at least `messages` messages and their numbers, sorted by id, with ids above `after`. */
      async due({
        messages,
        after,
        limit,
      }: {
        messages: number
        after: string
        limit: number
      }): Promise<{ workspace_id: string; total: number }[]> {
        const n = sql<number>`cast(sum(${counts.count}) as bigint)`
        return db
          .select({ workspace_id: counts.workspace_id, total: n })
          .from(counts)
          .where(and(gt(counts.workspace_id, after), sql`${counts.unit} = 'all'`))
          .groupBy(counts.workspace_id)
          .having(sql`sum(${counts.count}) >= ${messages}`)
          .orderBy(asc(counts.workspace_id))
          .limit(limit)
      },
      /** The state of the index of a workspace; null if nothing is indexed. */
      async state(workspaceId: string): Promise<IndexState | null> {
        const state = await stateOf(workspaceId)
        return state.last_id === null ? null : state
      },
    },
    writes: {
      /**
       * Adds the next batch to the index: the oldest messages without a segment, of which all have ids below `before_id`. Returns
       * whether there was a whole batch.
       */
      async extend(
        workspaceId: string,
        before_id: string,
        { batch, segment_max }: IndexSizes,
      ): Promise<boolean> {
        await hold(db, named(workspaceId))
        const own = eq(segments.workspace_id, workspaceId)
        const [current] = await db
          .select()
          .from(segments)
          .where(own)
          .orderBy(desc(segments.number))
          .limit(1)
        const after = current?.last_id ?? ''
        const [last] = await db
          .select({ id: t.id })
          .from(t)
          .where(and(eq(t.workspace_id, workspaceId), gt(t.id, after), lt(t.id, before_id)))
          .orderBy(asc(t.id))
          .limit(1)
          .offset(batch - 1)
        if (!last) return false
        const isFull = !current || current.count + batch > segment_max
        const number = isFull ? (current?.number ?? -1) + 1 : current.number
        const count = await add(workspaceId, number, { after, last: last.id })
        await db
          .insert(segments)
          .values({ workspace_id: workspaceId, number, last_id: last.id, count })
          .onConflictDoUpdate({
            target: [segments.workspace_id, segments.number],
            set: { last_id: last.id, count: sql`${segments.count} + excluded.count` },
          })
        return true
      },
      /**
       * Compares a segment, by default the last, with its messages, and adds those that were committed later. Returns the
       * number of the segment before it; null if there is none, or no other segment needs it.
       */
      async compare(workspaceId: string, number: number | null): Promise<number | null> {
        await hold(db, named(workspaceId))
        const own = eq(segments.workspace_id, workspaceId)
        const [segment, previous] = await db
          .select()
          .from(segments)
          .where(and(own, number === null ? undefined : lte(segments.number, number)))
          .orderBy(desc(segments.number))
          .limit(2)
        if (!segment) return null
        const range = { after: previous?.last_id ?? '', last: segment.last_id }
        const stored = db.select({ n: rowCount }).from(t).where(within(workspaceId, range))
        const n = (await stored)[0]?.n ?? 0
        if (n !== segment.count) {
          await add(workspaceId, segment.number, range)
          const count = await entered(workspaceId, segment.number, range)
          await db
            .update(segments)
            .set({ count })
            .where(and(own, eq(segments.number, segment.number)))
        }
        if (!previous || (await stateOf(workspaceId)).late === 0) return null
        return previous.number
      },
      /**
       * Counts the messages of a segment again after some were removed, and removes a segment without messages. `keep` leaves its
       * entries, for messages that come back.
       */
      async recount(workspaceId: string, number: number, keep?: 'keep'): Promise<void> {
        await hold(db, named(workspaceId))
        const own = eq(segments.workspace_id, workspaceId)
        const [segment, previous] = await db
          .select()
          .from(segments)
          .where(and(own, lte(segments.number, number)))
          .orderBy(desc(segments.number))
          .limit(2)
        if (segment?.number !== number) return
        const range = { after: previous?.last_id ?? '', last: segment.last_id }
        const count = await entered(workspaceId, number, range)
        await keepCount(workspaceId, number, count, keep === 'keep')
      },
      /**
       * Takes removed messages out of the counts of their segments, and removes segments without messages. The bucket of an
       * erased message is unknown, so its entry stays until then; no list finds a message for it.
       */
      async forget(workspaceId: string, messageIds: readonly string[]): Promise<void> {
        await hold(db, named(workspaceId))
        const own = eq(segments.workspace_id, workspaceId)
        let rest = messageIds.toSorted()
        while (rest[0] !== undefined) {
          const [segment] = await db
            .select()
            .from(segments)
            .where(and(own, gte(segments.last_id, rest[0])))
            .orderBy(asc(segments.number))
            .limit(1)
          if (!segment) return
          const { number, last_id } = segment
          const later = rest.filter((id) => id > last_id)
          await keepCount(workspaceId, number, segment.count - (rest.length - later.length))
          rest = later
        }
      },
    },
  }
}
