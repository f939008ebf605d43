import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lte, ne, or, sql } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Units } from '../../contract/fields/units.ts'
import { type EntryKind, isFunding } from '../../rows/credits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { HoldRow, LotRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import {
  type Account,
  availableOf,
  type Decision,
  decide,
  type Entry,
  isRepetition,
  newAccount,
  type Operation,
} from '../../rules/decide.ts'
import { isAfter, isIndexed } from './queries.ts'

/** An account with the columns that no decision needs. */
export interface AccountRecord extends Account {
  /** The reason of the freeze; null while the account is active. */
  frozen_reason: string | null
  /** Whether `low_balance` follows the default of the service. */
  low_balance_default: boolean
  updated_at: Date
}

/** The terms of an account: its credit limit and daily limit, whether it may spend, and when its owner is notified. */
export type Terms = Partial<
  Pick<
    AccountRecord,
    | 'credit_limit'
    | 'daily_limit'
    | 'low_balance'
    | 'low_balance_default'
    | 'status'
    | 'frozen_reason'
  >
>

/** The outcome of an operation: decided now, booked before, or in conflict with the entry that has its reference. */
export type Posted =
  | Decision
  | { ok: true; repeated: Entry }
  | { ok: false; reason: 'ref_conflict'; standing: Entry }

export function creditStore(
  db: Db,
  { credit_accounts: accounts, ledger_entries: entries }: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
) {
  async function find(workspaceId: string, lock: boolean): Promise<AccountRecord | null> {
    const query = db.select().from(accounts).where(eq(accounts.workspace_id, workspaceId))
    const [row] = await (lock ? locked(query) : query)
    return (row as AccountRecord | undefined) ?? null
  }
  return {
    reads: {
      account: (workspaceId: string): Promise<AccountRecord | null> => find(workspaceId, false),
      /** Returns the newest first. */
      async entries(workspaceId: string, { limit, offset }: Slice): Promise<Entry[]> {
        const mine = db.select().from(entries).where(eq(entries.workspace_id, workspaceId))
        return (await mine.orderBy(desc(entries.seq)).limit(limit).offset(offset)) as Entry[]
      },
      /** The entries that refer to one of these ids, oldest first. */
      async entriesAbout(workspaceId: string, referenceIds: readonly string[]): Promise<Entry[]> {
        const mine = eq(entries.workspace_id, workspaceId)
        const some = and(mine, inArray(entries.ref_id, referenceIds))
        const about = and(mine, isIndexed(db, entries, [entries.seq], some))
        return (await db.select().from(entries).where(about).orderBy(asc(entries.seq))) as Entry[]
      },
      /** Returns the newest first, starting with entry `seq`. `is_funding`: only entries that no message caused. */
      async entriesFrom(
        workspaceId: string,
        {
          seq,
          limit,
          offset = 0,
          is_funding,
        }: { seq: number; limit: number; offset?: number; is_funding?: boolean },
      ): Promise<Entry[]> {
        const older = and(
          eq(entries.workspace_id, workspaceId),
          lte(entries.seq, seq),
          is_funding ? isFunding(entries.kind) : undefined,
        )
        const found = db.select().from(entries).where(older)
        return (await found.orderBy(desc(entries.seq)).limit(limit).offset(offset)) as Entry[]
      },
    },
    writes: {
      /** Opens an empty account, without limits by default. */
      async open(
        workspaceId: string,
        at: Date,
        limits: Partial<Pick<Account, 'daily_limit' | 'low_balance'>> = {},
      ): Promise<void> {
        await db.insert(accounts).values({ ...newAccount(workspaceId), ...limits, updated_at: at })
      },
      /** The account, locked until the transaction ends. */
      lock: (workspaceId: string): Promise<AccountRecord | null> => find(workspaceId, true),
      /**
       * Sets the given terms and keeps the others. The status `active` clears the reason of a freeze. Returns false if the
       * account does not exist.
       */
      async setTerms(workspaceId: string, terms: Terms, at: Date): Promise<boolean> {
        const thawed = terms.status === 'active' ? { frozen_reason: null } : {}
        const changed = await db
          .update(accounts)
          .set({ ...terms, ...thawed, updated_at: at })
          .where(eq(accounts.workspace_id, workspaceId))
          .returning({ workspace_id: accounts.workspace_id })
        return changed.length === 1
      },
      /**
       * Locks the account, calls `decide`, and writes account and entry together. An operation whose reference is already
       * booked changes nothing: the same operation returns the existing entry, another amount is a conflict.
       */
      async post(workspaceId: string, operation: Operation): Promise<Posted> {
        const account = await find(workspaceId, true)
        if (!account) throw new Error(`workspace ${workspaceId} has no credit account`)
        const { reference, kind } = operation
        const [standing] = (await db
          .select()
          .from(entries)
          .where(
            and(
              eq(entries.workspace_id, workspaceId),
              eq(entries.ref_id, reference.id),
              eq(entries.kind, kind),
              eq(entries.ref_type, reference.type),
              eq(entries.ref_n, reference.n),
            ),
          )) as Entry[]
        if (standing) {
          return isRepetition(standing, operation)
            ? { ok: true, repeated: standing }
            : { ok: false, reason: 'ref_conflict', standing }
        }
        const decision = decide(account, operation)
        if (!decision.ok) return decision
        await db.insert(entries).values(decision.entry)
        const { balance, held, seq, spent_on, spent, low_state } = decision.account
        await db
          .update(accounts)
          .set({ balance, held, seq, spent_on, spent, low_state, updated_at: operation.at })
          .where(eq(accounts.workspace_id, workspaceId))
        return decision
      },
    },
  }
}

