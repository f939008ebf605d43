import type { Units } from '../contract/fields/units.ts'
import type { EntryKind } from '../rows/credits.ts'
import type { LotRow } from '../rows/rows.ts'

/** The kinds that consume credits or refund consumption. The sum of these entries is taken from the lots. */
export const CONSUMING = ['send', 'settle', 'refund'] as const satisfies readonly EntryKind[]

/** Granted credits that expire. */
export type Lot = Pick<LotRow, 'id' | 'remaining' | 'granted_seq' | 'expires_at'>

/**
 * Takes `consumed` from the open lots of a workspace, sorted by expiry and then by grant. Returns the sorted lots.
 *
 * No debit writes a lot. All open lots are counted when a lot begins or ends. `consumed` is the net consumption (minus
 * the sum of the kinds `CONSUMING`) of the entries after the lots' `counted_seq`, which then advances. A refund counts
 * only if its debit is among these entries. An earlier debit never used these lots or was counted before; its refund
 * would undo other consumption, and paid credits would expire. Source: ledger study, section 2.9.
 */
export function burn<T extends Lot>(lots: readonly T[], consumed: Units): T[] {
  let left = Math.max(0, consumed)
  return [...lots].sort(byBurnOrder).map((lot) => {
    const burnt = Math.min(left, lot.remaining)
    left -= burnt
    return burnt === 0 ? lot : { ...lot, remaining: (lot.remaining - burnt) as Units }
  })
}

/** The credits that expire with a counted lot: its `remaining`, at most `available`. Held credits do not expire. */
export function expiring({ remaining }: Pick<Lot, 'remaining'>, available: Units): Units {
  return Math.min(remaining, Math.max(0, available)) as Units
}

function byBurnOrder(a: Lot, b: Lot): number {
  return a.expires_at.getTime() - b.expires_at.getTime() || a.granted_seq - b.granted_seq
}
