import type Stripe from 'stripe'
import type { PaymentState } from './payment.ts'

/** The refunds and disputes of a payment, successful or not. */
export interface Returns {
  refunds: readonly Pick<Stripe.Refund, 'status' | 'amount'>[]
  disputes: readonly Dispute[]
}

type Dispute = Pick<Stripe.Dispute, 'status' | 'amount'> & {
  balance_transactions: readonly Pick<Stripe.BalanceTransaction, 'amount'>[]
}

export function stateOf(
  session: Stripe.Checkout.Session,
  { refunds, disputes }: Returns,
): PaymentState {
  const disputed = sum(disputes.map(withdrawnBy))
  const refunded = sum(refunds.filter(goesBack).map(({ amount }) => amount))
  const amount = session.amount_total ?? 0
  return {
    status: statusOf(session),
    amount,
    currency: (session.currency ?? '').toUpperCase(),
    // A payment may be both refunded and disputed; the total is limited to the amount of the payment.
    reversed: Math.min(amount, refunded + disputed),
    disputed: disputed > 0,
    payment_id: idOf(session.payment_intent),
  }
}

/** The id of an object that Stripe returns as an id or expanded. */
export function idOf(object: string | { id: string } | null | undefined): string | null {
  return typeof object === 'string' ? object : (object?.id ?? null)
}

function statusOf(session: Stripe.Checkout.Session): PaymentState['status'] {
  const { payment_status, status, payment_intent } = session
  if (payment_status === 'paid' || payment_status === 'no_payment_required') return 'paid'
  if (status === 'expired') return 'expired'
  if (status !== 'complete') return 'open'
  // With a payment method that takes days, a payment has failed when it needs a payment method again.
  const step = typeof payment_intent === 'object' ? payment_intent?.status : undefined
  return step === 'requires_payment_method' || step === 'canceled' ? 'failed' : 'open'
}

/** A pending refund counts. A failed refund does not count, because it returned the money to us. */
function goesBack({ status }: Pick<Stripe.Refund, 'status'>): boolean {
  return status !== 'failed' && status !== 'canceled'
}

/** Stripe takes the money when a dispute is raised, and returns it when the dispute is won. An inquiry moves no money. */
function withdrawnBy({ status, amount, balance_transactions }: Dispute): number {
  switch (status) {
    case 'needs_response':
    case 'under_review':
    case 'lost':
    case 'appeal_needs_response':
    case 'appeal_under_review':
      return amount
    case 'won':
    case 'prevented':
    case 'warning_needs_response':
    case 'warning_under_review':
    case 'warning_closed':
      return 0
    default:
      // For an unknown status, the transactions decide. Their amounts are in our account's currency, not in the payment's.
      return sum(balance_transactions.map((moved) => moved.amount)) < 0 ? amount : 0
  }
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}
