import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNotNull,
  lt,
  lte,
  or,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { type Units, units } from '../../contract/fields/units.ts'
import { CHANNELS, type Channel } from '../../contract/resources/content.ts'
import type { MessageStatus } from '../../contract/resources/messages.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { CountedStatus } from '../../rows/messages.ts'
import type {
  MessageAttemptRow,
  MessageEventRow,
  MessagePartRow,
  MessageRow,
} from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import {
  hasStatus,
  idsAmong,
  type Kind,
  kindsAmong,
  type MessageFilter,
  messageTotals,
  type SuppressedSince,
  totalOf,
} from './message-totals.ts'
import { filledUp, includesIn, positionIn, removeOldest, type StoreDialect } from './queries.ts'
import { type IndexedRecipient, recipientIndex } from './recipient-index.ts'
import { isSuppressedAfter } from './suppressions.ts'

/** A message whose content is null if it is too long for a list. */
export type ShortMessageRow = Omit<MessageRow, 'content'> & {
  content: MessageRow['content'] | null
}

type ShortPage = Slice & { content_length: number }

/** The numbers of messages of one channel and status that were created in a period. */
export interface PeriodCount {
  /** The start of the period (UTC). */
  since: Date
  channel: Channel
  status: CountedStatus
  count: number
  /** The number of these messages that test keys created. */
  test_count: number
}

/** The messages of one status to numbers that begin alike. */
export interface PlaceCount {
  channel: Channel
  /** The first characters of the numbers: `+` and three digits; empty for e-mail. */
  place: string
  status: CountedStatus
  count: number
  credits_used: Units
  credits_refunded: Units
}

/** The matching messages among the examined ones, newest first. */
export interface SearchedRows {
  rows: ShortMessageRow[]
  /** The oldest examined message, if older ones remain. */
  last: Pick<MessageRow, 'id' | 'created_at'> | null
}

/** Past this offset, sorting the ids costs more than reading through the messages. */
const OFFSET_BY_KIND_MAX = 10_000

/** The searched part of a content: attachments, which are at its end, would be slow to search and match by chance. */
export const SEARCHED_LENGTH = 20_000

/** The number of messages of a kind that may be added between the count and the query. */
const CHANGED_MEANWHILE_MAX = 100

