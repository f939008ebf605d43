import type Stripe from 'stripe'
import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import { assertInstalled } from '../runtime/optional-packages.ts'
import type { Log } from '../runtime/runtime.ts'
import type {
  Notification,
  Order,
  Payment,
  PaymentProvider,
  PaymentState,
  Session,
  Subject,
} from './payment.ts'

/** The library's HTTP client. */
type Transport = NonNullable<NonNullable<ConstructorParameters<typeof Stripe>[1]>['httpClient']>

/** The account at Stripe that takes the payments. */
export interface StripeOptions {
  /**
   * A key `sk_test_…` or `sk_live_…`, or a restricted key (`rk_…`). A restricted key must be allowed to read and write
   * checkout sessions and refunds, and to read payment intents, charges and disputes.
   */
  secret_key: string
  /** The signing secrets of the endpoint (`whsec_…`). A signature by any of them is valid, so that a secret can be rotated. */
  webhook_secrets: readonly string[]
  now: () => Date
  /** The log for events of another mode than the key's, and for refusals that only the operator can resolve. Default: none. */
  log?: Log | undefined
  /** The base of the default success page `<public_url>/pay/<session id>`, without a trailing slash. */
  public_url?: (() => string) | undefined
  /** The address of the API. Default: Stripe's. */
  api_url?: string | undefined
  /** The timeout of one try. Default: 10 s. */
  timeout_ms?: number | undefined
  /** The maximum number of retries of an unanswered request, all with the same idempotency key. Default: 2. */
  retries_max?: number | undefined
  /** An HTTP client of the package `stripe`, such as `Stripe.createFetchHttpClient()`. Default: the library's. */
  transport?: object | undefined
}

const TIMEOUT_MS = 10_000
const RETRIES_MAX = 2
/** Stripe's limit for a page of a list. */
const PAGE = 100

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Payments with Stripe Checkout, through Stripe's own package `stripe`, which the program installs.
 *
 * Amounts are in Stripe's minor units: yen in whole yen; dinars, which have three decimals, in thousandths. Stripe accepts
 * only multiples of ten for currencies with three decimals.
 * @throws Error if the key is invalid or there is no signing secret; with `code` `package_missing` without the package.
 */