/** The position of a row in the order of expiry: by time, then by id. */
export interface Overdue {
  expires_at: Date
  id: string
}

export function creditHoldStore(db: Db, { credit_holds: t }: Tables) {
  return {
    reads: {
      /** The open holds, sorted by their expiry. */
      async open(workspaceId: string, { limit, offset }: Slice): Promise<HoldRow[]> {
        const mine = db.select().from(t).where(eq(t.workspace_id, workspaceId))
        return await mine.orderBy(asc(t.expires_at), asc(t.id)).limit(limit).offset(offset)
      },
    },
    writes: {
      async insert(hold: HoldRow): Promise<void> {
        await db.insert(t).values(hold)
      },
      async remove(workspaceId: string, ids: readonly string[]): Promise<void> {
        await db.delete(t).where(and(eq(t.workspace_id, workspaceId), inArray(t.id, [...ids])))
      },
      /** Expired holds of all workspaces after the position `after`, the longest expired first. */
      async overdue(
        now: Date,
        { after, limit }: { after: Overdue | null; limit: number },
      ): Promise<HoldRow[]> {
        const past = db
          .select()
          .from(t)
          .where(
            and(
              lte(t.expires_at, now),
              isAfter([t.expires_at, t.id], after && [after.expires_at, after.id]),
            ),
          )
        return await past.orderBy(asc(t.expires_at), asc(t.id)).limit(limit)
      },
    },
  }
}

export function creditLotStore(
  db: Db,
  { credit_lots: t, ledger_entries: entries, messages }: Tables,
) {
  const openOf = (workspaceId: string) => and(eq(t.workspace_id, workspaceId), isNull(t.ended_at))
  const byId = (workspaceId: string, id: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, id))
  /**
   * The `seq` of a refund's debit: the debit of its message or of the message's bulk. The SQL uses scalar subqueries,
   * so that no engine reads all debits for a few refunds.
   */
  const debitOf = (workspaceId: string) => sql`coalesce(
    (select d.seq from ${entries} d where d.workspace_id = ${workspaceId} and d.ref_id = ${entries.ref_id}
      and d.kind = 'send' and d.ref_type = 'message' and d.ref_n = 0),
    (select d.seq from ${messages} m join ${entries} d on d.ref_id = m.bulk_id
      where m.workspace_id = ${workspaceId} and m.id = ${entries.ref_id} and d.workspace_id = ${workspaceId}
      and d.kind = 'send' and d.ref_type = 'bulk' and d.ref_n = 0))`

  return {
    reads: {
      /** The lots that have not ended, in the order of their use. `remaining` includes entries up to `counted_seq`. */
      async open(workspaceId: string): Promise<LotRow[]> {
        const lots = db.select().from(t).where(openOf(workspaceId))
        return await lots.orderBy(asc(t.expires_at), asc(t.granted_seq))
      },
      /**
       * The sum that entries of these kinds consumed, with numbers above `after` and at most `up_to`. A refund returns the
       * consumption of its debit, so it counts only if its debit is above `after` too.
       */
      async consumed(
        workspaceId: string,
        { after, up_to, kinds }: { after: number; up_to: number; kinds: readonly EntryKind[] },
      ): Promise<Units> {
        const between = and(
          eq(entries.workspace_id, workspaceId),
          gt(entries.seq, after),
          lte(entries.seq, up_to),
          inArray(entries.kind, [...kinds]),
          or(
            ne(entries.kind, 'refund'),
            and(eq(entries.ref_type, 'message'), sql`${debitOf(workspaceId)} > ${after}`),
          ),
        )
        // The sum is read as text, because it has another type on PostgreSQL.
        const consumed = sql<string>`cast(coalesce(-sum(${entries.amount}), 0) as text)`
        const [row] = await db.select({ consumed }).from(entries).where(between)
        return Number(row?.consumed ?? 0) as Units
      },
    },
    writes: {
      async insert(lot: LotRow): Promise<void> {
        await db.insert(t).values(lot)
      },
      /** Stores the remaining credits of `lots`, and `seq` as the entry up to which all open lots are counted. */
      async recount(
        workspaceId: string,
        seq: number,
        lots: readonly Pick<LotRow, 'id' | 'remaining'>[],
      ): Promise<void> {
        await db.update(t).set({ counted_seq: seq }).where(openOf(workspaceId))
        for (const { id, remaining } of lots) {
          await db.update(t).set({ remaining }).where(byId(workspaceId, id))
        }
      },
      async end(workspaceId: string, id: string, at: Date): Promise<void> {
        await db.update(t).set({ ended_at: at }).where(byId(workspaceId, id))
      },
      /** Lots of all workspaces that expired and have not ended, after the position `after`, the longest expired first. */
      async due(
        now: Date,
        { after, limit }: { after: Overdue | null; limit: number },
      ): Promise<LotRow[]> {
        const past = and(
          lte(t.expires_at, now),
          isNull(t.ended_at),
          isAfter([t.expires_at, t.id], after && [after.expires_at, after.id]),
        )
        const lots = db.select().from(t).where(past)
        return await lots.orderBy(asc(t.expires_at), asc(t.id)).limit(limit)
      },
    },
  }
}