export function messageStore(db: Db, tables: Tables, dialect: StoreDialect) {
  const { locked } = dialect
  const { messages: t, message_attempts: attempts, message_events: events, bulks } = tables
  const { idempotency_keys: answers } = tables

  const content = dialect.messageContent
  const columns = { ...getTableColumns(t), content: content.mapWith(t.content) }
  const totals = messageTotals(db, tables)
  const index = recipientIndex(db, tables, dialect)

  // The condition has the same text as in the index: with a parameter, no engine uses the index.
  const isTest = sql`${t.livemode} = false`

  /**
   * SQL: the time of a message, read by its key. With the column, SQLite would read the history in key order instead of
   * the index by kind, which does not contain the time: 1,000 times slower for a rare kind.
   */
  const createdAt = sql`(select created_at from ${t} one where one.workspace_id = ${t.workspace_id} and one.id = ${t.id})`

  /** SQL: the ids of a bulk, read from their index: SQLite would otherwise read all messages in the order of a page. */
  function idsOfBulk(workspaceId: string, bulkId: string): SQL {
    const mine = and(eq(t.workspace_id, workspaceId), eq(t.bulk_id, bulkId))
    const ids = db.select({ id: t.id }).from(t).where(mine)
    return sql`(with bulk as materialized ${ids} select id from bulk)`
  }

  /**
   * SQL: the messages of a broadcast. With `is true` and a range of ids, the engines read the history in key order and stop at
   * the end of a page: from the index of bulks they would read and sort all of a broadcast, which may have 500,000.
   */
  function ofBroadcast(workspaceId: string, broadcastId: string): SQL | undefined {
    const mine = and(eq(bulks.workspace_id, workspaceId), eq(bulks.broadcast_id, broadcastId))
    const ids = db.select({ id: bulks.id }).from(bulks).where(mine)
    const { first, last } = endsOf(workspaceId, broadcastId)
    return and(gte(t.id, first), lte(t.id, last), sql`(${t.bulk_id} in (${ids})) is true`)
  }

  /** SQL: the lowest and the highest id of a broadcast; null if it has no messages. */
  function endsOf(workspaceId: string, broadcastId: string) {
    const mine = and(eq(bulks.workspace_id, workspaceId), eq(bulks.broadcast_id, broadcastId))
    const steps = db.select({ id: bulks.id }).from(bulks).where(mine)
    const end = (edge: SQL) =>
      sql`(select ${edge}(id) from (select (select ${edge}(one.id) from ${t} one where one.workspace_id = ${workspaceId} and one.bulk_id = step.id) id from (${steps}) step) ends)`
    return { first: end(sql.raw('min')), last: end(sql.raw('max')) }
  }

  /**
   * Ids are UUIDv7: their order is the order of creation, and the primary key serves it without a sort. The few
   * messages of a bulk or a recipient are sorted by an expression: the engines would otherwise search the history in key order.
   */
  function inOrder({ bulk_id, indexed }: BoundedFilter, direction = desc): SQL {
    return direction(bulk_id || indexed ? sql`${t.id} || ''` : t.id)
  }

  /** The filter with the place of its recipient in the index, if the index has the recipient. */
  async function located(workspaceId: string, filter: MessageFilter): Promise<BoundedFilter> {
    const { recipient, bulk_id } = filter
    if (!recipient || bulk_id) return filter
    return { ...filter, indexed: await index.find(workspaceId, recipient) }
  }

  function isSuppressed(workspaceId: string, { is, ...after }: SuppressedSince): SQL {
    const found = isSuppressedAfter(db, tables, workspaceId, after)
    return sql`${found} = ${is ? sql`true` : sql`false`}`
  }

  function matching(workspaceId: string, { ids, ...filter }: BoundedFilter) {
    const { bulk_id, broadcast_id, recipient, sender, template } = filter
    const { error_code, api_key_id, tag } = filter
    const others = and(
      filter.channel && eq(t.channel, filter.channel),
      filter.status && hasStatus(t, filter.status),
      filter.from && gte(t.created_at, filter.from),
      filter.until && lte(t.created_at, filter.until),
      recipient ? eq(t.recipient, recipient) : undefined,
      sender ? eq(t.sender, sender) : undefined,
      api_key_id ? eq(t.api_key_id, api_key_id) : undefined,
      tag ? includesIn(sql`cast(${t.tags} as text)`, JSON.stringify(tag), t.id) : undefined,
      filter.reached && isNotNull(filter.reached === 'sent' ? t.sent_at : t.delivered_at),
      filter.suppressed && isSuppressed(workspaceId, filter.suppressed),
      filter.livemode === false ? isTest : undefined,
    )
    // `is true` keeps SQLite from the indexes by kind: it would read them to their end, and a row for each entry.
    const isByKey =
      others &&
      (bulk_id ||
        broadcast_id ||
        recipient ||
        sender ||
        template ||
        error_code ||
        api_key_id ||
        tag)
    return and(
      eq(t.workspace_id, workspaceId),
      bulk_id ? inArray(t.id, idsOfBulk(workspaceId, bulk_id)) : undefined,
      broadcast_id ? ofBroadcast(workspaceId, broadcast_id) : undefined,
      filter.indexed ? inArray(t.id, filter.indexed.ids) : undefined,
      template ? eq(t.template, template) : undefined,
      // The second condition has the same text as in the index.
      error_code
        ? and(eq(t.error_code, error_code), sql`${t.error_code} <> 'canceled'`)
        : undefined,
      isByKey ? sql`(${others}) is true` : others,
      filter.before_id ? lt(t.id, filter.before_id) : undefined,
      filter.newer_than ? gt(t.id, filter.newer_than) : undefined,
      ids?.first === undefined ? undefined : gte(t.id, ids.first),
      ids?.last === undefined ? undefined : lte(t.id, ids.last),
    )
  }

  /** The filter with the range of ids for its dates; null if no message has such a date. */
  async function bounded(workspaceId: string, filter: BoundedFilter): Promise<Bounded | null> {
    const { from, until } = filter
    const found = await totals.ofTime(workspaceId, filter)
    const kinds = kindsAmong(found, filter)
    if (!from && !until) return { filter, kinds }
    const ids = idsAmong(found)
    if (!ids) return null
    // Without an end date, a message that is created meanwhile belongs to the list.
    const within = { first: from && ids.first, last: until && ids.last }
    return { filter: { ...filter, ids: within }, kinds }
  }

  /**
   * SQL: the ids on a page of messages of these kinds. One subquery for each kind reads the index by kind in its order,
   * so a few rows among a million are found at once.
   */
  function idsOf(workspaceId: string, filter: BoundedFilter, kinds: Kind[], page: Page): SQL {
    const { limit, offset } = page
    const { from, until, ...others } = filter
    const nearest = filter.newer_than ? asc : desc
    const newest = kinds.map(({ channel, status }) => {
      const mine = and(
        matching(workspaceId, { ...others, channel, status }),
        from && sql`${createdAt} >= ${sql.param(from, t.created_at)}`,
        until && sql`${createdAt} <= ${sql.param(until, t.created_at)}`,
      )
      const ids = db.select({ id: t.id }).from(t).where(mine).orderBy(nearest(t.id))
      return sql`select id from (${ids.limit(offset + limit)}) kind`
    })
    const order = filter.newer_than ? sql`id` : sql`id desc`
    return sql`(${sql.join(newest, sql` union all `)} order by ${order} limit ${limit} offset ${offset})`
  }

  /**
   * The condition of a filter that selects by more than the kind. Test messages are read from their index first, by
   * kind and with their exact number: the planner would otherwise search all live messages.
   */
  async function narrowed(workspaceId: string, { livemode, ...filter }: BoundedFilter) {
    const all = matching(workspaceId, filter)
    if (livemode === undefined) return all
    if (filter.bulk_id || filter.indexed) return matching(workspaceId, { livemode, ...filter })
    const { channel, status, before_id, newer_than, ids } = filter
    const kinds = kindsAmong(await totals.ofTime(workspaceId, {}), { channel, status, livemode })
    if (kinds.length === 0) return sql`false`
    const ofKinds = kinds.map(({ channel, status, count }) => {
      const one = { channel, status, before_id, newer_than, ids, livemode }
      const mine = matching(workspaceId, one)
      const found = db.select({ id: t.id }).from(t).where(mine).orderBy(desc(t.id))
      return sql`select id from (${found.limit(count + CHANGED_MEANWHILE_MAX)}) kind`
    })
    const gathered = sql.join(ofKinds, sql` union all `)
    return and(all, sql`${t.id} in (with test as materialized (${gathered}) select id from test)`)
  }

  /** SQL: the messages on a page; null for an empty page. */
  async function listed(
    workspaceId: string,
    found: MessageFilter,
    page: Page,
  ): Promise<Listed | null> {
    const filter = await located(workspaceId, found)
    const { before_id: _, newer_than: __, indexed: ___, ...own } = filter
    const { from, until, channel, status, livemode, ...others } = own
    const order = inOrder(filter)
    const part = (where: SQL | undefined): Listed => {
      if (!filter.newer_than) return { where, order, ...page }
      const ids = db.select({ id: t.id }).from(t).where(where).orderBy(inOrder(filter, asc))
      const nearest = ids.limit(page.limit).offset(page.offset)
      const isNear = sql`${t.id} in (select id from (${nearest}) nearest)`
      const near = and(eq(t.workspace_id, workspaceId), isNear)
      return { where: near, order, limit: page.limit, offset: 0 }
    }
    const hasKind = channel !== undefined || status !== undefined || livemode !== undefined
    const isByKind = hasKind && isEmpty(others) && page.offset <= OFFSET_BY_KIND_MAX
    if (!isByKind && !from && !until) return part(await narrowed(workspaceId, filter))
    const within = await bounded(workspaceId, filter)
    if (!within) return null
    if (isByKind) return listedByKind(workspaceId, within, page)
    return part(await narrowed(workspaceId, within.filter))
  }

  function listedByKind(workspaceId: string, { filter, kinds }: Bounded, page: Page) {
    // Stops the query at the known number of messages.
    const left = filter.before_id || filter.newer_than ? page.limit : totalOf(kinds) - page.offset
    const limit = Math.min(page.limit, left)
    if (kinds.length === 0 || limit <= 0) return null
    const ids = idsOf(workspaceId, filter, kinds, { ...page, limit })
    const where = and(eq(t.workspace_id, workspaceId), inArray(t.id, ids))
    return { where, order: desc(t.id), limit, offset: 0 }
  }

  /** The lowest and the highest id of a bulk; of an unknown bulk, a range without messages. */
  async function rangeOfBulk(workspaceId: string, bulkId: string) {
    const mine = and(eq(t.workspace_id, workspaceId), eq(t.bulk_id, bulkId))
    const [range] = await db
      .select({ first: sql<string | null>`min(${t.id})`, last: sql<string | null>`max(${t.id})` })
      .from(t)
      .where(mine)
    return { first: range?.first ?? '', last: range?.last ?? '' }
  }

  function shortRows(content_length: number) {
    const isShort = sql`length(cast(${content} as text)) <= ${content_length}`
    const short = sql<MessageRow['content'] | null>`case when ${isShort} then ${content} end`
    return db.select({ ...columns, content: short.mapWith(t.content) }).from(t)
  }

  /**
   * SQL: a content without what a code is derived from, which is its last field. In the values of a content, quotation marks
   * are escaped, so that no text of a workspace contains the beginning of this field.
   */
  function withoutCode(text: SQL): SQL {
    const field = sql.raw(`',"code":{"seed":'`)
    const at = positionIn(text, field, t.id)
    return sql`case when ${at} > 0 then substr(${text}, 1, ${at} - 1) else ${text} end`
  }

  /** SQL: whether a text occurs in a message. JSON has some characters escaped. */
  function containing(part: string): SQL | undefined {
    const isIn = (column: SQL | PgColumn, text: string) => {
      const folded = includesIn(sql`lower(${column})`, text.toLowerCase(), t.id)
      // `lower` of SQLite knows ASCII only.
      return isAscii(text) ? folded : sql`(${folded} or ${includesIn(column, text, t.id)})`
    }
    const escaped = JSON.stringify(part).slice(1, -1)
    return or(
      isIn(t.recipient, part),
      isIn(t.sender, part),
      isIn(t.provider_message_id, part),
      isIn(sql`cast(${t.metadata} as text)`, escaped),
      isIn(
        withoutCode(sql`substr(cast(${content} as text), 1, ${sql.raw(`${SEARCHED_LENGTH}`)})`),
        escaped,
      ),
    )
  }

  async function short(
    workspaceId: string,
    filter: MessageFilter,
    { content_length, ...page }: ShortPage,
  ): Promise<ShortMessageRow[]> {
    const found = await listed(workspaceId, filter, page)
    if (!found) return []
    const { where, order, limit, offset } = found
    const rows = shortRows(content_length)
    return rows.where(where).orderBy(order).limit(limit).offset(offset)
  }

  return {
    reads: {
      async byId(workspaceId: string, messageId: string): Promise<MessageRow | null> {
        const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, messageId))
        const [row] = await db.select(columns).from(t).where(mine)
        return row ?? null
      },
      /** Returns the newest first. */
      async list(workspaceId: string, filter: MessageFilter, page: Slice): Promise<MessageRow[]> {
        const found = await listed(workspaceId, filter, page)
        if (!found) return []
        const { where, order, limit, offset } = found
        return db.select(columns).from(t).where(where).orderBy(order).limit(limit).offset(offset)
      },
      /** Like `list`, but a content longer than `content_length` is null and is not read into the calling thread. */
      listShort: short,
      /** The queued messages of a channel, for a decision about them; otherwise like `listShort`. */
      queuedOf: (workspaceId: string, channel: Channel, page: ShortPage) =>
        short(workspaceId, { channel, status: 'queued' }, page),
      /**
       * The messages in which `part` occurs: in recipient, sender, the provider's id, metadata or the first `SEARCHED_LENGTH`
       * characters of the content as JSON. Upper and lower case of ASCII letters are equal. At most `examine` messages are read,
       * of those with the `error_code` if the filter has one. `recipients`: only messages to one of these. `calling_code`: only
       * messages to numbers that begin with it. `named`: messages to one of these are found also without `part` in them.
       */
      async search(
        workspaceId: string,
        {
          part,
          recipients,
          named = [],
          calling_code,
          ...filter
        }: MessageFilter & {
          part?: string | undefined
          recipients?: readonly string[] | undefined
          named?: readonly string[] | undefined
          calling_code?: string | undefined
        },
        {
          limit,
          content_length,
          examine,
        }: { limit: number; content_length: number; examine: number },
      ): Promise<SearchedRows> {
        const found = await bounded(workspaceId, filter)
        if (!found) return { rows: [], last: null }
        const { before_id, bulk_id, broadcast_id, error_code } = found.filter
        const ids = bulk_id
          ? await rangeOfBulk(workspaceId, bulk_id)
          : broadcast_id
            ? endsOf(workspaceId, broadcast_id)
            : found.filter.ids
        // In the order of the key, whatever else the filter selects, so that the number of read messages has a bound.
        const [last] = await db
          .select({ id: t.id, created_at: t.created_at })
          .from(t)
          .where(matching(workspaceId, { ids, before_id, error_code }))
          .orderBy(desc(t.id))
          .limit(1)
          .offset(examine - 1)
        const examined = and(
          matching(workspaceId, found.filter),
          last && gte(t.id, last.id),
          // `is true` keeps the order of the key: see `matching`.
          recipients && sql`(${inArray(t.recipient, filledUp(recipients))}) is true`,
          calling_code === undefined
            ? undefined
            : sql`substr(${t.recipient}, 1, ${calling_code.length + 1}) = ${`+${calling_code}`}`,
          part === undefined
            ? undefined
            : or(
                containing(part),
                named.length > 0 ? inArray(t.recipient, filledUp(named)) : undefined,
              ),
        )
        const rows = await shortRows(content_length)
          .where(examined)
          .orderBy(desc(t.id))
          .limit(limit)
        return { rows, last: last ?? null }
      },
      /**
       * The numbers of messages of a status for each error, most frequent first, among the newest `examine` of each channel. Earlier
       * messages than `since` are not counted, and ids below `first_id` not read.
       */
      async errorsSince(
        workspaceId: string,
        {
          status,
          since,
          first_id,
          livemode,
          examine,
        }: {
          status: MessageStatus
          since: Date
          first_id: string
          livemode?: false | undefined
          examine: number
        },
      ): Promise<{ error_code: string | null; count: number }[]> {
        const newest = CHANNELS.map((channel) => {
          const mine = and(
            eq(t.workspace_id, workspaceId),
            eq(t.channel, channel),
            eq(t.status, status),
            gte(t.id, first_id),
            livemode === false ? isTest : undefined,
          )
          const { error_code, created_at } = t
          const found = db.select({ error_code, created_at }).from(t).where(mine)
          return sql`select * from (${found.orderBy(desc(t.id)).limit(examine)}) kind`
        })
        return db
          .select({
            error_code: sql<string | null>`error_code`,
            count: sql<number>`cast(count(*) as bigint)`,
          })
          .from(sql`(${sql.join(newest, sql` union all `)}) failed`)
          .where(sql`created_at >= ${sql.param(since, t.created_at)}`)
          .groupBy(sql`error_code`)
          .orderBy(sql`count(*) desc, error_code`)
      },
      /**
       * The numbers of the newest `examine` messages for each channel, status and place, with their credits. Earlier messages than
       * `since` are not counted, and ids below `first_id` not read.
       */
      async newestByPlace(
        workspaceId: string,
        {
          since,
          first_id,
          livemode,
          examine,
        }: { since: Date; first_id: string; livemode: boolean; examine: number },
      ): Promise<PlaceCount[]> {
        const { channel, recipient, status, error_code, credits_used, credits_refunded } = t
        // Every message that is read counts for the bound, also one of the other mode.
        const newest = db
          .select({
            channel,
            place:
              sql<string>`case when ${channel} = 'email' then '' else substr(${recipient}, 1, 4) end`.as(
                'place',
              ),
            state:
              sql<CountedStatus>`case when ${error_code} = 'canceled' then 'canceled' else ${status} end`.as(
                'state',
              ),
            credits_used,
            credits_refunded,
            is_counted:
              sql`${t.livemode} = ${sql.param(livemode, t.livemode)} and ${t.created_at} >= ${sql.param(since, t.created_at)}`.as(
                'is_counted',
              ),
          })
          .from(t)
          .where(and(eq(t.workspace_id, workspaceId), gte(t.id, first_id)))
          .orderBy(desc(t.id))
          .limit(examine)
          .as('newest')
        const sumOf = (column: SQLWrapper) => sql<Units>`cast(sum(${column}) as bigint)`
        return db
          .select({
            channel: newest.channel,
            place: newest.place,
            status: newest.state,
            count: rowCount,
            credits_used: sumOf(newest.credits_used),
            credits_refunded: sumOf(newest.credits_refunded),
          })
          .from(newest)
          .where(sql`${newest.is_counted}`)
          .groupBy(newest.channel, newest.place, newest.state)
      },
      /** The exact number. Without `bulk_id`, `recipient` and `before_id`, the cost grows with days, not with messages. */
      async count(workspaceId: string, filter: MessageFilter): Promise<number> {
        const { channel: _, status: __, livemode: ___, from, until, ...others } = filter
        const isDated = from !== undefined || until !== undefined
        if (isEmpty(others)) {
          if (isDated) return totals.exact(workspaceId, filter)
          return totalOf(kindsAmong(await totals.ofTime(workspaceId, {}), filter))
        }
        const known = await located(workspaceId, filter)
        const found = isDated ? await bounded(workspaceId, known) : { filter: known }
        if (!found) return 0
        const where = await narrowed(workspaceId, found.filter)
        return (await db.select({ n: rowCount }).from(t).where(where))[0]?.n ?? 0
      },
      /** The numbers of the days or hours from `from` on, from stored sums: the cost does not depend on the messages. */
      countsSince: (
        workspaceId: string,
        period: { unit: 'day' | 'hour'; from: Date },
      ): Promise<PeriodCount[]> => totals.since(workspaceId, period),
      /** The history of one message, oldest first. */
      async attempts(workspaceId: string, messageId: string): Promise<MessageAttemptRow[]> {
        const mine = and(eq(attempts.workspace_id, workspaceId), eq(attempts.message_id, messageId))
        return db.select().from(attempts).where(mine).orderBy(asc(attempts.number))
      },
      async events(workspaceId: string, messageId: string): Promise<MessageEventRow[]> {
        const mine = and(eq(events.workspace_id, workspaceId), eq(events.message_id, messageId))
        return db.select().from(events).where(mine).orderBy(asc(events.id))
      },
      /** The messages of a bulk, all messages or only one status, in the order of creation. */
      async ofBulk(
        workspaceId: string,
        bulkId: string,
        status?: MessageStatus,
      ): Promise<MessageRow[]> {
        const found = db
          .select(columns)
          .from(t)
          .where(matching(workspaceId, { bulk_id: bulkId, status }))
        return found.orderBy(asc(t.id))
      },
    },
    writes: {
      /**
       * Locks messages, so that settlements of them wait. Call it before locking the account, because settling locks in
       * this order.
       */
      async lock(workspaceId: string, messageIds: readonly string[]): Promise<void> {
        const some = and(eq(t.workspace_id, workspaceId), inArray(t.id, messageIds))
        await locked(db.select({ id: t.id }).from(t).where(some).orderBy(asc(t.id)))
      },
      /** Sets the price of calls to 0 until their outcome is known. */
      async uncharge(workspaceId: string, messageIds: readonly string[]): Promise<void> {
        const some = and(eq(t.workspace_id, workspaceId), inArray(t.id, messageIds))
        const calls = and(some, eq(t.channel, 'voice'))
        await db
          .update(t)
          .set({ credits_used: units(0) })
          .where(calls)
      },
      /** Removes responses to requests with an `Idempotency-Key` that are older than `before`; returns their number. */
      async forgetAnswers(before: Date, limit: number): Promise<number> {
        const by = answers.created_at
        return removeOldest(db, { from: answers, by, condition: lt(by, before) }, limit)
      },
    },
  }
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

