import type { Chance } from './chance.ts'
import type { LocalStripe } from './local-stripe.ts'

/** A possible step of a session at Stripe. */
type Step = [name: string, take: () => void]

/** Takes a random step that the state of the session allows, and returns its name; null if there is none. */
export function happen(stripe: LocalStripe, sessionId: string, chance: Chance): string | null {
  const steps = stepsOf(stripe, sessionId, chance)
  if (steps.length === 0) return null
  const [name, take] = chance.pick(steps)
  take()
  return name
}

function stepsOf(stripe: LocalStripe, sessionId: string, chance: Chance): Step[] {
  const session = stripe.sessions.get(sessionId)
  if (!session) throw new Error(`there is no session ${sessionId}`)
  if (session.status === 'expired') return []
  if (session.status === 'open') {
    const card: Step = ['pay by card', () => stripe.pay(sessionId)]
    const bank: Step = ['pay by bank', () => stripe.pay(sessionId, 'bank')]
    return [card, card, card, bank, ['expire', () => stripe.expire(sessionId)]]
  }
  const payment = session.payment_intent ?? ''
  const status = stripe.intents.get(payment)?.status
  if (status === 'processing') {
    const paid: Step = ['the bank pays', () => stripe.settle(sessionId, 'succeeded')]
    return [paid, paid, ['the bank does not pay', () => stripe.settle(sessionId, 'failed')]]
  }
  if (status !== 'succeeded') return []
  return [
    ...refundSteps(stripe, payment, chance),
    ...disputeSteps(stripe, payment, session.amount_total, chance),
  ]
}

function refundSteps(stripe: LocalStripe, payment: string, chance: Chance): Step[] {
  const charge = stripe.charges.get(stripe.intents.get(payment)?.latest_charge ?? '')
  const left = charge ? charge.amount - charge.amount_refunded : 0
  const status = chance.pick(['pending', 'succeeded'] as const)
  const steps: Step[] = []
  if (left > 0) {
    const amount = 1 + chance.below(left)
    steps.push(
      [`refund ${amount}, ${status}`, () => stripe.refund(payment, { amount, status })],
      [`refund ${left}, ${status}`, () => stripe.refund(payment, { status })],
    )
  }
  for (const refund of stripe.refunds.values()) {
    if (refund.payment_intent !== payment) continue
    const ends = refund.status === 'pending' ? (['succeeded', 'failed', 'canceled'] as const) : []
    const mayEnd = refund.status === 'succeeded' ? (['failed'] as const) : ends
    for (const end of mayEnd) {
      steps.push([`refund ${refund.id} ${end}`, () => stripe.endRefund(refund.id, end)])
    }
  }
  return steps
}

/** More disputes of one payment test nothing new. */
const DISPUTES_MAX = 2

function disputeSteps(stripe: LocalStripe, payment: string, total: number, chance: Chance): Step[] {
  const those = [...stripe.disputes.values()].filter((one) => one.payment_intent === payment)
  const steps: Step[] = []
  if (those.length < DISPUTES_MAX) {
    const amount = chance.pick([total, 1 + chance.below(total)])
    steps.push(
      [`dispute ${amount}`, () => stripe.dispute(payment, { amount })],
      [`inquiry ${amount}`, () => stripe.dispute(payment, { amount, inquiry: true })],
    )
  }
  for (const { id, status } of those) {
    if (['won', 'lost', 'warning_closed'].includes(status)) continue
    for (const result of ['won', 'lost'] as const) {
      steps.push([`${id} ${result}`, () => stripe.closeDispute(id, result)])
    }
    if (status.endsWith('needs_response')) {
      steps.push([`respond to ${id}`, () => stripe.respond(id)])
    }
    if (status.startsWith('warning_')) steps.push([`escalate ${id}`, () => stripe.escalate(id)])
  }
  return steps
}
