import type { Units } from '../contract/fields/units.ts'
import type { EntryKind } from '../rows/credits.ts'
import type { LotRow } from '../rows/rows.ts'

/** The kinds that consume credits or give back what was consumed; their sum is what burns lots. */
export const CONSUMING = ['send', 'settle', 'refund'] as const satisfies readonly EntryKind[]

/** Granted credits that expire, as far as counting goes. */
export type Lot = Pick<LotRow, 'id' | 'remaining' | 'granted_seq' | 'expires_at'>

/**
 * What is left of the open lots of a workspace after `consumed` was spent: it is taken off lot by lot, earliest expiry
 * first, then the one granted first. Answers the lots in that order.
 *
 * No debit writes a lot. Whenever one begins or ends, all open ones are counted: `consumed` is the net consumption
 * (minus the sum of the kinds `CONSUMING`) of the entries above the `counted_seq` that they share, which then moves on.
 * A refund counts only where its debit does: what was spent before, and comes back, never was of these lots, or was
 * counted off them for good. It must not undo what others consumed, or credits that were paid for would expire.
 * Source: ledger study, section 2.9.
 */
export function burn<T extends Lot>(lots: readonly T[], consumed: Units): T[] {
  let left = Math.max(0, consumed)
  return [...lots].sort(byBurnOrder).map((lot) => {
    const burnt = Math.min(left, lot.remaining)
    left -= burnt
    return burnt === 0 ? lot : { ...lot, remaining: (lot.remaining - burnt) as Units }
  })
}

/**
 * How much expires with a counted lot: what is left of it, as far as it is available. Credits that are held, or were
 * taken back otherwise, do not expire.
 */
export function expiring({ remaining }: Pick<Lot, 'remaining'>, available: Units): Units {
  return Math.min(remaining, Math.max(0, available)) as Units
}

function byBurnOrder(a: Lot, b: Lot): number {
  return a.expires_at.getTime() - b.expires_at.getTime() || a.granted_seq - b.granted_seq
}
