import type { Account, Decision, Entry, Operation } from './decide.ts'

export interface CreditReads {
  account(workspaceId: string): Promise<Account | null>
  /** Newest first. */
  entries(workspaceId: string, page: { limit: number; offset: number }): Promise<Entry[]>
  /** Newest first, beginning with number `seq`. */
  entriesFrom(workspaceId: string, from: { seq: number; limit: number }): Promise<Entry[]>
  /** Those whose reference has one of these ids, oldest first. */
  entriesAbout(workspaceId: string, referenceIds: readonly string[]): Promise<Entry[]>
}

export interface CreditWrites {
  /** Opens an empty account. */
  open(workspaceId: string, at: Date): Promise<void>
  /** Sets how far into debt the workspace may go, and whether it may spend at all. Answers false without an account. */
  setTerms(
    workspaceId: string,
    terms: Pick<Account, 'credit_limit' | 'status'>,
    at: Date,
  ): Promise<boolean>
  /**
   * Locks the account, lets `decide` answer, and writes account and entry together. An operation whose reference is
   * booked already changes nothing: the same one is answered with the entry that stands, another amount is a conflict.
   */
  post(workspaceId: string, operation: Operation): Promise<Posted>
}

/** What became of an operation: decided, booked before, or at odds with what was booked under its reference. */
export type Posted =
  | Decision
  | { ok: true; repeated: Entry }
  | { ok: false; reason: 'ref_conflict'; standing: Entry }
