import type { Account } from './account.ts'
import { type Form, readForm, textAt, textsAt } from './form.ts'

export interface ApiRequest {
  method: string
  /** Includes the query. */
  path: string
  headers: Readonly<Record<string, unknown>>
  body: string
}

export interface ApiAnswer {
  status: number
  body: object
}

/** Currencies with three decimals; Stripe accepts only multiples of ten thousandths. */
const THREE_DECIMALS = ['bhd', 'jod', 'kwd', 'omr', 'tnd']
const ZERO_DECIMALS = ['jpy', 'krw', 'vnd', 'ugx', 'rwf']
const CURRENCIES = ['usd', 'eur', 'gbp', 'kes', 'tzs', ...ZERO_DECIMALS, ...THREE_DECIMALS]

const HALF_AN_HOUR_S = 30 * 60
const DAY_S = 24 * 60 * 60
/** Requests take a moment to arrive. */
const SLACK_S = 60

/** Stripe's API over an account: form-encoded bodies, one answer for each `Idempotency-Key`, Stripe's error texts. */
export function createApi(account: Account, secretKey: string, mayRefund: () => boolean) {
  const stored = new Map<string, { request: string; answer: ApiAnswer }>()

  function perform(method: string, path: string, form: Form): ApiAnswer {
    const [, , ...parts] = path.split('/')
    const route = `${method} ${parts.filter((_, i) => i !== idAt(parts)).join('/')}`
    const id = parts[idAt(parts)] ?? ''
    const payment = textAt(form, 'payment_intent') ?? ''
    switch (route) {
      case 'POST checkout/sessions':
        return createSession(account, form)
      case 'GET checkout/sessions':
        return sessionOf(account, id, Object.values(textsAt(form, 'expand')))
      case 'GET payment_intents':
        return oneOf(account.intents, id, 'payment_intent')
      case 'GET charges':
        return oneOf(account.charges, id, 'charge')
      case 'GET refunds':
        return listOf([...account.refunds.values()], payment, form)
      case 'GET disputes':
        return listOf([...account.disputes.values()], payment, form)
      case 'POST refunds':
        return createRefund(account, payment, mayRefund)
      default:
        return refusal(404, `Unrecognized request URL (${method}: ${path})`)
    }
  }

  return ({ method, path: url, headers, body }: ApiRequest): ApiAnswer => {
    if (headers.authorization !== `Bearer ${secretKey}`)
      return refusal(401, 'Invalid API Key provided')
    const { pathname, search } = new URL(url, 'http://api.stripe.example')
    const request = method === 'POST' ? body : search.slice(1)
    const key = headers['idempotency-key']
    if (method !== 'POST' || typeof key !== 'string')
      return perform(method, pathname, readForm(request))
    const before = stored.get(key)
    if (before && before.request === `${pathname} ${request}`) return structuredClone(before.answer)
    if (before)
      return refusal(
        400,
        'Keys for idempotent requests can only be used with the same parameters',
        { type: 'idempotency_error' },
      )
    const answer = perform(method, pathname, readForm(request))
    stored.set(key, { request: `${pathname} ${request}`, answer: structuredClone(answer) })
    return answer
  }
}

/** The index of the id in the parts of a path: `checkout/sessions/<id>` or `<kind>/<id>`. */
function idAt(parts: string[]): number {
  return parts[0] === 'checkout' ? 2 : 1
}

