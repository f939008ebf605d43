import { type Books, known, must } from './books.ts'
import type { Dispute } from './objects.ts'

/** What happens to a payment that the payer's bank takes back, or asks about. */
export function disputeSteps({ disputes, chargeOf, id, move, tell }: Books) {
  return {
    /** The bank of the payer asks (no money moves), or takes the money. */
    dispute(
      intentId: string,
      { amount, inquiry = false }: { amount?: number; inquiry?: boolean } = {},
    ) {
      const charge = chargeOf(intentId)
      charge.disputed = true
      const made: Dispute = {
        id: id('du'),
        object: 'dispute',
        amount: amount ?? charge.amount,
        currency: charge.currency,
        status: inquiry ? 'warning_needs_response' : 'needs_response',
        charge: charge.id,
        payment_intent: intentId,
        balance_transactions: [],
      }
      disputes.set(made.id, made)
      if (!inquiry) made.balance_transactions.push(move('adjustment', -made.amount, charge.id))
      tell('charge.dispute.created', made)
      if (!inquiry) tell('charge.dispute.funds_withdrawn', made)
      return made
    },
    /** An inquiry becomes a dispute. */
    escalate(disputeId: string): void {
      const dispute = known(disputes, disputeId)
      must(dispute.status.startsWith('warning_'), 'it is no inquiry')
      dispute.status = 'needs_response'
      dispute.balance_transactions.push(move('adjustment', -dispute.amount, dispute.charge))
      tell('charge.dispute.updated', dispute)
      tell('charge.dispute.funds_withdrawn', dispute)
    },
    /** We have answered, and wait. */
    respond(disputeId: string): void {
      const dispute = known(disputes, disputeId)
      must(dispute.status.endsWith('needs_response'), 'nothing is asked of us')
      dispute.status = dispute.status.replace('needs_response', 'under_review')
      tell('charge.dispute.updated', dispute)
    },
    /** The dispute ends; an inquiry is merely closed, whatever the result. */
    closeDispute(disputeId: string, result: 'won' | 'lost'): void {
      const dispute = known(disputes, disputeId)
      must(!['won', 'lost', 'warning_closed'].includes(dispute.status), 'the dispute is over')
      const isInquiry = dispute.status.startsWith('warning_')
      dispute.status = isInquiry ? 'warning_closed' : result
      const isBack = dispute.status === 'won'
      if (isBack)
        dispute.balance_transactions.push(move('adjustment', dispute.amount, dispute.charge))
      tell('charge.dispute.closed', dispute)
      if (isBack) tell('charge.dispute.funds_reinstated', dispute)
    },
  }
}
