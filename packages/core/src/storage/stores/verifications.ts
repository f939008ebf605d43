import {
  and,
  asc,
  desc,
  eq,
  gt,
  gte,
  inArray,
  is,
  isNull,
  lte,
  ne,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import { PgColumn } from 'drizzle-orm/pg-core'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Units } from '../../contract/fields/units.ts'
import { ERASED } from '../../contract/resources/message.ts'
import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import type { VerificationStatus } from '../../contract/resources/verifications.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type {
  VerificationCountRow,
  VerificationPauseRow,
  VerificationRow,
} from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import { ended } from '../../rules/verify.ts'
import { filledUp, isBelow, removeOldest, type StoreDialect } from './queries.ts'

/** Selects verifications; an absent field does not restrict the list. */
export interface VerificationFilter {
  livemode?: boolean | undefined
  status?: VerificationStatus | undefined
  /** The time that decides which pending codes count as expired. Default: only those that the sweeper has ended. */
  now?: Date | undefined
  channel?: Channel | undefined
  recipient?: string | undefined
}

/** What leads from a verification to its messages. */
type Coded = Pick<VerificationRow, 'workspace_id' | 'message_id' | 'messages'>

/** The ids of all messages of a verification. */
function messageIdsOf({ message_id, messages }: Omit<Coded, 'workspace_id'>): string[] {
  return messages?.map(({ id }) => id) ?? [message_id]
}

/** The columns that a check changes. */
export const CHECKED_COLUMNS = ['status', 'seed', 'attempts', 'updated_at', 'ended_at'] as const

