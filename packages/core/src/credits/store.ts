import type { Account, Decision, Entry, Operation } from './decide.ts'

export interface CreditReads {
  account(workspaceId: string): Promise<Account | null>
  /** Newest first. */
  entries(workspaceId: string, page: { limit: number; offset: number }): Promise<Entry[]>
}

export interface CreditWrites {
  /** Opens an empty account. */
  open(workspaceId: string, at: Date): Promise<void>
  /**
   * Locks the account, lets `decide` answer, and writes account and entry together. An operation whose reference is
   * booked already is answered with the entry that stands, and changes nothing.
   */
  post(workspaceId: string, operation: Operation): Promise<Decision | { ok: true; repeated: Entry }>
}
