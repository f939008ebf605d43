import type { Account } from '../rules/decide.ts'

/** What `decide` is given of an account. */
export const ACCOUNT_COLUMNS = [
  'workspace_id',
  'balance',
  'held',
  'credit_limit',
  'seq',
  'status',
  'daily_limit',
  'spent_on',
  'spent',
  'low_balance',
  'low_state',
] as const satisfies (keyof Account)[]

/** What `decide` changes of it. */
export const ACCOUNT_CHANGES = [
  'balance',
  'held',
  'seq',
  'spent_on',
  'spent',
  'low_state',
] as const satisfies (keyof Account)[]
