import { invalid } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import type { Writes } from '../storage/ports/storage.ts'
import type { Terms } from '../storage/ports/stores.ts'

/** A change of a workspace's terms by the operator. Absent fields do not change. */
export interface TermsChange {
  /** How far below 0 the balance may go. */
  credit_limit?: Units | undefined
  /** Maximum spending on one day (UTC); null: no limit. */
  daily_limit?: Units | null | undefined
  /** The owner is notified below this amount; null: never; `default`: the threshold of the service. */
  low_balance?: Units | null | 'default' | undefined
  /** A frozen workspace spends nothing; its accepted messages are sent. */
  status?: 'active' | 'frozen' | undefined
  /** The reason, for the audit log; each freeze requires one. */
  reason?: string | undefined
}

/**
 * Sets terms. `lowBalance` is the service's threshold, or undefined if it is not known. Returns false if there is no account.
 */
export async function setTerms(
  { credits, lowBalances }: Pick<Writes, 'credits' | 'lowBalances'>,
  workspaceId: string,
  terms: Terms,
  { lowBalance, at }: { lowBalance: Units | null | undefined; at: Date },
): Promise<boolean> {
  const threshold = terms.low_balance_default ? lowBalance : terms.low_balance
  if (threshold !== undefined) await lowBalances.set(workspaceId, threshold, at)
  return credits.setTerms(workspaceId, terms, at)
}

/**
 * The columns that a change sets.
 * @throws SvcError `validation_error` for amounts below 0, a freeze without a reason, or an empty change.
 */
export function termsOf(change: TermsChange): Terms {
  const terms: Terms = {}
  if (change.credit_limit !== undefined) {
    terms.credit_limit = atLeastZero('credit_limit', change.credit_limit)
  }
  if (change.daily_limit !== undefined) {
    terms.daily_limit = atLeastZero('daily_limit', change.daily_limit)
  }
  if (change.low_balance === 'default') terms.low_balance_default = true
  else if (change.low_balance !== undefined) {
    terms.low_balance = atLeastZero('low_balance', change.low_balance)
    terms.low_balance_default = false
  }
  if (change.status === 'active') Object.assign(terms, { status: 'active', frozen_reason: null })
  if (change.status === 'frozen') {
    const reason = change.reason?.trim()
    if (!reason) throw invalid('reason', 'Freezing a workspace needs a reason')
    Object.assign(terms, { status: 'frozen', frozen_reason: reason })
  }
  if (Object.keys(terms).length === 0) throw invalid('', 'The request changes nothing')
  return terms
}

function atLeastZero<T extends Units | null>(path: string, amount: T): T {
  if (amount !== null && amount < 0) throw invalid(path, `${path} must be 0 or above`)
  return amount
}
