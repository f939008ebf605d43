import { type Units, units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { Operation } from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { PaymentState, PurchaseStatus } from './payment.ts'

/**
 * In what a payment is not the one that was asked for, as a purchase's `review_reason`; null where it is that, or where
 * all of it went back, so that nothing is left to decide.
 */
export function mismatchOf(
  { amount, currency }: Pick<PurchaseRow, 'amount' | 'currency'>,
  state: PaymentState,
): string | null {
  if (state.status === 'paid' && state.amount > 0 && state.reversed >= state.amount) return null
  if (state.currency !== currency) return 'currency_mismatch'
  return state.amount === amount ? null : 'amount_mismatch'
}

/** How a purchase stands whose payment stands so. */
export function statusFor(state: PaymentState): PurchaseStatus {
  const { status, amount, reversed, disputed } = state
  if (status !== 'paid') return status === 'open' ? 'pending' : status
  if (disputed && reversed > 0) return 'disputed'
  return reversed >= amount ? 'refunded' : 'paid'
}

/**
 * The credits that a workspace shall have of a purchase, all in all. What went back takes its share of them along,
 * rounded in the workspace's favour.
 */
export function creditsFor({ credits }: Pick<PurchaseRow, 'credits'>, state: PaymentState): Units {
  const { status, amount, reversed } = state
  if (status !== 'paid') return units(0)
  // The product may pass 2^53.
  const back = (BigInt(credits) * BigInt(Math.min(reversed, amount))) / BigInt(amount)
  return units(credits - Number(back))
}

/**
 * The entry that brings what is booked for a purchase to what it shall be; null where it is that already. `isFirst`:
 * whether nothing was booked for it yet.
 */
export function correction(
  runtime: Pick<Runtime, 'id' | 'now'>,
  purchase: PurchaseRow,
  { booked, target, isFirst }: { booked: Units; target: Units; isFirst: boolean },
): Operation | null {
  if (target === booked) return null
  // The first is the purchase itself; each after it is numbered by the change that it comes with.
  const amount = units(target - booked)
  return {
    id: runtime.id(),
    kind: isFirst ? 'purchase' : 'purchase_adjust',
    amount,
    held_delta: units(0),
    counter_account: `payments:${purchase.provider}`,
    reference: { type: 'purchase', id: purchase.id, n: isFirst ? 0 : purchase.version + 1 },
    channel: null,
    quantity: null,
    unit_price: null,
    resolves: null,
    actor: null,
    description: `${describe(isFirst, amount)} ${purchase.package_id}`,
    at: runtime.now(),
  }
}

function describe(isFirst: boolean, amount: Units): string {
  if (isFirst) return 'Purchase of package'
  return amount < 0 ? 'Payment taken back for package' : 'Payment given again for package'
}
