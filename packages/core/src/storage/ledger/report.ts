/** What a difference is about. */
export const LEDGER_CHECKS = [
  'row',
  'balance',
  'held',
  'seq',
  'account',
  'sequence',
  'balance_after',
  'held_after',
  'price',
  'message',
  'bulk',
  'reference',
  'refund',
  'settle',
  'resolves',
  'hold',
  'open_holds',
  'stale_hold',
  'unpaid_message',
  'refunded_message',
  'stuck_message',
  'bulk_row',
  'purchase',
  'purchase_sum',
  'credit_limit',
  'lot',
  'trial_balance',
] as const
export type LedgerCheck = (typeof LEDGER_CHECKS)[number]

/** One thing in the books that is not as it must be. Amounts are whole micro-credits, as text. */
export interface LedgerDifference {
  check: LedgerCheck
  workspace_id: string
  /** The entry that it shows at; null where it is about no single one. */
  seq: number | null
  /**
   * What it is about: `message:<id>`, `purchase:<id>`, …; null for the account itself. Of the check `row`, which column of
   * which row cannot be read: `messages:<id>.credits_used`.
   */
  about: string | null
  stands: string
  should: string
}

/** What stands on one side of the books, in micro-credits as text: sums over all workspaces may pass 2^53. */
export interface CounterAccount {
  counter_account: string
  entries: number
  balance: string
}

/** What was checked and found. */
export interface LedgerReport {
  ok: boolean
  workspaces: number
  entries: number
  messages: number
  /** What all workspaces have; the counter accounts have as much with the other sign. */
  workspaces_balance: string
  counter_accounts: CounterAccount[]
  /** The first of each check, in the order of the checks. */
  differences: LedgerDifference[]
  /** Whether there are more than those. */
  has_more: boolean
}
