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
  /** Why the account is frozen; null while it is active. */
  frozen_reason: string | null
  /** Whether `low_balance` follows the default of the service. */
  low_balance_default: boolean
  updated_at: Date
}

export interface CreditReads {
  account(workspaceId: string): Promise<AccountRecord | null>
  /** Newest first. */
  entries(workspaceId: string, page: Slice): Promise<Entry[]>
  /** Newest first, from number `seq` down. */
  entriesFrom(workspaceId: string, from: { seq: number; limit: number }): Promise<Entry[]>
  /** The entries that refer to one of these ids, oldest first. */
  entriesAbout(workspaceId: string, referenceIds: readonly string[]): Promise<Entry[]>
}

export interface CreditWrites {
  /** Opens an empty account; no limits by default. */
  open(
    workspaceId: string,
    at: Date,
    limits?: Partial<Pick<Account, 'daily_limit' | 'low_balance'>>,
  ): Promise<void>
  /** The account, locked until the transaction ends. */
  lock(workspaceId: string): Promise<AccountRecord | null>
  /**
   * Sets the given terms and keeps the others. `active` clears the reason of a freeze. Returns false without an
   * account.
   */
  setTerms(workspaceId: string, terms: Terms, at: Date): Promise<boolean>
  /**
   * Locks the account, calls `decide`, and writes account and entry together. An operation whose reference is booked
   * already changes nothing: the same operation returns the existing entry, another amount is a conflict.
   */
  post(workspaceId: string, operation: Operation): Promise<Posted>
}

/**
 * The terms of an account: how far into debt, how much a day, whether it may spend, and when its owner is notified.
 */
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
  /** The open holds, the first to expire first. */
  open(workspaceId: string, page: Slice): Promise<HoldRow[]>
}

export interface CreditHoldWrites {
  insert(hold: HoldRow): Promise<void>
  remove(workspaceId: string, ids: readonly string[]): Promise<void>
  /** Expired holds of all workspaces, the longest expired first, after `after`. */
  overdue(now: Date, page: { after: Overdue | null; limit: number }): Promise<HoldRow[]>
}

export interface CreditLotReads {
  /** The lots that have not ended, in burn order; `remaining` is as of `counted_seq`. */
  open(workspaceId: string): Promise<LotRow[]>
  /**
   * The sum that the entries of these kinds consumed, from the first above `after` up to `up_to`. A refund returns
   * what its debit consumed, so it counts only if the debit too is above `after`.
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
  /** Expired lots of all workspaces that have not ended yet, the longest expired first, after `after`. */
  due(now: Date, page: { after: Overdue | null; limit: number }): Promise<LotRow[]>
}

/** The outcome of an operation: decided now, booked before, or in conflict with the entry under its reference. */
export type Posted =
  | Decision
  | { ok: true; repeated: Entry }
  | { ok: false; reason: 'ref_conflict'; standing: Entry }
