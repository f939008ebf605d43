import { invalid } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import type { Terms } from '../storage/ports/credits.ts'
import type { Writes } from '../storage/ports/storage.ts'

/** What an operator changes of the terms of a workspace; what is left out stays. */
export interface TermsChange {
  /** How far below zero the workspace may go. */
  credit_limit?: Units | undefined
  /** The most that may be spent on a day (UTC); null for no such limit. */
  daily_limit?: Units | null | undefined
  /** Below this much available the owner is told; null for never, `default` for what the service says. */
  low_balance?: Units | null | 'default' | undefined
  /** A frozen workspace spends nothing; what was accepted goes on. */
  status?: 'active' | 'frozen' | undefined
  /** Why it is frozen: needed for that, and for nothing else. */
  reason?: string | undefined
}

/**
 * Sets terms; `lowBalance` is the service's own threshold, undefined where it is not known. Answers false without an
 * account.
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
 * @throws SvcError `validation_error` for amounts below zero, a freeze without reason, and where nothing would change.
 */
export function termsOf(change: TermsChange): Terms {
  const terms: Terms = {}
  if (change.credit_limit !== undefined) {
    terms.credit_limit = atLeastNothing('credit_limit', change.credit_limit)
  }
  if (change.daily_limit !== undefined) {
    terms.daily_limit = atLeastNothing('daily_limit', change.daily_limit)
  }
  if (change.low_balance === 'default') terms.low_balance_default = true
  else if (change.low_balance !== undefined) {
    terms.low_balance = atLeastNothing('low_balance', change.low_balance)
    terms.low_balance_default = false
  }
  if (change.status === 'active') Object.assign(terms, { status: 'active', frozen_reason: null })
  if (change.status === 'frozen') {
    const reason = change.reason?.trim()
    if (!reason) throw invalid('reason', 'Freezing a workspace needs a reason')
    Object.assign(terms, { status: 'frozen', frozen_reason: reason })
  }
  if (Object.keys(terms).length === 0) throw invalid('', 'Nothing to change was given')
  return terms
}

function atLeastNothing<T extends Units | null>(path: string, amount: T): T {
  if (amount !== null && amount < 0) throw invalid(path, `${path} must be 0 or above`)
  return amount
}