export function verificationStore(
  db: Db,
  tables: Tables,
  { locked, messageContent }: Pick<StoreDialect, 'locked' | 'messageContent'>,
) {
  const { verifications: t, verification_counts: counts, verification_pauses: pauses } = tables
  const { messages, message_queue: queue } = tables
  const mine = (workspaceId: string, id: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, id))
  const matching = (
    workspaceId: string,
    { livemode, status, now, channel, recipient }: VerificationFilter,
  ) =>
    and(
      eq(t.workspace_id, workspaceId),
      livemode === undefined ? undefined : eq(t.livemode, livemode),
      status && eq(t.status, status),
      status === 'pending' && now ? gt(t.expires_at, now) : undefined,
      channel && eq(t.channel, channel),
      recipient === undefined ? undefined : eq(t.recipient, recipient),
    )
  /** Verifications that the sweeper has not ended, although their code has expired: at most those of a minute. */
  const late = (workspaceId: string, { now, ...filter }: VerificationFilter) =>
    filter.status === 'expired' && now
      ? and(matching(workspaceId, { ...filter, status: 'pending' }), lte(t.expires_at, now))
      : null
  /** The verifications that have an address as their first or second one. */
  const naming = (workspaceId: string, address: string) =>
    and(
      eq(t.workspace_id, workspaceId),
      or(eq(t.recipient, address), eq(t.other_recipient, address)),
    )
  /** Removes from the messages of verifications what their code is derived from. */
  async function withoutCodes(
    of: readonly Coded[],
    { keepsQueued = false }: { keepsQueued?: boolean } = {},
  ): Promise<void> {
    const ids = of.flatMap((row) => messageIdsOf(row))
    if (ids.length === 0) return
    const { workspace_id, id } = messages
    const content = messageContent.mapWith(messages.content)
    const workspaces = filledUp(of.map((row) => row.workspace_id))
    const some = and(inArray(workspace_id, workspaces), inArray(id, filledUp(ids)))
    // Locked, so that the content of an erasure that commits meanwhile stays, and in the same order as in a settlement.
    const found = await locked(
      db.select({ workspace_id, id, content }).from(messages).where(some).orderBy(asc(id)),
    )
    const queued = db.select({ id: queue.message_id }).from(queue)
    const kept = keepsQueued ? await queued.where(inArray(queue.message_id, filledUp(ids))) : []
    const queuedIds = new Set(kept.map((row) => row.id))
    for (const row of found) {
      if (!('code' in row.content) || queuedIds.has(row.id)) continue
      const { code: _, ...rest } = row.content
      const one = and(eq(workspace_id, row.workspace_id), eq(id, row.id))
      await db.update(messages).set({ content: rest }).where(one)
    }
  }

  /** The messages of verifications that have from what their code is derived. */
  async function messagesWithCodes(of: readonly Coded[]): Promise<Set<string>> {
    const ids = of.flatMap((row) => messageIdsOf(row))
    if (ids.length === 0) return new Set()
    const { workspace_id, id } = messages
    const content = messageContent.mapWith(messages.content)
    const workspaces = filledUp(of.map((row) => row.workspace_id))
    const some = and(inArray(workspace_id, workspaces), inArray(id, filledUp(ids)))
    const found = await db.select({ id, content }).from(messages).where(some)
    return new Set(found.filter((row) => 'code' in row.content).map((row) => row.id))
  }

  return {
    reads: {
      async byId(workspaceId: string, id: string): Promise<VerificationRow | null> {
        return (await db.select().from(t).where(mine(workspaceId, id)))[0] ?? null
      },
      /** Returns the newest first. */
      async list(
        workspaceId: string,
        filter: VerificationFilter,
        { limit, offset, after }: Slice,
      ): Promise<VerificationRow[]> {
        const newest = (some: SQL | undefined) =>
          db
            .select()
            .from(t)
            .where(and(some, isBelow(t.id, after)))
            .orderBy(desc(t.id))
        const all = newest(matching(workspaceId, filter))
        const others = late(workspaceId, filter)
        if (!others) return all.limit(limit).offset(offset)
        // Two queries, each in the order of the index: a condition on two states would sort all rows of both.
        const more = await newest(others)
        const skipped = Math.max(0, offset - more.length)
        const found = [...more, ...(await all.limit(limit + more.length).offset(skipped))]
        // One that was ended between the queries is in both.
        const unique = [...new Map(found.map((row) => [row.id, row])).values()]
        const from = offset - skipped
        return unique.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(from, from + limit)
      },
      async count(workspaceId: string, filter: VerificationFilter): Promise<number> {
        const some = or(matching(workspaceId, filter), late(workspaceId, filter) ?? undefined)
        return (await db.select({ n: rowCount }).from(t).where(some))[0]?.n ?? 0
      },
      /** Pending verifications of all workspaces whose code has expired, for the sweeper. */
      async due(now: Date, limit: number): Promise<Pick<VerificationRow, 'workspace_id' | 'id'>[]> {
        const { workspace_id, id } = t
        const due = and(isNull(t.ended_at), lte(t.expires_at, now))
        const found = db.select({ workspace_id, id }).from(t).where(due)
        return found.orderBy(asc(t.expires_at)).limit(limit)
      },
      /**
       * Pending verifications of all workspaces whose next channel is due, with the status of the last message. A failure of
       * this message makes the next channel due at once.
       */
      async dueFallbacks(
        now: Date,
        limit: number,
      ): Promise<{ row: VerificationRow; status: MessageStatus | null }[]> {
        const last = and(eq(messages.workspace_id, t.workspace_id), eq(messages.id, t.message_id))
        return db
          .select({ row: t, status: messages.status })
          .from(t)
          .leftJoin(messages, last)
          .where(and(lte(t.fallback_at, now), isNull(t.ended_at)))
          .orderBy(asc(t.fallback_at))
          .limit(limit)
      },
      /** All verifications that have an address as their first or second one, with the ids of all their messages. */
      async naming(
        workspaceId: string,
        address: string,
      ): Promise<{ recipient: string; message_ids: string[] }[]> {
        const { recipient, message_id, messages } = t
        const columns = { recipient, message_id, messages }
        const found = await db.select(columns).from(t).where(naming(workspaceId, address))
        return found.map((row) => ({ recipient: row.recipient, message_ids: messageIdsOf(row) }))
      },
      /** The counts of a workspace since a time, by country, the most messages first. */
      async totals(workspaceId: string, since: Date) {
        const sent = sql<number>`cast(sum(${counts.sent}) as bigint)`
        return db
          .select({
            country: counts.country,
            sent,
            approved: sql<number>`cast(sum(${counts.approved}) as bigint)`,
            credits_used: sql<Units>`cast(sum(${counts.credits_used}) as bigint)`,
          })
          .from(counts)
          .where(and(eq(counts.workspace_id, workspaceId), gte(counts.hour, since)))
          .groupBy(counts.country)
          .orderBy(desc(sent), asc(counts.country))
      },
      /** The counts of countries of workspaces since a time. */
      async countsOf(
        countries: readonly Pick<VerificationPauseRow, 'workspace_id' | 'country'>[],
        since: Date,
      ): Promise<VerificationCountRow[]> {
        const found: VerificationCountRow[] = []
        // SQLite refuses conditions that are nested deeper than 1,000.
        for (let from = 0; from < countries.length; from += 100) {
          const asked = countries
            .slice(from, from + 100)
            .map(({ workspace_id, country }) =>
              and(eq(counts.workspace_id, workspace_id), eq(counts.country, country)),
            )
          const some = and(or(...asked), gt(counts.hour, since))
          found.push(...(await db.select().from(counts).where(some)))
        }
        return found
      },
      /**
       * How far the newest `limit` verifications of a workspace since an id came, by country and hour (hours since 1970). A
       * message that retention removed was sent. Codes of other services are left out: their approvals are not known.
       */
      async progress(
        workspaceId: string,
        { livemode, since_id, limit }: { livemode: boolean; since_id: string; limit: number },
      ) {
        const newest = db
          .select({
            id: t.id,
            country: t.country,
            hour: hourOf(t.created_at).as('hour'),
            code_status: sql<VerificationStatus>`${t.status}`.as('code_status'),
            message_id: t.message_id,
          })
          .from(t)
          .where(
            and(
              eq(t.workspace_id, workspaceId),
              gte(t.id, since_id),
              eq(t.livemode, livemode),
              ne(t.status, 'external'),
            ),
          )
          .orderBy(desc(t.id))
          .limit(limit)
          .as('newest')
        const last = and(eq(messages.workspace_id, workspaceId), eq(messages.id, newest.message_id))
        const isApproved = sql`${newest.code_status} = 'approved'`
        const numberOf = (condition: SQL) =>
          sql<number>`cast(sum(case when ${condition} then 1 else 0 end) as bigint)`
        return db
          .select({
            country: newest.country,
            hour: sql<number>`${newest.hour}`,
            first_id: sql<string>`min(${newest.id})`,
            requested: rowCount,
            sent: numberOf(
              sql`${isApproved} or coalesce(${messages.status}, 'sent') in ('sent', 'delivered', 'read')`,
            ),
            delivered: numberOf(sql`${isApproved} or ${messages.status} in ('delivered', 'read')`),
            approved: numberOf(isApproved),
          })
          .from(newest)
          .leftJoin(messages, last)
          .groupBy(newest.country, newest.hour)
      },
      /** The countries to which a workspace sends no codes, or is allowed to send them again. */
      async pauses(workspaceId: string): Promise<VerificationPauseRow[]> {
        const own = db.select().from(pauses).where(eq(pauses.workspace_id, workspaceId))
        return own.orderBy(asc(pauses.country))
      },
      /** The paused countries of all workspaces, the newest pauses first, for the operator. */
      async pausesOfAll(since: Date, limit: number): Promise<VerificationPauseRow[]> {
        const recent = and(isNull(pauses.allowed_until), gt(pauses.paused_at, since))
        const paused = db.select().from(pauses).where(recent)
        return paused.orderBy(desc(pauses.paused_at)).limit(limit)
      },
    },
    writes: {
      /** The verification, locked until the transaction ends. */
      async lock(workspaceId: string, id: string): Promise<VerificationRow | null> {
        return (await locked(db.select().from(t).where(mine(workspaceId, id))))[0] ?? null
      },
      /** Stores status, attempts and end of a locked verification. */
      async change(row: VerificationRow): Promise<void> {
        const { status, seed, attempts, updated_at, ended_at } = row
        const set = { status, seed, attempts, updated_at, ended_at }
        await db.update(t).set(set).where(mine(row.workspace_id, row.id))
      },
      /** Stores the channels that are tried next, of a locked verification. */
      async changeFallback({
        workspace_id,
        id,
        fallback,
        fallback_at,
      }: Pick<VerificationRow, 'workspace_id' | 'id' | 'fallback' | 'fallback_at'>): Promise<void> {
        await db.update(t).set({ fallback, fallback_at }).where(mine(workspace_id, id))
      },
      /** Notes that a country is paused; false if this was noted after `since`, or if an operator allows it since then. */
      async notePause(pause: VerificationPauseRow, since: Date): Promise<boolean> {
        const { sent, approved, paused_at } = pause
        const isOld = or(
          and(isNull(pauses.allowed_until), lte(pauses.paused_at, since)),
          lte(pauses.allowed_until, paused_at),
        ) as SQL
        const noted = await db
          .insert(pauses)
          .values(pause)
          .onConflictDoUpdate({
            target: [pauses.workspace_id, pauses.country],
            set: { sent, approved, paused_at, allowed_until: null },
            setWhere: isOld,
          })
          .returning({ country: pauses.country })
        return noted.length > 0
      },
      /** Allows codes to a country until a time, whatever its counts are. */
      async allow(pause: VerificationPauseRow): Promise<void> {
        const { allowed_until } = pause
        const target = [pauses.workspace_id, pauses.country]
        await db.insert(pauses).values(pause).onConflictDoUpdate({ target, set: { allowed_until } })
      },
      /**
       * Removes from the messages of at most `limit` verifications, which began before a time, what their code is derived from.
       * Returns the number of verifications.
       */
      async removeCodes(before: Date, limit: number): Promise<number> {
        const coded = db
          .select({
            workspace_id: t.workspace_id,
            id: t.id,
            messages: t.messages,
            message_id: t.message_id,
          })
          .from(t)
          // The condition has the same text as in the index.
          .where(and(sql`${t.code_removed} = false`, lte(t.created_at, before)))
          .orderBy(asc(t.created_at), asc(t.id))
          .limit(limit)
        // A settlement locks messages first, but no verification that began a day ago.
        const found = await locked(coded)
        await withoutCodes(found)
        for (const row of found) {
          await db.update(t).set({ code_removed: true }).where(mine(row.workspace_id, row.id))
        }
        return found.length
      },
      /**
       * Removes about `limit` verifications of all workspaces that ended before `ended`, and counts from before `counted`. A
       * verification whose messages still have their code stays.
       */
      async removeEnded(
        { ended: before, counted }: { ended: Date; counted: Date },
        limit: number,
      ): Promise<number> {
        await removeOldest(
          db,
          { from: counts, by: counts.hour, condition: lte(counts.hour, counted) },
          limit,
        )
        const condition = and(lte(t.ended_at, before), eq(t.code_removed, true))
        return removeOldest(db, { from: t, by: t.ended_at, condition }, limit)
      },
      /**
       * Removes the verifications whose first address this is, and the address from those whose second one it is: these continue
       * with the first. Messages in flight keep their code; the verification of such a message ends and stays without its
       * address, so that `removeCodes` finds the message. Returns the number of changed verifications.
       */
      async forget(workspaceId: string, address: string, at: Date): Promise<number> {
        const theirs = () =>
          db
            .select()
            .from(t)
            .where(naming(workspaceId, address))
            .orderBy(asc(t.created_at), asc(t.id))
        // Messages are locked before verifications, as in a settlement. A message that follows meanwhile is queued.
        const removed = (await theirs()).filter(({ recipient }) => recipient === address)
        await withoutCodes(removed, { keepsQueued: true })
        const rows = await locked(theirs())
        const coded = await messagesWithCodes(rows)
        for (const row of rows) {
          const one = mine(workspaceId, row.id)
          if (row.recipient !== address) await db.update(t).set(withoutSecond(row)).where(one)
          else if (messageIdsOf(row).some((id) => coded.has(id))) {
            await db.update(t).set(withoutPerson(row, at)).where(one)
          } else await db.delete(t).where(one)
        }
        return rows.length
      },
    },
  }
}

