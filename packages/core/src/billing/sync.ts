import { type Units, units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import { type Operation, UNPRICED } from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { PurchaseStatus } from '../storage/ports/billing.ts'
import type { PaymentState } from './payment.ts'

/**
 * The difference between a payment and its purchase, as `review_reason`. Null when there is no difference, or when the
 * whole payment was reversed, which needs no decision.
 */
export function mismatchOf(
  { amount, currency }: Pick<PurchaseRow, 'amount' | 'currency'>,
  state: PaymentState,
): string | null {
  if (state.status === 'paid' && state.amount > 0 && state.reversed >= state.amount) return null
  if (state.currency !== currency) return 'currency_mismatch'
  return state.amount === amount ? null : 'amount_mismatch'
}

/** The status of a purchase for the state of its payment. */
export function statusFor(state: PaymentState): PurchaseStatus {
  const { status, amount, reversed, disputed } = state
  if (status !== 'paid') return status === 'open' ? 'pending' : status
  if (disputed && reversed > 0) return 'disputed'
  return reversed >= amount ? 'refunded' : 'paid'
}

/**
 * The total credits of a purchase for the state of its payment. If a part of the payment is reversed, the same part of the
 * credits is taken, rounded in the workspace's favour.
 */
export function creditsFor({ credits }: Pick<PurchaseRow, 'credits'>, state: PaymentState): Units {
  const { status, amount, reversed } = state
  if (status !== 'paid') return units(0)
  // The product may exceed 2^53.
  const back = (BigInt(credits) * BigInt(Math.min(reversed, amount))) / BigInt(amount)
  return units(credits - Number(back))
}

/**
 * The entry that brings the credits booked for a purchase to `target`; null when they are equal. `isFirst`: whether the
 * purchase has no entry yet.
 */
export function correction(
  runtime: Pick<Runtime, 'id' | 'now'>,
  purchase: PurchaseRow,
  { booked, target, isFirst }: { booked: Units; target: Units; isFirst: boolean },
): Operation | null {
  if (target === booked) return null
  // The first entry has the number 0. Each later entry has the new version of the purchase as its number.
  const amount = units(target - booked)
  return {
    ...UNPRICED,
    id: runtime.id(),
    kind: isFirst ? 'purchase' : 'purchase_adjust',
    amount,
    counter_account: `payments:${purchase.provider}`,
    reference: { type: 'purchase', id: purchase.id, n: isFirst ? 0 : purchase.version + 1 },
    actor: null,
    description: `${describe(isFirst, amount)} ${purchase.package_id}`,
    at: runtime.now(),
  }
}

function describe(isFirst: boolean, amount: Units): string {
  if (isFirst) return 'Purchase of package'
  return amount < 0 ? 'Payment taken back for package' : 'Payment reinstated for package'
}
