import { and, eq, gte, inArray, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Channel } from '../../contract/resources/messages.ts'
import type { Db } from '../../rows/dialect.ts'
import type { CountedStatus } from '../../rows/messages.ts'
import type { Tables } from '../../rows/tables.ts'
import {
  dividedTime,
  HOUR_MS,
  hourOf,
  type PartOfHour,
  type PeriodRange,
  storable,
} from '../../rules/count-changes.ts'
import type { SuppressedAfter } from './suppressions.ts'

/** A status that a list is filtered by: `failed` includes canceled messages, `failed_only` does not. */
export type ListedStatus = CountedStatus | 'delivered_or_read' | 'failed_only'

/** Filters of a list. Bounds are inclusive. */
export interface MessageFilter {
  channel?: Channel | undefined
  status?: ListedStatus | undefined
  from?: Date | undefined
  until?: Date | undefined
  bulk_id?: string | undefined
  /** Read in the order of the key, between the first and the last message of the broadcast. */
  broadcast_id?: string | undefined
  recipient?: string | undefined
  sender?: string | undefined
  /** Not `canceled`, which is a status here. */
  error_code?: string | undefined
  api_key_id?: string | undefined
  /** The name or the value of a tag. */
  tag?: string | undefined
  template?: string | undefined
  /** Only messages that a provider took, or that were delivered, whatever happened to them later. */
  reached?: 'sent' | 'delivered' | undefined
  /** Only messages whose recipients are suppressed so. */
  suppressed?: SuppressedSince | undefined
  /** Only messages of test keys: the cost does not depend on the number of live messages. */
  livemode?: false | undefined
  /** Only messages older than this one. */
  before_id?: string | undefined
  /** Only messages newer than this one: of these, the oldest. Not with `before_id`. */
  newer_than?: string | undefined
}

/** Whether the recipient of a message was suppressed after a time for a reason, or was not. */
export interface SuppressedSince extends SuppressedAfter {
  is: boolean
}

type Row = Tables['message_counts']['$inferSelect']

/** The numbers of messages of one channel and status. */
type Counted = Pick<Row, 'channel' | 'status' | 'count' | 'test_count' | 'first_id' | 'last_id'>

/** The messages of one channel and status that a filter selects. */
export type Kind = Pick<Row, 'channel' | 'count'> & { status: ListedStatus }

/** The statuses in which the messages of a list are counted; undefined: in any. */
function countedIn(status: ListedStatus | undefined): CountedStatus[] | undefined {
  if (status === 'failed') return ['failed', 'canceled']
  if (status === 'failed_only') return ['failed']
  if (status === 'delivered_or_read') return ['delivered', 'read']
  return status && [status]
}

/** SQL: whether messages belong to the list of a status. The conditions have the same texts as in the indexes. */
export function hasStatus(
  { status, error_code }: { status: SQLWrapper; error_code: SQLWrapper },
  listed: ListedStatus,
): SQL {
  if (listed === 'canceled') return sql`${error_code} = 'canceled'`
  if (listed === 'delivered_or_read') return sql`${status} in ('delivered', 'read')`
  if (listed !== 'failed_only') return sql`${status} = ${listed}`
  return sql`(${status} = 'failed' and coalesce(${error_code}, '') <> 'canceled')`
}

