import type { Units } from '../../contract/fields/units.ts'

import type { EntryKind } from '../../rows/credits.ts'
import type { HoldRow, LotRow } from '../../rows/rows.ts'
import type { Account, Decision, Entry, Operation } from '../../rules/decide.ts'

/** What ends by itself, as far as its place among all such goes: by when it does, then by id. */
export interface Overdue {
  expires_at: Date
  id: string
}

/** An account with what only people want to know of it. */
export interface AccountRecord extends Account {
  /** Why nothing may be spent; null while it may. */
  frozen_reason: string | null
  /** Whether `low_balance` is the service's own, and follows it. */
  low_balance_default: boolean
  updated_at: Date
}

export interface CreditReads {
  account(workspaceId: string): Promise<AccountRecord | null>
  /** Newest first. */
  entries(workspaceId: string, page: { limit: number; offset: number }): Promise<Entry[]>
  /** Newest first, beginning with number `seq`. */
  entriesFrom(workspaceId: string, from: { seq: number; limit: number }): Promise<Entry[]>
  /** Those whose reference has one of these ids, oldest first. */
  entriesAbout(workspaceId: string, referenceIds: readonly string[]): Promise<Entry[]>
}

export interface CreditWrites {
  /** Opens an empty account; with no limits unless told. */
  open(
    workspaceId: string,
    at: Date,
    limits?: Partial<Pick<Account, 'daily_limit' | 'low_balance'>>,
  ): Promise<void>
  /** The account, which nobody else changes until the transaction ends. */
  lock(workspaceId: string): Promise<AccountRecord | null>
  /**
   * Sets the terms that are given, and leaves the others. An active account has no reason to be frozen: `active` clears
   * it. Answers false without an account.
   */
  setTerms(workspaceId: string, terms: Terms, at: Date): Promise<boolean>
  /**
   * Locks the account, lets `decide` answer, and writes account and entry together. An operation whose reference is
   * booked already changes nothing: the same one is answered with the entry that stands, another amount is a conflict.
   */
  post(workspaceId: string, operation: Operation): Promise<Posted>
}

/** On what terms a workspace spends: how far into debt, how much a day, whether at all, and when its owner is told. */
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
  /** What is held just now, the first to run out first. */
  open(workspaceId: string, page: { limit: number; offset: number }): Promise<HoldRow[]>
}

export interface CreditHoldWrites {
  insert(hold: HoldRow): Promise<void>
  remove(workspaceId: string, ids: readonly string[]): Promise<void>
  /** Those of whatever workspace that have run out, the longest ago first, behind `after`. */
  overdue(now: Date, page: { after: Overdue | null; limit: number }): Promise<HoldRow[]>
}

export interface CreditLotReads {
  /** Those that have not ended, in burn order; `remaining` is as of `counted_seq`. */
  open(workspaceId: string): Promise<LotRow[]>
  /**
   * What the entries of these kinds numbered above `after`, up to `up_to`, consumed in sum. A refund gives back what its
   * debit consumed, so it counts only where that is numbered above `after` too.
   */
  consumed(
    workspaceId: string,
    entries: { after: number; up_to: number; kinds: readonly EntryKind[] },
  ): Promise<Units>
}

export interface CreditLotWrites {
  insert(lot: LotRow): Promise<void>
  /** Takes down what is left of `lots`, and that all open lots are counted up to entry `seq`. */
  recount(
    workspaceId: string,
    seq: number,
    lots: readonly Pick<LotRow, 'id' | 'remaining'>[],
  ): Promise<void>
  end(workspaceId: string, id: string, at: Date): Promise<void>
  /** Those of whatever workspace that have expired and not ended yet, the longest ago first, behind `after`. */
  due(now: Date, page: { after: Overdue | null; limit: number }): Promise<LotRow[]>
}

/** What became of an operation: decided, booked before, or at odds with what was booked under its reference. */
export type Posted =
  | Decision
  | { ok: true; repeated: Entry }
  | { ok: false; reason: 'ref_conflict'; standing: Entry }
