import { type Books, known, must } from './books.ts'
import type { Charge, Intent, Session } from './objects.ts'

/** The parameters of a session. */
export type SessionWish = Pick<
  Session,
  'amount_total' | 'currency' | 'client_reference_id' | 'metadata' | 'success_url' | 'cancel_url'
> & { expires_at: number; intent_metadata: Record<string, string> }

/** The steps of a session until it is paid or ends. */
export function paymentSteps(books: Books) {
  const { livemode, sessions, intents, charges, id, move, emit } = books
  const wished = new Map<string, Record<string, string>>()

  function charge(session: Session, intent: Intent): void {
    const { amount, currency, metadata } = intent
    const made: Charge = {
      id: id('ch'),
      object: 'charge',
      amount,
      amount_refunded: 0,
      currency,
      refunded: false,
      disputed: false,
      payment_intent: intent.id,
      metadata: { ...metadata },
    }
    charges.set(made.id, made)
    intent.latest_charge = made.id
    intent.status = 'succeeded'
    session.payment_status = 'paid'
    move('payment', amount, made.id)
  }

  function intentOf(session: Session): Intent {
    const known = session.payment_intent && intents.get(session.payment_intent)
    if (known) return known
    const intent: Intent = {
      id: id('pi'),
      object: 'payment_intent',
      amount: session.amount_total,
      currency: session.currency,
      status: 'requires_payment_method',
      metadata: { ...wished.get(session.id) },
      latest_charge: null,
    }
    intents.set(intent.id, intent)
    session.payment_intent = intent.id
    return intent
  }

  return {
    openSession({ intent_metadata, ...wish }: SessionWish): Session {
      const own = id(livemode ? 'cs_live' : 'cs_test')
      const session: Session = {
        ...wish,
        id: own,
        object: 'checkout.session',
        livemode,
        status: 'open',
        payment_status: 'unpaid',
        payment_intent: null,
        url: `https://checkout.stripe.example/c/pay/${own}`,
      }
      sessions.set(own, session)
      wished.set(own, intent_metadata)
      return session
    },
    /** The payer pays: immediately by card, or by a method that takes days. */
    pay(sessionId: string, method: 'card' | 'bank' = 'card'): void {
      const session = known(sessions, sessionId)
      must(session.status === 'open', 'the session is over')
      const intent = intentOf(session)
      session.status = 'complete'
      session.url = null
      if (method === 'card') charge(session, intent)
      else intent.status = 'processing'
      emit('checkout.session.completed', session)
    },
    /** A payment method that takes days ends. */
    settle(sessionId: string, result: 'succeeded' | 'failed'): void {
      const session = known(sessions, sessionId)
      const intent = intentOf(session)
      must(intent.status === 'processing', 'no payment is in progress')
      if (result === 'succeeded') charge(session, intent)
      else intent.status = 'requires_payment_method'
      emit(`checkout.session.async_payment_${result}`, session)
    },
    expire(sessionId: string): void {
      const session = known(sessions, sessionId)
      must(session.status === 'open', 'the session is over')
      session.status = 'expired'
      session.url = null
      emit('checkout.session.expired', session)
    },
  }
}
