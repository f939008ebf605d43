import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Units } from '../../contract/fields/units.ts'

import type { EntryKind } from '../../rows/credits.ts'
import type { HoldRow, LotRow } from '../../rows/rows.ts'
import type { Account, Decision, Entry, Operation } from '../../rules/decide.ts'

/** The position of a row in the order of expiry: by time, then by id. */
export interface Overdue {
  expires_at: Date
  id: string
}

/** An account with the columns that no decision needs. */
export interface AccountRecord extends Account {
  /** The reason of the freeze; null while the account is active. */
  frozen_reason: string | null
  /** Whether `low_balance` follows the default of the service. */
  low_balance_default: boolean
  updated_at: Date
}

export interface CreditReads {
  account(workspaceId: string): Promise<AccountRecord | null>
  /** Returns the newest first. */
  entries(workspaceId: string, page: Slice): Promise<Entry[]>
  /** Returns the newest first, starting with entry `seq`. `is_funding`: only entries that no message caused. */
  entriesFrom(
    workspaceId: string,
    from: { seq: number; limit: number; is_funding?: boolean },
  ): Promise<Entry[]>
  /** The entries that refer to one of these ids, oldest first. */
  entriesAbout(workspaceId: string, referenceIds: readonly string[]): Promise<Entry[]>
}

export interface CreditWrites {
  /** Opens an empty account, without limits by default. */
  open(
    workspaceId: string,
    at: Date,
    limits?: Partial<Pick<Account, 'daily_limit' | 'low_balance'>>,
  ): Promise<void>
  /** The account, locked until the transaction ends. */
  lock(workspaceId: string): Promise<AccountRecord | null>
  /**
   * Sets the given terms and keeps the others. The status `active` clears the reason of a freeze. Returns false if the
   * account does not exist.
   */
  setTerms(workspaceId: string, terms: Terms, at: Date): Promise<boolean>
  /**
   * Locks the account, calls `decide`, and writes account and entry together. An operation whose reference is already
   * booked changes nothing: the same operation returns the existing entry, another amount is a conflict.
   */
  post(workspaceId: string, operation: Operation): Promise<Posted>
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

export interface CreditHoldReads {
  /** The open holds, sorted by their expiry. */
  open(workspaceId: string, page: Slice): Promise<HoldRow[]>
}

export interface CreditHoldWrites {
  insert(hold: HoldRow): Promise<void>
  remove(workspaceId: string, ids: readonly string[]): Promise<void>
  /** Expired holds of all workspaces after the position `after`, the longest expired first. */
  overdue(now: Date, page: { after: Overdue | null; limit: number }): Promise<HoldRow[]>
}

export interface CreditLotReads {
  /** The lots that have not ended, in the order of their use. `remaining` includes entries up to `counted_seq`. */
  open(workspaceId: string): Promise<LotRow[]>
  /**
   * The sum that entries of these kinds consumed, with numbers above `after` and at most `up_to`. A refund returns the
   * consumption of its debit, so it counts only if its debit is above `after` too.
   */
  consumed(
    workspaceId: string,
    entries: { after: number; up_to: number; kinds: readonly EntryKind[] },
  ): Promise<Units>
}

export interface CreditLotWrites {
  insert(lot: LotRow): Promise<void>
  /** Stores the remaining credits of `lots`, and `seq` as the entry up to which all open lots are counted. */
  recount(
    workspaceId: string,
    seq: number,
    lots: readonly Pick<LotRow, 'id' | 'remaining'>[],
  ): Promise<void>
  end(workspaceId: string, id: string, at: Date): Promise<void>
  /** Lots of all workspaces that expired and have not ended, after the position `after`, the longest expired first. */
  due(now: Date, page: { after: Overdue | null; limit: number }): Promise<LotRow[]>
}

/** The outcome of an operation: decided now, booked before, or in conflict with the entry that has its reference. */
export type Posted =
  | Decision
  | { ok: true; repeated: Entry }
  | { ok: false; reason: 'ref_conflict'; standing: Entry }
