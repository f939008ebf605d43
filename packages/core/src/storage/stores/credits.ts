import { and, asc, desc, eq, inArray, lte } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { isFunding } from '../../rows/credits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import {
  type Account,
  type Decision,
  decide,
  type Entry,
  isRepetition,
  newAccount,
  type Operation,
} from '../../rules/decide.ts'

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
        const about = and(
          eq(entries.workspace_id, workspaceId),
          inArray(entries.ref_id, referenceIds),
        )
        return (await db.select().from(entries).where(about).orderBy(asc(entries.seq))) as Entry[]
      },
      /** Returns the newest first, starting with entry `seq`. `is_funding`: only entries that no message caused. */
      async entriesFrom(
        workspaceId: string,
        { seq, limit, is_funding }: { seq: number; limit: number; is_funding?: boolean },
      ): Promise<Entry[]> {
        const older = and(
          eq(entries.workspace_id, workspaceId),
          lte(entries.seq, seq),
          is_funding ? isFunding(entries.kind) : undefined,
        )
        const found = db.select().from(entries).where(older)
        return (await found.orderBy(desc(entries.seq)).limit(limit)) as Entry[]
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