function isEmpty(filter: MessageFilter): boolean {
  return Object.values(filter).every((value) => value === undefined)
}

/** A filter with inclusive bounds of ids. */
interface BoundedFilter extends MessageFilter {
  ids?: { first: string | SQL | undefined; last: string | SQL | undefined } | undefined
  /** The place of the recipient in the index; null if it is not used. */
  indexed?: IndexedRecipient | null | undefined
}

/** A filter, and the kinds of messages that may pass it. */
interface Bounded {
  filter: BoundedFilter
  kinds: Kind[]
}

interface Page {
  limit: number
  offset: number
}

/** The messages on a page, in SQL. */
interface Listed extends Page {
  where: SQL | undefined
  /** Newest first. */
  order: SQL
}

export function messagePartStore(db: Db, { message_parts: t }: Tables) {
  return {
    reads: {
      /** All parts to which a provider gave one of these ids, from all workspaces, newest first. */
      async byProvider(provider: string, ids: readonly string[]): Promise<MessagePartRow[]> {
        if (ids.length === 0) return []
        const known = and(eq(t.provider, provider), inArray(t.provider_message_id, filledUp(ids)))
        return db.select().from(t).where(known).orderBy(desc(t.created_at), desc(t.message_id))
      },
    },
    writes: {},
  }
}
