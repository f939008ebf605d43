import { createHmac, timingSafeEqual } from 'node:crypto'
import { LIMITS } from '../contract/limits.ts'
import type { Notification, Payment, PaymentProvider, PaymentState } from './payment.ts'

/** The payer's choice. */
export type Decision = 'pay' | 'decline'

/** Simulated payments: no money moves, and the visitor of the payment page decides. */
export interface SandboxPayments extends PaymentProvider {
  /** Applies the decision if the session is open, and returns a notification of the session's current state. */
  decide(payment: Payment, decision: Decision): Promise<Notification>
}

/** The outcome of a session since this process started. */
type Outcome = 'paid' | 'failed' | 'refunded'

const OUTCOMES = { pay: 'paid', decline: 'failed' } as const

const EVENT_TYPES = {
  open: 'checkout.session.created',
  paid: 'checkout.session.completed',
  failed: 'checkout.session.async_payment_failed',
  expired: 'checkout.session.expired',
} as const

/** The maximum number of outcomes in memory; older outcomes are in the rows of the purchases. */
const OUTCOMES_MAX = 10_000

const encoder = new TextEncoder()

/**
 * The payment provider of `svc dev`. It has no storage: outcomes from before the process started come from the purchases.
 */
export function createSandboxPayments({
  secret,
  public_url,
  now,
}: {
  /** The secret that signs the notifications, in Stripe's scheme. */
  secret: string
  /** The base address of the payment page, without a trailing slash; called for each session. */
  public_url: () => string
  now: () => Date
}): SandboxPayments {
  const outcomes = new Map<string, Outcome>()

  function keep(session_id: string, outcome: Outcome): void {
    outcomes.set(session_id, outcome)
    const [oldest] = outcomes.keys()
    if (oldest !== undefined && outcomes.size > OUTCOMES_MAX) outcomes.delete(oldest)
  }

  function stateOf(payment: Payment): PaymentState {
    const { session_id, amount, currency, expires_at } = payment
    // An operator's command refunds in another process, so only the row shows the refund.
    const isRefunded = payment.status === 'refunded'
    const outcome = isRefunded ? 'refunded' : (outcomes.get(session_id) ?? outcomeIn(payment))
    const isOver = expires_at !== null && expires_at <= now()
    const unpaid = isOver ? 'expired' : 'open'
    return {
      status: outcome === 'refunded' ? 'paid' : (outcome ?? unpaid),
      amount,
      currency,
      reversed: outcome === 'refunded' ? amount : 0,
      disputed: false,
    }
  }

  function notificationOf(payment: Payment): Notification {
    const { status } = stateOf(payment)
    const at = now()
    const body = encoder.encode(
      JSON.stringify({
        id: `evt_sandbox_${at.getTime()}`,
        object: 'event',
        type: EVENT_TYPES[status],
        created: Math.floor(at.getTime() / 1000),
        livemode: false,
        data: {
          object: {
            id: payment.session_id,
            object: 'checkout.session',
            payment_status: status === 'paid' ? 'paid' : 'unpaid',
            amount_total: payment.amount,
            currency: payment.currency.toLowerCase(),
          },
        },
      }),
    )
    return { body, signature: signNotification(secret, body, at) }
  }

  return {
    name: 'sandbox',
    async open({ purchase_id }) {
      const session_id = `cs_sandbox_${purchase_id.replaceAll('-', '')}`
      return { session_id, checkout_url: `${public_url()}/pay/${session_id}` }
    },
    async read(notification) {
      if (!isSignedBy(secret, notification, now())) return null
      return { session_id: sessionIn(notification.body) }
    },
    look: async (payment) => stateOf(payment),
    async refund(payment) {
      if (stateOf(payment).status === 'paid') keep(payment.session_id, 'refunded')
    },
    async decide(payment, decision) {
      if (stateOf(payment).status === 'open') keep(payment.session_id, OUTCOMES[decision])
      return notificationOf(payment)
    },
  }
}

function outcomeIn({ status }: Payment): Outcome | null {
  if (status === 'paid' || status === 'refunded' || status === 'failed') return status
  return null
}

function sessionIn(body: Uint8Array): string | null {
  try {
    const { data } = JSON.parse(Buffer.from(body).toString('utf8')) as {
      data?: { object?: { id?: unknown; object?: unknown } }
    }
    const { id, object } = data?.object ?? {}
    return object === 'checkout.session' && typeof id === 'string' ? id : null
  } catch {
    return null
  }
}

/**
 * The value of `Stripe-Signature` for a body, in Stripe's scheme: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`.
 */
export function signNotification(secret: string, body: string | Uint8Array, at: Date): string {
  const t = String(Math.floor(at.getTime() / 1000))
  return `t=${t},v1=${digestOf(secret, t, body)}`
}

/** Whether a `v1` signature of the header matches secret and body, and the header's time is within 5 minutes of `now`. */
export function isSignedBy(
  secret: string,
  { body, signature = '' }: { body: Uint8Array; signature: string | undefined },
  now: Date,
): boolean {
  const parts = signature.split(',').map((part) => part.trim())
  const [t, ...more] = parts.flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? [])
  if (t === undefined || more.length > 0) return false
  const digests = parts.flatMap((part) => /^v1=([0-9a-f]{64})$/.exec(part)?.[1] ?? [])
  const expected = Buffer.from(digestOf(secret, t, body))
  const isSigned = digests.some((digest) => timingSafeEqual(Buffer.from(digest), expected))
  return isSigned && Math.abs(now.getTime() / 1000 - Number(t)) <= LIMITS.signature_tolerance_s
}

function digestOf(secret: string, t: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
}
