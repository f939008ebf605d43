import type Stripe from 'stripe'
import { LIMITS } from '../contract/limits.ts'
import type { Notification, Subject } from './payment.ts'
import { idOf } from './stripe-state.ts'

type Webhooks = (typeof Stripe)['webhooks']

/** Returns the event if one of the secrets signed the bytes at most five minutes from now; otherwise null. */
export function verifiedEvent(
  webhooks: Webhooks,
  { body, signature }: Notification,
  { secrets, now }: { secrets: readonly string[]; now: Date },
): Stripe.Event | null {
  if (signature === undefined || isFromTheFuture(signature, now)) return null
  for (const secret of secrets) {
    try {
      const receivedAt = now.getTime()
      const tolerance_s = LIMITS.signature_tolerance_s
      return webhooks.constructEvent(body, signature, secret, tolerance_s, undefined, receivedAt)
    } catch {
      // This secret did not sign the notification, or the notification is too old, or it is not an event.
    }
  }
  return null
}

/** Stripe's library refuses old times, but accepts any time in the future. */
function isFromTheFuture(signature: string, now: Date): boolean {
  const times = [...signature.matchAll(/(?:^|,)\s*t=([^,]*)/g)].map(([, t]) => Number(t))
  const latest = now.getTime() / 1000 + LIMITS.signature_tolerance_s
  return times.length !== 1 || !times.every((t) => t <= latest)
}

const NOTHING: Subject = { session_id: null, payment_id: null }

/** The session or the payment of an event; both are null for other types of events. */
export function subjectOf(event: Stripe.Event): Subject {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
      return { session_id: event.data.object.id, payment_id: null }
    case 'charge.refunded':
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed':
      return { session_id: null, payment_id: idOf(event.data.object.payment_intent) }
    default:
      return NOTHING
  }
}
