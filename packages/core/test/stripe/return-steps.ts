import { type Books, known, must } from './books.ts'
import type { Charge, Refund } from './objects.ts'

/** The steps of refunds. */
export function returnSteps({ charges, refunds, chargeOf, id, move, emit }: Books) {
  function countRefunds(charge: Charge): void {
    const those = [...refunds.values()].filter((refund) => refund.charge === charge.id)
    charge.amount_refunded = those
      .filter(({ status }) => status !== 'failed' && status !== 'canceled')
      .reduce((sum, { amount }) => sum + amount, 0)
    charge.refunded = charge.amount_refunded === charge.amount
  }

  return {
    /** Refunds a part of a payment, or its rest. Null if less than that is left. */
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
      emit('refund.created', made)
      emit('charge.refunded', charge)
      return made
    },
    /** A refund ends. A failed or canceled refund, even a late one, returns the money. */
    endRefund(refundId: string, status: 'succeeded' | 'failed' | 'canceled'): void {
      const refund = known(refunds, refundId)
      must(refund.status === 'pending' || refund.status === 'succeeded', 'the refund has ended')
      refund.status = status
      if (status !== 'succeeded') {
        countRefunds(known(charges, refund.charge))
        move('payment_failure_refund', refund.amount, refund.charge)
      }
      emit('refund.updated', refund)
      if (status === 'failed') emit('refund.failed', refund)
    },
  }
}