/** The balance of a workspace when it fell below the threshold. */
export interface LowBalance {
  workspace_id: string
  available: Units
  threshold: Units
}

export function lowBalanceStore(
  db: Db,
  { credit_accounts: t }: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
) {
  const { workspace_id, balance, held, low_balance } = t
  // The condition is a literal: with a parameter, no engine uses the partial index.
  const isDue = sql`${t.low_state} = 'due'`
  const isOther = (threshold: Units | null) =>
    threshold === null
      ? isNotNull(low_balance)
      : or(isNull(low_balance), ne(low_balance, threshold))
  /** An account above the new threshold is no longer low, whatever the old threshold was. */
  const under = (threshold: Units | null, at: Date) => ({
    low_balance: threshold,
    low_state:
      threshold === null
        ? ('no' as const)
        : sql<
            Account['low_state']
          >`case when ${balance} - ${held} >= ${threshold} then 'no' else ${t.low_state} end`,
    updated_at: at,
  })
  return {
    reads: {
      /** At most `limit` workspaces whose owners must be notified, sorted by id, with ids above `after`. */
      async due(limit: number, after?: string): Promise<string[]> {
        const behind = after === undefined ? undefined : gt(workspace_id, after)
        const found = db.select({ workspace_id }).from(t).where(and(isDue, behind))
        return (await found.orderBy(asc(workspace_id)).limit(limit)).map((row) => row.workspace_id)
      },
    },
    writes: {
      /** Records that the owner is notified. Returns each fall below the threshold to one caller; others get null. */
      async claimNotice(workspaceId: string): Promise<LowBalance | null> {
        const [row] = await db
          .update(t)
          .set({ low_state: 'told' })
          .where(and(eq(workspace_id, workspaceId), isDue))
          .returning({ balance, held, threshold: low_balance })
        if (!row || row.threshold === null) return null
        return { workspace_id: workspaceId, available: availableOf(row), threshold: row.threshold }
      },
      /**
       * Gives a workspace its own threshold; null for none. If the value is the current one, nothing changes: a default
       * stays a default. A threshold above the current balance does not notify the owner: only a later fall below the
       * threshold does.
       */
      async set(workspaceId: string, threshold: Units | null, at: Date): Promise<void> {
        await db
          .update(t)
          .set({ ...under(threshold, at), low_balance_default: false })
          .where(and(eq(workspace_id, workspaceId), isOther(threshold)))
      },
      /** Gives every workspace without its own threshold the service's default. */
      async setDefault(threshold: Units | null, at: Date): Promise<void> {
        const others = and(eq(t.low_balance_default, true), isOther(threshold))
        // Locks accounts in the same order as all transactions, which prevents deadlocks.
        await locked(db.select({ workspace_id }).from(t).where(others).orderBy(asc(workspace_id)))
        await db.update(t).set(under(threshold, at)).where(others)
      },
    },
  }
}
