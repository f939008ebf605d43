import { and, asc, desc, eq, gt, gte, inArray, lte, sql } from 'drizzle-orm'
import { type Units, units } from '../../contract/fields/units.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import {
  type CausedEntry,
  type CauseSum,
  type DaySum,
  dayOf,
  sumsOf,
} from '../../rules/credit-sums.ts'
import { blocksOf, filledUp, type StoreDialect } from './queries.ts'

/** A range of days since 1970, both inclusive. */
export interface DayRange {
  from: number
  until: number
}

/** Sums of days, from entries up to the number `seq`. */
export interface SummedDays {
  seq: number
  /** The first day with entries; null for none. */
  first_day: number | null
  /** The sums of all earlier days. */
  before: { amount: Units; held_delta: Units }
  days: DaySum[]
}

/** The sums of the ledger by day and origin, of entries up to a number: entries never change, so they are exact. */
export function creditSumStore(db: Db, tables: Tables, { hold }: Pick<StoreDialect, 'hold'>) {
  const { credit_days: days, credit_causes: causes, credit_marks: marks } = tables
  const { credit_accounts: accounts, ledger_entries: entries, messages } = tables
  const { bulks, broadcasts, api_keys, ledger_openings: openings } = tables

  const markOf = (workspaceId: string) => eq(marks.workspace_id, workspaceId)

  /** The next entries, oldest first, with the origin of their message or bulk. */
  async function entriesAfter(
    workspaceId: string,
    { seq, limit }: { seq: number; limit: number },
  ): Promise<CausedEntry[]> {
    // A query of its own, so that no planner joins the whole history.
    const next = db
      .select({
        seq: entries.seq,
        kind: entries.kind,
        amount: entries.amount,
        held_delta: entries.held_delta,
        channel: entries.channel,
        created_at: entries.created_at,
        ref_type: entries.ref_type,
        ref_id: entries.ref_id,
      })
      .from(entries)
      .where(and(eq(entries.workspace_id, workspaceId), gt(entries.seq, seq)))
      .orderBy(asc(entries.seq))
      .limit(limit)
      .as('next')
    const { kind, amount, held_delta, channel, created_at } = next
    return (await db
      .select({
        ...{ seq: next.seq, kind, amount, held_delta, channel, created_at },
        api_key_id: sql<string | null>`coalesce(${messages.api_key_id}, ${bulks.api_key_id})`,
        bulk_id: bulks.id,
        broadcast_id: bulks.broadcast_id,
      })
      .from(next)
      .leftJoin(
        messages,
        and(
          eq(messages.workspace_id, workspaceId),
          eq(messages.id, next.ref_id),
          eq(next.ref_type, 'message'),
        ),
      )
      .leftJoin(
        bulks,
        and(
          eq(bulks.workspace_id, workspaceId),
          sql`${bulks.id} = case ${next.ref_type} when 'bulk' then ${next.ref_id} else ${messages.bulk_id} end`,
        ),
      )
      .orderBy(asc(next.seq))) as CausedEntry[]
  }

  /** Adds sums to the stored days. */
  async function addDays(workspaceId: string, sums: readonly DaySum[]): Promise<void> {
    for (const block of blocksOf(sums)) {
      await db
        .insert(days)
        .values(block.map((sum) => ({ workspace_id: workspaceId, ...sum })))
        .onConflictDoUpdate({
          target: [days.workspace_id, days.day, days.kind, days.channel, days.api_key_id],
          set: {
            count: sql`${days.count} + excluded.count`,
            amount: sql`${days.amount} + excluded.amount`,
            held_delta: sql`${days.held_delta} + excluded.held_delta`,
          },
        })
    }
  }

  /**
   * Begins the sums of a ledger with those of the entries that its opening replaces, all on the day of the last one.
   * Returns the number of that entry; 0 without an opening.
   */
  async function addOpening(workspaceId: string): Promise<number> {
    const { seq, sums, last_at } = openings
    const [opening] = await db
      .select({ seq, sums, last_at })
      .from(openings)
      .where(eq(openings.workspace_id, workspaceId))
    if (!opening) return 0
    const day = dayOf(opening.last_at)
    for (const { kind, entries: count, amount, held_delta } of opening.sums) {
      const sum = { day, kind, channel: '', api_key_id: '', count }
      const moved = { amount: amount as Units, held_delta: held_delta as Units }
      await addDays(workspaceId, [{ ...sum, ...moved }])
    }
    return opening.seq
  }

  return {
    reads: {
      entriesAfter,
      /** Workspaces with entries that are not in the sums, sorted by id, with ids above `after`. */
      async due({ after, limit }: { after: string; limit: number }): Promise<string[]> {
        const found = await db
          .select({ id: accounts.workspace_id })
          .from(accounts)
          .leftJoin(marks, eq(marks.workspace_id, accounts.workspace_id))
          .where(
            and(gt(accounts.workspace_id, after), sql`${accounts.seq} > coalesce(${marks.seq}, 0)`),
          )
          .orderBy(asc(accounts.workspace_id))
          .limit(limit)
        return found.map(({ id }) => id)
      },
      /**
       * The sums of the days, the sums of all days before, the number of the last entry in them, and the first day of all; in one
       * statement, so that sums and number belong together. Without sums, the number is 0.
       */
      async days(workspaceId: string, { from, until }: DayRange): Promise<SummedDays> {
        const own = sql`from ${days} d where d.workspace_id = ${workspaceId}`
        const earlier = (column: string) =>
          sql<Units>`(select cast(coalesce(sum(d.${sql.identifier(column)}), 0) as bigint) ${own} and d.day < ${from})`
        const { day, kind, channel, api_key_id, count, amount, held_delta } = days
        const rows = await db
          .select({
            seq: marks.seq,
            first_day: sql<number | null>`(select min(d.day) ${own})`,
            amount: earlier('amount'),
            held_delta: earlier('held_delta'),
            sum: { day, kind, channel, api_key_id, count, amount, held_delta },
          })
          .from(marks)
          .leftJoin(days, and(eq(days.workspace_id, workspaceId), gte(day, from), lte(day, until)))
          .where(markOf(workspaceId))
          .orderBy(asc(day), asc(kind), asc(channel), asc(api_key_id))
        const [row] = rows
        return {
          seq: row?.seq ?? 0,
          first_day: row?.first_day ?? null,
          before: { amount: row?.amount ?? units(0), held_delta: row?.held_delta ?? units(0) },
          days: rows.flatMap(({ sum }) => (sum && sum.day !== null ? [sum] : [])),
        }
      },
      /** What bulks and broadcasts cost on days of the range, the newest `limit` sums. */
      async causes(
        workspaceId: string,
        { from, until }: DayRange,
        limit: number,
      ): Promise<CauseSum[]> {
        const own = and(
          eq(causes.workspace_id, workspaceId),
          gte(causes.day, from),
          lte(causes.day, until),
        )
        const { day, cause_id, cause_type, channel, api_key_id, spent, refunded, refunds } = causes
        return db
          .select({ day, cause_id, cause_type, channel, api_key_id, spent, refunded, refunds })
          .from(causes)
          .where(own)
          .orderBy(desc(causes.day), desc(causes.cause_id))
          .limit(limit)
      },
      /** The names of these API keys, bulks and broadcasts; those without a name are not in the list. */
      async originNames(
        workspaceId: string,
        ids: { keys: readonly string[]; bulks: readonly string[]; broadcasts: readonly string[] },
      ): Promise<{ id: string; name: string }[]> {
        const tables = [
          [api_keys, ids.keys],
          [bulks, ids.bulks],
          [broadcasts, ids.broadcasts],
        ] as const
        const found: { id: string; name: string | null }[] = []
        for (const [t, wanted] of tables) {
          const mine = and(eq(t.workspace_id, workspaceId), inArray(t.id, filledUp(wanted)))
          if (wanted.length === 0) continue
          found.push(...(await db.select({ id: t.id, name: t.name }).from(t).where(mine)))
        }
        return found.flatMap(({ id, name }) => (name === null ? [] : [{ id, name }]))
      },
    },
    writes: {
      /** Adds at most the next `limit` entries to the sums. Returns whether there may be more. */
      async extend(workspaceId: string, limit: number): Promise<boolean> {
        await hold(db, `credit sums ${workspaceId}`)
        const [mark] = await db.select().from(marks).where(markOf(workspaceId))
        const folded = mark ? 0 : await addOpening(workspaceId)
        const next = await entriesAfter(workspaceId, { seq: mark?.seq ?? 0, limit })
        const seq = next.at(-1)?.seq ?? folded
        if (seq === 0) return false
        const sums = sumsOf(next)
        await addDays(workspaceId, sums.days)
        for (const block of blocksOf(sums.causes)) {
          await db
            .insert(causes)
            .values(block.map((sum) => ({ workspace_id: workspaceId, ...sum })))
            .onConflictDoUpdate({
              target: [causes.workspace_id, causes.day, causes.cause_id],
              set: {
                spent: sql`${causes.spent} + excluded.spent`,
                refunded: sql`${causes.refunded} + excluded.refunded`,
                refunds: sql`${causes.refunds} + excluded.refunds`,
              },
            })
        }
        await db
          .insert(marks)
          .values({ workspace_id: workspaceId, seq })
          .onConflictDoUpdate({ target: marks.workspace_id, set: { seq } })
        return next.length === limit
      },
    },
  }
}
