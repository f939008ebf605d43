import type { Units } from '../contract/fields/units.ts'
import type { EntryKind } from '../rows/credits.ts'
import type { LotRow } from '../rows/rows.ts'

/** The kinds that consume credits or refund consumption; their sum burns lots. */
export const CONSUMING = ['send', 'settle', 'refund'] as const satisfies readonly EntryKind[]

/** Granted credits that expire. */
export type Lot = Pick<LotRow, 'id' | 'remaining' | 'granted_seq' | 'expires_at'>

/**
 * Takes `consumed` off the open lots of a workspace, in the order of expiry, then of grant. Returns them in this order.
 *
 * No debit writes a lot. When a lot begins or ends, all open lots are counted: `consumed` is the net consumption (minus
 * the sum of the kinds `CONSUMING`) of the entries after their shared `counted_seq`, which then advances. A refund
 * counts only if its debit is among these entries: an earlier debit never used these lots or was counted before. Such a
 * refund would undo the consumption of others, and paid credits would expire. Source: ledger study, section 2.9.
 */
export function burn<T extends Lot>(lots: readonly T[], consumed: Units): T[] {
  let left = Math.max(0, consumed)
  return [...lots].sort(byBurnOrder).map((lot) => {
    const burnt = Math.min(left, lot.remaining)
    left -= burnt
    return burnt === 0 ? lot : { ...lot, remaining: (lot.remaining - burnt) as Units }
  })
}

/** The credits that expire with a counted lot: its rest, at most `available`. Held credits do not expire. */
export function expiring({ remaining }: Pick<Lot, 'remaining'>, available: Units): Units {
  return Math.min(remaining, Math.max(0, available)) as Units
}

function byBurnOrder(a: Lot, b: Lot): number {
  return a.expires_at.getTime() - b.expires_at.getTime() || a.granted_seq - b.granted_seq
}