function createSession(account: Account, form: Form): ApiAnswer {
  const item = ['line_items', '0', 'price_data']
  const currency = textAt(form, ...item, 'currency') ?? ''
  const unit_amount = Number(textAt(form, ...item, 'unit_amount'))
  const expires_at = Number(textAt(form, 'expires_at'))
  const success_url = textAt(form, 'success_url')
  const lifetime_s = expires_at - account.now().getTime() / 1000
  if (textAt(form, 'mode') !== 'payment') return refusal(400, 'Missing required param: mode.')
  if (!success_url) return refusal(400, 'Missing required param: success_url.')
  if (!CURRENCIES.includes(currency)) return refusal(400, `Invalid currency: ${currency}.`)
  if (!Number.isInteger(unit_amount) || unit_amount < 1)
    return refusal(400, 'Invalid integer: unit_amount')
  if (THREE_DECIMALS.includes(currency) && unit_amount % 10 !== 0) {
    return refusal(400, `Invalid amount for ${currency}: the last digit must be 0.`)
  }
  if (!textAt(form, ...item, 'product_data', 'name'))
    return refusal(400, 'Missing required param: name.')
  if (!(lifetime_s >= HALF_AN_HOUR_S - SLACK_S && lifetime_s <= DAY_S + SLACK_S)) {
    return refusal(
      400,
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from now.',
    )
  }
  const session = account.openSession({
    amount_total: unit_amount * Number(textAt(form, 'line_items', '0', 'quantity')),
    currency,
    client_reference_id: textAt(form, 'client_reference_id') ?? null,
    metadata: textsAt(form, 'metadata'),
    intent_metadata: textsAt(form, 'payment_intent_data', 'metadata'),
    success_url,
    cancel_url: textAt(form, 'cancel_url') ?? null,
    expires_at,
  })
  return { status: 200, body: structuredClone(session) }
}

function sessionOf(account: Account, id: string, expand: string[]): ApiAnswer {
  const session = account.sessions.get(id)
  if (!session) return missing('checkout.session', id)
  const intent = session.payment_intent && account.intents.get(session.payment_intent)
  const isSpelt = intent && expand.includes('payment_intent')
  return {
    status: 200,
    body: structuredClone(isSpelt ? { ...session, payment_intent: intent } : session),
  }
}

function createRefund(account: Account, payment: string, mayRefund: () => boolean): ApiAnswer {
  const intent = account.intents.get(payment)
  if (!intent) return missing('payment_intent', payment)
  if (intent.latest_charge === null)
    return refusal(400, 'This PaymentIntent has no successful charge to refund.')
  const isDisputed = [...account.disputes.values()].some(
    ({ charge, status }) =>
      charge === intent.latest_charge && !status.startsWith('warning_') && status !== 'won',
  )
  if (isDisputed)
    return refusal(400, 'The charge has been charged back.', { code: 'charge_disputed' })
  if (account.charges.get(intent.latest_charge)?.refunded)
    return refusal(400, 'The charge has already been refunded.', {
      code: 'charge_already_refunded',
    })
  if (!mayRefund())
    return refusal(400, 'Insufficient funds in your Stripe balance to refund this amount.', {
      code: 'balance_insufficient',
    })
  return { status: 200, body: structuredClone(account.refund(payment) ?? {}) }
}

function oneOf(all: Map<string, object>, id: string, kind: string): ApiAnswer {
  const one = all.get(id)
  return one ? { status: 200, body: structuredClone(one) } : missing(kind, id)
}

/** A page of a list, newest first. */
function listOf(
  all: { id: string; payment_intent: string }[],
  payment: string,
  form: Form,
): ApiAnswer {
  const those = all.filter(({ payment_intent }) => payment_intent === payment).reverse()
  const after = textAt(form, 'starting_after')
  const from = after === undefined ? 0 : those.findIndex(({ id }) => id === after) + 1
  const limit = Number(textAt(form, 'limit') ?? 10)
  const data = structuredClone(those.slice(from, from + limit))
  return {
    status: 200,
    body: { object: 'list', data, has_more: from + limit < those.length, url: '/v1' },
  }
}

function missing(kind: string, id: string): ApiAnswer {
  return refusal(404, `No such ${kind}: '${id}'`, { code: 'resource_missing' })
}

function refusal(
  status: number,
  message: string,
  more: { type?: string; code?: string } = {},
): ApiAnswer {
  return { status, body: { error: { type: 'invalid_request_error', message, ...more } } }
}
