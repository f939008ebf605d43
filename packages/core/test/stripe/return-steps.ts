import { type Books, known, must } from './books.ts'
import type { Charge, Refund } from './objects.ts'

/** What happens to a payment that we give back. */
export function returnSteps({ charges, refunds, chargeOf, id, move, tell }: Books) {
  function countRefunds(charge: Charge): void {
    const those = [...refunds.values()].filter((refund) => refund.charge === charge.id)
    charge.amount_refunded = those
      .filter(({ status }) => status !== 'failed' && status !== 'canceled')
      .reduce((sum, { amount }) => sum + amount, 0)
    charge.refunded = charge.amount_refunded === charge.amount
  }

  return {
    /** Gives back some of a payment, or all that is left of it. Null when that much is not left. */
    refund(
      intentId: string,
      { amount, status = 'succeeded' }: { amount?: number; status?: 'pending' | 'succeeded' } = {},
    ): Refund | null {
      const charge = chargeOf(intentId)
      const left = charge.amount - charge.amount_refunded
      const back = amount ?? left
      if (back < 1 || back > left) return null
      const { id: from, currency, payment_intent } = charge
      const made: Refund = {
        id: id('re'),
        object: 'refund',
        amount: back,
        currency,
        status,
        charge: from,
        payment_intent,
      }
      refunds.set(made.id, made)
      countRefunds(charge)
      move('payment_refund', -back, from)
      tell('refund.created', made)
      tell('charge.refunded', charge)
      return made
    },
    /** A refund under way ends; one that fails or is canceled, also late, brings the money back. */
    endRefund(refundId: string, status: 'succeeded' | 'failed' | 'canceled'): void {
      const refund = known(refunds, refundId)
      must(refund.status === 'pending' || refund.status === 'succeeded', 'the refund has ended')
      refund.status = status
      if (status !== 'succeeded') {
        countRefunds(known(charges, refund.charge))
        move('payment_failure_refund', refund.amount, refund.charge)
      }
      tell('refund.updated', refund)
      if (status === 'failed') tell('refund.failed', refund)
    },
  }
}
