import { signNotification } from '@svc/core/operate'
import { PAYMENT_SECRET } from './world.ts'

/** A notification about a session, signed by the payment provider at this time. */
export function notification(at: Date, session_id = 'cs_unknown') {
  const json = {
    id: 'evt_1',
    object: 'event',
    type: 'checkout.session.completed',
    data: { object: { id: session_id, object: 'checkout.session' } },
  }
  const raw = JSON.stringify(json)
  return { json, raw, headers: { 'stripe-signature': signNotification(PAYMENT_SECRET, raw, at) } }
}
