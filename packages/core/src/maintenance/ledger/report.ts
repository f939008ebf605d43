/** The kinds of differences. */
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
  'opening',
  'signature',
  'removed',
  'credit_sums',
  'trial_balance',
] as const
/** The name of one check of the books. */
export type LedgerCheck = (typeof LEDGER_CHECKS)[number]

/** One inconsistency in the books. Amounts are whole micro-credits, as text. */
export interface LedgerDifference {
  check: LedgerCheck
  workspace_id: string
  /** The number of the entry; null if the difference does not concern exactly one entry. */
  seq: number | null
  /**
   * The subject: `message:<id>`, `purchase:<id>`, …; null for the account itself. For the check `row`, the unreadable
   * column and its row: `messages:<id>.credits_used`.
   */
  about: string | null
  stands: string
  should: string
}

/** The sum of one counter account, in micro-credits as text: sums over all workspaces may exceed 2^53. */
export interface CounterAccount {
  counter_account: string
  entries: number
  balance: string
}

/** The scope and the result of a verification. */
export interface LedgerReport {
  ok: boolean
  workspaces: number
  entries: number
  messages: number
  /** The workspaces whose ledger has an opening, and the number of entries that openings stand for. */
  openings: number
  folded_entries: number
  /** Whether the signatures of the openings were compared; false if the key of the service could not be read. */
  signatures_checked: boolean
  /** The sum of all balances; the counter accounts have the same sum with the opposite sign. */
  workspaces_balance: string
  counter_accounts: CounterAccount[]
  /** The first differences of each check, in the order of the checks. */
  differences: LedgerDifference[]
  /** Whether there are more differences. */
  has_more: boolean
}
