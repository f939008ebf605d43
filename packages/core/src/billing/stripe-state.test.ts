import type Stripe from 'stripe'
import { expect, it } from 'vitest'
import { type Returns, stateOf } from './stripe.ts'

const PRICE = 1_000

/** A session of the API, with the fields that are read. */
function session(fields: object = {}): Stripe.Checkout.Session {
  const paid = {
    status: 'complete',
    payment_status: 'paid',
    amount_total: PRICE,
    currency: 'usd',
    payment_intent: { id: 'pi_1', status: 'succeeded' },
  }
  return { ...paid, ...fields } as Stripe.Checkout.Session
}

const state = (fields: object = {}, returns: Partial<Returns> = {}) =>
  stateOf(session(fields), { refunds: [], disputes: [], ...returns })

it.each([
  [{}, 'paid'],
  [{ payment_status: 'no_payment_required', payment_intent: null }, 'paid'],
  [{ payment_status: 'unpaid', status: 'open', payment_intent: null }, 'open'],
  [{ payment_status: 'unpaid', status: 'expired', payment_intent: null }, 'expired'],
  [{ payment_status: 'unpaid', payment_intent: { id: 'pi_1', status: 'processing' } }, 'open'],
  [{ payment_status: 'unpaid', payment_intent: { id: 'pi_1', status: 'canceled' } }, 'failed'],
  [
    { payment_status: 'unpaid', payment_intent: { id: 'pi_1', status: 'requires_payment_method' } },
    'failed',
  ],
  [{ payment_status: 'unpaid', payment_intent: 'pi_1' }, 'open'],
])('a session with %j is %s', (fields, status) => {
  expect(state(fields).status).toBe(status)
})

it('returns amount, currency and payment in the form of PaymentState', () => {
  expect(state()).toEqual({
    status: 'paid',
    amount: PRICE,
    currency: 'USD',
    reversed: 0,
    disputed: false,
    payment_id: 'pi_1',
  })
  const odd = { amount_total: null, currency: null, payment_intent: null }
  expect(state(odd)).toMatchObject({ amount: 0, currency: '', payment_id: null })
})

it.each([
  ['succeeded', 300],
  ['pending', 300],
  ['requires_action', 300],
  [null, 300],
  ['failed', 0],
  ['canceled', 0],
])('a refund with status %s reverses %d of 300', (status, reversed) => {
  const refunds = [{ status, amount: 300 }]
  expect(state({}, { refunds })).toMatchObject({ reversed, disputed: false })
})

const WITHDRAWN = [{ amount: -275 }]
const REINSTATED = [{ amount: -275 }, { amount: 281 }]

it.each([
  ['needs_response', [], 300],
  ['needs_response', WITHDRAWN, 300],
  ['under_review', WITHDRAWN, 300],
  ['lost', WITHDRAWN, 300],
  ['appeal_needs_response', WITHDRAWN, 300],
  ['appeal_under_review', WITHDRAWN, 300],
  ['won', REINSTATED, 0],
  // Reported before the money is returned.
  ['won', WITHDRAWN, 0],
  ['prevented', [], 0],
  ['warning_needs_response', [], 0],
  ['warning_under_review', [], 0],
  ['warning_closed', [], 0],
  ['of_a_time_to_come', [], 0],
  ['of_a_time_to_come', WITHDRAWN, 300],
  ['of_a_time_to_come', REINSTATED, 0],
])('a dispute with status %s and transactions %j reverses %d of 300', (status, moved, reversed) => {
  const disputes = [{ status, amount: 300, balance_transactions: moved }]
  expect(state({}, { disputes })).toMatchObject({ reversed, disputed: reversed > 0 })
})

it('adds refunds and disputes, up to the whole amount', () => {
  const dispute = { status: 'lost', amount: 300, balance_transactions: [] }
  const refund = { status: 'succeeded', amount: 400 }
  const returns = (refunds: number) => ({
    refunds: Array(refunds).fill(refund),
    disputes: [dispute],
  })
  expect(state({}, returns(1)).reversed).toBe(700)
  expect(state({}, returns(2)).reversed).toBe(PRICE)
})
