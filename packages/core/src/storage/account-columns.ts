import type { Account } from '../rules/decide.ts'

/** The columns of an account that `decide` reads. */
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

/** The columns of an account that `decide` changes. */
export const ACCOUNT_CHANGES = [
  'balance',
  'held',
  'seq',
  'spent_on',
  'spent',
  'low_state',
] as const satisfies (keyof Account)[]
