import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  lt,
  lte,
  type SQL,
  sql,
} from 'drizzle-orm'
import { units } from '../../contract/fields/units.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { MessageRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type {
  MessageFilter,
  MessagePartReads,
  MessageReads,
  MessageWrites,
} from '../ports/messages.ts'
import { filledUp } from './batches.ts'
import { removeOldest } from './pages.ts'

/** Past this offset, sorting the ids costs more than reading through the messages. */
const OFFSET_BY_KIND_MAX = 10_000

/** The number of messages of a kind that may be added between the count and the query. */
const CHANGED_MEANWHILE_MAX = 100

export function messageStore(
  db: Db,
  tables: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
): MessageReads & MessageWrites {
  const { messages: t, message_attempts: attempts, message_events: events } = tables
  const { idempotency_keys: answers } = tables

  // Spelled as in the index: with a parameter, no engine uses it.
  const isTest = sql`${t.livemode} = false`

  function matching(workspaceId: string, filter: MessageFilter) {
    return and(
      eq(t.workspace_id, workspaceId),
      filter.channel && eq(t.channel, filter.channel),
      filter.status && eq(t.status, filter.status),
      filter.from && gte(t.created_at, filter.from),
      filter.until && lte(t.created_at, filter.until),
      filter.bulk_id ? eq(t.bulk_id, filter.bulk_id) : undefined,
      filter.recipient ? eq(t.recipient, filter.recipient) : undefined,
      filter.livemode === false ? isTest : undefined,
      filter.before_id ? lt(t.id, filter.before_id) : undefined,
    )
  }

  /** The kinds of messages that pass the filter, with their counts, which each change of a status updates. */
  async function kindsOf(
    workspaceId: string,
    { channel, status, livemode }: MessageFilter,
  ): Promise<Kind[]> {
    const { message_counts: counts } = tables
    const count = livemode === false ? counts.test_count : counts.count
    const mine = and(
      eq(counts.workspace_id, workspaceId),
      channel && eq(counts.channel, channel),
      status && eq(counts.status, status),
      gt(count, 0),
    )
    const kind = { channel: counts.channel, status: counts.status, count }
    return db.select(kind).from(counts).where(mine)
  }

  /**
   * SQL: the ids on a page of messages of these kinds. One subquery for each kind reads the index by kind in its order,
   * so a few rows among a million are found at once.
   */
  function idsOf(workspaceId: string, filter: MessageFilter, kinds: Kind[], page: Page): SQL {
    const { limit, offset } = page
    const newest = kinds.map(({ channel, status }) => {
      const mine = matching(workspaceId, { ...filter, channel, status })
      const ids = db.select({ id: t.id }).from(t).where(mine).orderBy(desc(t.id))
      return sql`select id from (${ids.limit(offset + limit)}) kind`
    })
    return sql`(${sql.join(newest, sql` union all `)} order by id desc limit ${limit} offset ${offset})`
  }

  /**
   * The condition of a filter by more than the kind. Test messages are read from their index first, by kind and with
   * their exact number: the planner would otherwise search all live messages for a few of them.
   */
  async function narrowed(workspaceId: string, { livemode, ...filter }: MessageFilter) {
    const all = matching(workspaceId, filter)
    if (livemode === undefined) return all
    const kinds = await kindsOf(workspaceId, { ...filter, livemode })
    if (kinds.length === 0) return sql`false`
    const ofKinds = kinds.map(({ channel, status, count }) => {
      const mine = matching(workspaceId, { channel, status, before_id: filter.before_id, livemode })
      const ids = db.select({ id: t.id }).from(t).where(mine).orderBy(desc(t.id))
      return sql`select id from (${ids.limit(count + CHANGED_MEANWHILE_MAX)}) kind`
    })
    const gathered = sql.join(ofKinds, sql` union all `)
    return and(all, sql`${t.id} in (with test as materialized (${gathered}) select id from test)`)
  }

  /** SQL: the messages on a page; null for an empty page. */
  async function listed(
    workspaceId: string,
    filter: MessageFilter,
    page: Page,
  ): Promise<Listed | null> {
    const { before_id: _, ...others } = filter
    const { channel, status, livemode } = filter
    const hasKind = channel !== undefined || status !== undefined || livemode !== undefined
    if (hasKind && isOfKind(others) && page.offset <= OFFSET_BY_KIND_MAX) {
      return listedByKind(workspaceId, filter, page)
    }
    return { where: await narrowed(workspaceId, filter), ...page }
  }

  async function listedByKind(workspaceId: string, filter: MessageFilter, page: Page) {
    const kinds = await kindsOf(workspaceId, filter)
    // Stops the query at the known number of messages.
    const left = filter.before_id ? page.limit : totalOf(kinds) - page.offset
    const limit = Math.min(page.limit, left)
    if (kinds.length === 0 || limit <= 0) return null
    const ids = idsOf(workspaceId, filter, kinds, { ...page, limit })
    const where = and(eq(t.workspace_id, workspaceId), inArray(t.id, ids))
    return { where, limit, offset: 0 }
  }

  return {
    async byId(workspaceId, messageId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, messageId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
    },
    async list(workspaceId, filter, page) {
      const found = await listed(workspaceId, filter, page)
      if (!found) return []
      const { where, limit, offset } = found
      // Ids are UUIDv7: their order is the order of creation, and the primary key serves it without a sort.
      return db.select().from(t).where(where).orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async listShort(workspaceId, filter, { content_length, ...page }) {
      const found = await listed(workspaceId, filter, page)
      if (!found) return []
      const { where, limit, offset } = found
      const isShort = sql`length(cast(${t.content} as text)) <= ${content_length}`
      const content = sql<MessageRow['content'] | null>`case when ${isShort} then ${t.content} end`
      const rows = db.select({ ...getTableColumns(t), content: content.mapWith(t.content) }).from(t)
      return rows.where(where).orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId, filter) {
      if (isOfKind(filter)) return totalOf(await kindsOf(workspaceId, filter))
      const found = db
        .select({ n: rowCount })
        .from(t)
        .where(await narrowed(workspaceId, filter))
      return (await found)[0]?.n ?? 0
    },
    async attempts(workspaceId, messageId) {
      const mine = and(eq(attempts.workspace_id, workspaceId), eq(attempts.message_id, messageId))
      return db.select().from(attempts).where(mine).orderBy(asc(attempts.number))
    },
    async events(workspaceId, messageId) {
      const mine = and(eq(events.workspace_id, workspaceId), eq(events.message_id, messageId))
      return db.select().from(events).where(mine).orderBy(asc(events.id))
    },
    async ofBulk(workspaceId, bulkId, status) {
      const found = db
        .select()
        .from(t)
        .where(matching(workspaceId, { bulk_id: bulkId, status }))
      return found.orderBy(asc(t.id))
    },
    async lock(workspaceId, messageIds) {
      const some = and(eq(t.workspace_id, workspaceId), inArray(t.id, messageIds))
      await locked(db.select({ id: t.id }).from(t).where(some).orderBy(asc(t.id)))
    },
    async uncharge(workspaceId, messageIds) {
      const some = and(eq(t.workspace_id, workspaceId), inArray(t.id, messageIds))
      const calls = and(some, eq(t.channel, 'voice'))
      await db
        .update(t)
        .set({ credits_used: units(0) })
        .where(calls)
    },
    async forgetAnswers(before, limit) {
      const by = answers.created_at
      return removeOldest(db, { from: answers, by, condition: lt(by, before) }, limit)
    },
  }
}

/** Whether the filter has only channel, status and mode. */
function isOfKind({ channel: _, status: __, livemode: ___, ...others }: MessageFilter): boolean {
  return Object.values(others).every((value) => value === undefined)
}

type Kind = Pick<Tables['message_counts']['$inferSelect'], 'channel' | 'status' | 'count'>

interface Page {
  limit: number
  offset: number
}

/** The messages on a page, in SQL. */
interface Listed extends Page {
  where: SQL | undefined
}

function totalOf(kinds: Kind[]): number {
  return kinds.reduce((sum, { count }) => sum + count, 0)
}

export function messagePartStore(db: Db, { message_parts: t }: Tables): MessagePartReads {
  return {
    async byProvider(provider, ids) {
      if (ids.length === 0) return []
      const known = and(eq(t.provider, provider), inArray(t.provider_message_id, filledUp(ids)))
      return db.select().from(t).where(known).orderBy(desc(t.created_at), desc(t.message_id))
    },
  }
}