/** The columns of a verification that change when it loses its second address, and with it the channels of this kind. */
function withoutSecond({
  recipient,
  options,
  fallback: channels,
  fallback_at,
}: VerificationRow): Partial<VerificationRow> {
  const isMail = recipient.includes('@')
  const rest = channels?.filter((channel) => (channel === 'email') === isMail) ?? []
  const fallback = rest.length > 0 ? rest : null
  const { to: _, ...others } = options
  return {
    other_recipient: null,
    options: isMail ? options : others,
    fallback,
    fallback_at: fallback && fallback_at,
  }
}

/** The columns of a verification that change when its first address is erased. A pending one ends. */
function withoutPerson(row: VerificationRow, at: Date): Partial<VerificationRow> {
  const { status, seed, updated_at, ended_at } =
    row.status === 'pending' ? ended(row, 'canceled', at) : row
  return {
    ...{ status, seed, updated_at, ended_at },
    ...{ recipient: ERASED, other_recipient: null, options: {}, metadata: {} },
    ...{ client_network: null, fallback: null, fallback_at: null },
  }
}

/** SQL: the hours from 1970 to a time. SQLite stores milliseconds, and its columns are cast to PostgreSQL's types. */
function hourOf(at: PgColumn): SQL<number> {
  return is(at, PgColumn)
    ? sql<number>`cast(floor(extract(epoch from ${at}) / 3600) as bigint)`
    : sql<number>`${at} / 3600000`
}