/** The totals that each change of a status updates. */
export function messageTotals(db: Db, { message_counts: counts, messages: t }: Tables) {
  const ofRange = (workspaceId: string, { unit, from, before }: PeriodRange) =>
    and(
      eq(counts.workspace_id, workspaceId),
      eq(counts.unit, unit),
      from ? gte(counts.since, from) : undefined,
      before ? lt(counts.since, before) : undefined,
    )
  const ofHour = (workspaceId: string, { hour }: PartOfHour) =>
    ofRange(workspaceId, {
      unit: 'hour',
      from: hour,
      before: storable(hour.getTime() + HOUR_MS),
    })

  /** SQL: the number of messages of a part of an hour, counted among the ids of this hour. */
  function countedPart(workspaceId: string, part: PartOfHour, filter: MessageFilter): SQL {
    const { channel, status, livemode } = filter
    const mine = ofHour(workspaceId, part)
    const first = db
      .select({ id: sql`min(${counts.first_id})` })
      .from(counts)
      .where(mine)
    const last = db
      .select({ id: sql`max(${counts.last_id})` })
      .from(counts)
      .where(mine)
    const found = db
      .select({ n: sql`count(*)` })
      .from(t)
      .where(
        and(
          eq(t.workspace_id, workspaceId),
          sql`${t.id} between ${first} and ${last}`,
          gte(t.created_at, part.from),
          lt(t.created_at, part.before),
          // The expression keeps the database from `messages_kind`, in which it would search the whole history.
          channel && sql`${t.channel} || '' = ${channel}`,
          status &&
            hasStatus(
              { status: sql`(${t.status} || '')`, error_code: sql`(${t.error_code} || '')` },
              status,
            ),
          livemode === undefined ? undefined : eq(t.livemode, livemode),
        ),
      )
    return sql`${found}`
  }

  /** SQL: the sum of whole periods. */
  function summed(workspaceId: string, range: PeriodRange, filter: MessageFilter): SQL {
    const { channel, status, livemode } = filter
    const n = livemode === false ? counts.test_count : counts.count
    const mine = and(
      ofRange(workspaceId, range),
      channel && eq(counts.channel, channel),
      status && inArray(counts.status, countedIn(status) ?? []),
    )
    const found = db
      .select({ n: sql`coalesce(sum(${n}), 0)` })
      .from(counts)
      .where(mine)
    return sql`${found}`
  }

  return {
    /**
     * The numbers of messages for each channel and status: of the whole history, or of the filter's dates. The first
     * and the last hour of the dates count completely.
     */
    async ofTime(
      workspaceId: string,
      { from, until }: Pick<MessageFilter, 'from' | 'until'>,
    ): Promise<Counted[]> {
      const { channel, status, count, test_count, first_id, last_id } = counts
      const row = { channel, status, count, test_count, first_id, last_id }
      if (!from && !until) {
        const whole = and(eq(counts.workspace_id, workspaceId), eq(counts.unit, 'all'))
        return db.select(row).from(counts).where(whole)
      }
      const { periods, parts } = dividedTime({ from, until })
      const ranges = [
        ...periods.map((range) => ofRange(workspaceId, range)),
        ...parts.map((part) => ofHour(workspaceId, part)),
      ].map((mine) => sql`select * from ${db.select(row).from(counts).where(mine)} one`)
      if (ranges.length === 0) return []
      return db
        .select({
          channel: sql<Row['channel']>`channel`,
          status: sql<Row['status']>`status`,
          count: sql<number>`cast(sum(count) as bigint)`,
          test_count: sql<number>`cast(sum(test_count) as bigint)`,
          first_id: sql<string | null>`min(first_id)`,
          last_id: sql<string | null>`max(last_id)`,
        })
        .from(sql`(${sql.join(ranges, sql` union all `)}) period`)
        .groupBy(sql`channel, status`)
    },
    /** The numbers of messages for each period, channel and status; a period may have several. */
    async since(workspaceId: string, { unit, from }: { unit: 'day' | 'hour'; from: Date }) {
      const found = await db
        .select({
          since: counts.since,
          channel: counts.channel,
          status: counts.status,
          count: sql<number>`cast(sum(${counts.count}) as bigint)`,
          test_count: sql<number>`cast(sum(${counts.test_count}) as bigint)`,
        })
        .from(counts)
        .where(ofRange(workspaceId, { unit, from, before: null }))
        .groupBy(counts.since, counts.channel, counts.status)
      return found.map((one) => ({ ...one, since: hourOf(one.since) }))
    },
    /** The number of messages that a filter by kind and dates selects. */
    async exact(workspaceId: string, filter: MessageFilter): Promise<number> {
      const { periods, parts } = dividedTime(filter)
      const terms = [
        ...periods.map((range) => summed(workspaceId, range, filter)),
        ...parts.map((part) => countedPart(workspaceId, part, filter)),
      ]
      if (terms.length === 0) return 0
      const sum = sql.join(terms, sql` + `)
      const one = db
        .select({ n: sql<number>`n` })
        .from(sql`(select cast(${sum} as bigint) as n) total`)
      return (await one)[0]?.n ?? 0
    },
  }
}

/** The kinds of messages that a filter by channel, status and mode selects. */
export function kindsAmong(
  found: readonly Counted[],
  { channel, status, livemode }: MessageFilter,
): Kind[] {
  const kinds = new Map<string, Kind>()
  const statuses = countedIn(status)
  for (const one of found) {
    if ((channel && one.channel !== channel) || statuses?.includes(one.status) === false) continue
    // The rows of messages have no status of their own for canceled ones.
    const isPart = one.status === 'canceled' && status !== 'canceled'
    const counted = status === 'failed_only' ? status : isPart ? 'failed' : one.status
    const key = `${one.channel} ${counted}`
    const kind = kinds.get(key) ?? { channel: one.channel, status: counted, count: 0 }
    kinds.set(key, kind)
    kind.count += livemode === false ? one.test_count : one.count
  }
  return [...kinds.values()].filter(({ count }) => count > 0)
}

/** The lowest and the highest id; null without messages. */
export function idsAmong(found: readonly Counted[]): { first: string; last: string } | null {
  const [first] = found.flatMap(({ first_id }) => first_id ?? []).sort()
  const last = found
    .flatMap(({ last_id }) => last_id ?? [])
    .sort()
    .at(-1)
  return first && last ? { first, last } : null
}

export function totalOf(kinds: readonly Kind[]): number {
  return kinds.reduce((sum, { count }) => sum + count, 0)
}
