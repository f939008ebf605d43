import { type Books, known, must } from './books.ts'
import type { Dispute } from './objects.ts'

/** The steps of disputes and inquiries of the payer's bank. */
export function disputeSteps({ disputes, chargeOf, id, move, emit }: Books) {
  return {
    /** The payer's bank opens an inquiry (no money moves) or takes the money. */
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
      emit('charge.dispute.created', made)
      if (!inquiry) emit('charge.dispute.funds_withdrawn', made)
      return made
    },
    /** An inquiry becomes a dispute. */
    escalate(disputeId: string): void {
      const dispute = known(disputes, disputeId)
      must(dispute.status.startsWith('warning_'), 'it is not an inquiry')
      dispute.status = 'needs_response'
      dispute.balance_transactions.push(move('adjustment', -dispute.amount, dispute.charge))
      emit('charge.dispute.updated', dispute)
      emit('charge.dispute.funds_withdrawn', dispute)
    },
    /** We sent evidence and wait. */
    respond(disputeId: string): void {
      const dispute = known(disputes, disputeId)
      must(dispute.status.endsWith('needs_response'), 'the dispute needs no response')
      dispute.status = dispute.status.replace('needs_response', 'under_review')
      emit('charge.dispute.updated', dispute)
    },
    /** The dispute ends. An inquiry is closed with any result. */
    closeDispute(disputeId: string, result: 'won' | 'lost'): void {
      const dispute = known(disputes, disputeId)
      must(!['won', 'lost', 'warning_closed'].includes(dispute.status), 'the dispute is over')
      const isInquiry = dispute.status.startsWith('warning_')
      dispute.status = isInquiry ? 'warning_closed' : result
      const isBack = dispute.status === 'won'
      if (isBack)
        dispute.balance_transactions.push(move('adjustment', dispute.amount, dispute.charge))
      emit('charge.dispute.closed', dispute)
      if (isBack) emit('charge.dispute.funds_reinstated', dispute)
    },
  }
}
