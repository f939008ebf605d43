import type { CreditAccount, Entry } from '@svc/core'
import type { Units, Workspace } from '@svc/core/contract'
import type { Cell } from './output.ts'

/** The formats of amounts: numbers in JSON, and texts for people. */
interface AmountFormats {
  creditsOf(amount: Units): number
  formatCredits(amount: Units): string
}

/** An entry in JSON: the transaction of the API (contract section 8) and the fields for an operator. */
export async function transactionDocument(entry: Entry): Promise<Record<string, unknown>> {
  const [{ transactionOf }, { creditsOf, transaction }] = await Promise.all([
    import('@svc/core/operate'),
    import('@svc/core/contract'),
  ])
  return {
    ...transaction.encode(transactionOf(entry)),
    held_delta: creditsOf(entry.held_delta),
    held_after: creditsOf(entry.held_after),
    actor: entry.actor,
  }
}

/** An account in JSON: its balance and its limits. */
export function accountDocument(
  { id, email }: Pick<Workspace, 'id' | 'email'>,
  account: CreditAccount,
  { creditsOf }: Pick<AmountFormats, 'creditsOf'>,
): Record<string, unknown> {
  const orNull = (amount: Units | null) => (amount === null ? null : creditsOf(amount))
  return {
    workspace: { id, email },
    credits_balance: creditsOf(account.available),
    credits_held: creditsOf(account.held),
    credit_limit: creditsOf(account.credit_limit),
    daily_limit: orNull(account.daily_limit),
    spent_today: creditsOf(account.spent_today),
    low_balance: orNull(account.low_balance),
    low_balance_default: account.low_balance_default,
    status: account.status,
    frozen_reason: account.frozen_reason,
  }
}

/** An account for people, as names and values. */
export function accountFields(
  { email }: Pick<Workspace, 'email'>,
  account: CreditAccount,
  { formatCredits }: Pick<AmountFormats, 'formatCredits'>,
): [string, Cell][] {
  const orElse = (amount: Units | null, none: string) =>
    amount === null ? none : formatCredits(amount)
  const origin = account.low_balance_default ? ' (default)' : ''
  return [
    ['workspace', email],
    ['available', { text: formatCredits(account.available), style: 'bold' }],
    ['held', formatCredits(account.held)],
    ['balance', formatCredits(account.balance)],
    ['credit limit', formatCredits(account.credit_limit)],
    ['daily limit', orElse(account.daily_limit, 'none')],
    ['spent today', formatCredits(account.spent_today)],
    ['low balance', `${orElse(account.low_balance, 'never')}${origin}`],
    ['status', statusCell(account)],
  ]
}

function statusCell({ status, frozen_reason }: CreditAccount): Cell {
  if (status === 'active') return { text: status, style: 'green' }
  return { text: frozen_reason === null ? status : `${status}: ${frozen_reason}`, style: 'red' }
}