export async function createStripePayments(options: StripeOptions): Promise<PaymentProvider> {
  const { secret_key, webhook_secrets, now, log = SILENT } = options
  const livemode = isLive(secret_key)
  if (webhook_secrets.length === 0 || webhook_secrets.some((secret) => secret.trim() === '')) {
    throw new Error('Stripe needs at least one signing secret, and none may be empty')
  }
  assertInstalled('createStripePayments', ['stripe'])
  const { default: StripeClient } = await import('stripe')
  const { errors, webhooks } = StripeClient
  const stripe = new StripeClient(secret_key, {
    ...addressOf(options.api_url),
    timeout: options.timeout_ms ?? TIMEOUT_MS,
    maxNetworkRetries: options.retries_max ?? RETRIES_MAX,
    telemetry: false,
    ...(options.transport && { httpClient: options.transport as Transport }),
  })
  const landing = () => `${(options.public_url ?? (() => 'http://127.0.0.1:3000'))()}${LANDING}`

  /** Whether Stripe refuses the request permanently: 409, 429 and 5xx are not refusals. */
  function isRefusal(error: unknown): error is Stripe.errors.StripeError {
    if (!(error instanceof errors.StripeError)) return false
    const { statusCode = 0 } = error
    return statusCode >= 400 && statusCode < 500 && statusCode !== 409 && statusCode !== 429
  }

  /** Returns the response, or null for the status 404. */
  async function found<T>(response: Promise<T>): Promise<T | null> {
    try {
      return await response
    } catch (error) {
      if (error instanceof errors.StripeError && error.statusCode === 404) return null
      throw error
    }
  }

  async function open(order: Order): Promise<Session | null> {
    const key = { idempotencyKey: `checkout:${order.purchase_id}` }
    try {
      const { id, url } = await stripe.checkout.sessions.create(sessionFor(order, landing()), key)
      if (url === null) throw new Error(`session ${id} has no page`)
      return { session_id: id, checkout_url: url }
    } catch (error) {
      if (!isRefusal(error)) throw error
      const { statusCode: status, code, param, requestId: request_id } = error
      const { purchase_id } = order
      log.error({ purchase_id, status, code, param, request_id }, 'Stripe refuses a checkout')
      return null
    }
  }

  async function look({ session_id }: Payment): Promise<PaymentState | null> {
    const expand = ['payment_intent']
    const session = await found(stripe.checkout.sessions.retrieve(session_id, { expand }))
    if (!session) return null
    const payment_intent = idOf(session.payment_intent)
    if (payment_intent === null) return stateOf(session, { refunds: [], disputes: [] })
    const about = { payment_intent, limit: PAGE }
    const [refunds, disputes] = await Promise.all([
      collect(stripe.refunds.list(about)),
      collect(stripe.disputes.list(about)),
    ])
    return stateOf(session, { refunds, disputes })
  }

  async function refund({ session_id }: Payment): Promise<void> {
    const session = await found(stripe.checkout.sessions.retrieve(session_id))
    const payment_intent = session && idOf(session.payment_intent)
    if (!payment_intent) throw invalid('purchase_id', 'Nothing was paid for this purchase')
    try {
      // There is no idempotency key: Stripe would replay a refusal for a day, and it refuses a second full refund anyway.
      await stripe.refunds.create({ payment_intent })
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (error.code === 'charge_already_refunded') return
      throw invalid('purchase_id', `Stripe refuses the refund: ${error.message}`)
    }
  }

  return {
    name: 'stripe',
    open,
    async read(notification) {
      const event = verifiedEvent(webhooks, notification, { secrets: webhook_secrets, now: now() })
      if (!event) return null
      if (event.livemode === livemode) return subjectOf(event)
      const { id, type } = event
      log.warn({ event_id: id, type, livemode: event.livemode }, 'a Stripe event of the other mode')
      return { session_id: null, payment_id: null }
    },
    async orderOf(paymentId) {
      const intent = await found(stripe.paymentIntents.retrieve(paymentId))
      const { workspace_id, purchase_id } = intent?.metadata ?? {}
      return workspace_id && purchase_id ? { workspace_id, purchase_id } : null
    },
    look,
    refund,
  }
}

const LANDING = '/pay/{CHECKOUT_SESSION_ID}'

function isLive(secret_key: string): boolean {
  const mode = /^(?:sk|rk)_(test|live)_\S+$/.exec(secret_key)?.[1]
  if (!mode)
    throw new Error('a secret key of Stripe begins with sk_test_, sk_live_, rk_test_ or rk_live_')
  return mode === 'live'
}

function addressOf(api_url: string | undefined) {
  if (api_url === undefined) return {}
  const { hostname, port, protocol } = new URL(api_url)
  if (protocol === 'http:') return { host: hostname, port: port || 80, protocol: 'http' as const }
  return { host: hostname, port: port || 443, protocol: 'https' as const }
}

function sessionFor(order: Order, landing: string): Stripe.Checkout.SessionCreateParams {
  const { workspace_id, purchase_id, description, amount, currency, expires_at } = order
  const metadata = { purchase_id, workspace_id }
  return {
    mode: 'payment',
    client_reference_id: purchase_id,
    metadata,
    // Refunds and disputes refer only to the payment.
    payment_intent_data: { metadata },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: currency.toLowerCase(),
          unit_amount: amount,
          product_data: { name: description },
        },
      },
    ],
    success_url: order.success_url ?? landing,
    ...(order.cancel_url !== null && { cancel_url: order.cancel_url }),
    expires_at: Math.floor(expires_at.getTime() / 1000),
    // The payer pays the price of the package, in the package's currency.
    allow_promotion_codes: false,
    adaptive_pricing: { enabled: false },
  }
}

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of list) all.push(one)
  return all
}

type Webhooks = (typeof Stripe)['webhooks']

/** Returns the event if one of the secrets signed the bytes at most five minutes from now; otherwise null. */
function verifiedEvent(
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
function subjectOf(event: Stripe.Event): Subject {
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
function idOf(object: string | { id: string } | null | undefined): string | null {
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
