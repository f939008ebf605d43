import type { Units } from '../contract/fields/units.ts'
import { type Account, availableOf, type Entry, spentOn } from './decide.ts'

/**
 * The accounts on which the same requests get the same decisions: those that differ from the planned account only in
 * `balance`, `held`, `seq` and `spent`, and are within these limits.
 */
export interface Tolerance {
  /** The number of entries; null if it may differ. */
  seq: number | null
  /** The least available credits; null if `seq` is not null. */
  available_min: Units | null
  /** The maximum of `spent`; null for no maximum. */
  spent_max: Units | null
}

/**
 * The tolerance of a plan that left the account `before` as `after`. `isRefused`: the plan refused a request of the
 * account. A plan that refused, changed the day of `spent`, or reached `low_balance` holds for no other account. In all
 * other plans each decision spends, so that the last state is the poorest: if it is allowed, so are those before it.
 */
export function toleranceOf(before: Account, after: Account, isRefused: boolean): Tolerance {
  if (isRefused || after.spent_on !== before.spent_on || after.low_state !== 'no') {
    return { seq: before.seq, available_min: null, spent_max: null }
  }
  const { credit_limit, low_balance, daily_limit } = before
  const least = Math.max(-credit_limit, low_balance ?? Number.NEGATIVE_INFINITY)
  const required = availableOf(before) - availableOf(after)
  return {
    seq: null,
    available_min: (least + required) as Units,
    spent_max:
      daily_limit === null ? null : ((daily_limit - (after.spent - before.spent)) as Units),
  }
}

/** The change of an account; `spent` is the change of the sum of the day `spent_on`. */
export function accountChange(before: Account, after: Account): Account {
  return {
    ...after,
    balance: (after.balance - before.balance) as Units,
    held: (after.held - before.held) as Units,
    seq: after.seq - before.seq,
    spent: (after.spent - spentOn(before, after.spent_on)) as Units,
  }
}

/** An entry whose `seq` and sums are relative to the account before the plan. */
export function relativeEntry(before: Account, entry: Entry): Entry {
  return {
    ...entry,
    seq: entry.seq - before.seq,
    balance_after: (entry.balance_after - before.balance) as Units,
    held_after: (entry.held_after - before.held) as Units,
  }
}
