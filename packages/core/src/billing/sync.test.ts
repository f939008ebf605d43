import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UNITS_MAX, units } from '../contract/fields/units.ts'
import type { PaymentState } from './payment.ts'
import { creditsFor, mismatchOf, statusFor } from './sync-purchase.ts'

const state = (fields: Partial<PaymentState> = {}): PaymentState => ({
  status: 'paid',
  amount: 1_000,
  currency: 'USD',
  reversed: 0,
  disputed: false,
  ...fields,
})

describe('creditsFor', () => {
  it.each(['open', 'failed', 'expired'] as const)('is 0 for a payment that is %s', (status) => {
    expect(creditsFor({ credits: units(7) }, state({ status }))).toBe(0)
  })

  it.each([
    [0, 7],
    [1, 7],
    [142, 7],
    [143, 6],
    [999, 1],
    [1_000, 0],
    [1_001, 0],
  ])('with %d of 1000 reversed, leaves %d of 7 credits', (reversed, left) => {
    expect(creditsFor({ credits: units(7) }, state({ reversed }))).toBe(left)
  })

  it('takes the exact share, rounded down by less than one micro-credit', () => {
    const amounts = fc.integer({ min: 1, max: 99_999_999 })
    const shares = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(fc.maxSafeNat(), amounts, shares, (n, amount, share) => {
        const credits = units(n % UNITS_MAX)
        const reversed = Math.round(amount * share)
        const back = BigInt(credits - creditsFor({ credits }, state({ amount, reversed })))
        const exact = BigInt(credits) * BigInt(reversed)
        expect(back * BigInt(amount) <= exact).toBe(true)
        expect((back + 1n) * BigInt(amount) > exact).toBe(true)
      }),
    )
  })
})

it.each([
  [state({ status: 'open' }), 'pending'],
  [state({ status: 'failed' }), 'failed'],
  [state({ status: 'expired' }), 'expired'],
  [state(), 'paid'],
  [state({ disputed: true }), 'paid'],
  [state({ reversed: 999 }), 'paid'],
  [state({ reversed: 1_000 }), 'refunded'],
  [state({ reversed: 1_000, disputed: true }), 'disputed'],
])('%j makes the purchase %s', (payment, status) => {
  expect(statusFor(payment)).toBe(status)
})

it('mismatchOf reports another amount or currency, unless the whole payment was reversed', () => {
  const purchase = { amount: 1_000, currency: 'USD' }
  expect(mismatchOf(purchase, state())).toBeNull()
  expect(mismatchOf(purchase, state({ amount: 999 }))).toBe('amount_mismatch')
  expect(mismatchOf(purchase, state({ currency: 'EUR' }))).toBe('currency_mismatch')
  expect(mismatchOf(purchase, state({ amount: 900, reversed: 899 }))).toBe('amount_mismatch')
  expect(mismatchOf(purchase, state({ amount: 0 }))).toBe('amount_mismatch')
  expect(mismatchOf(purchase, state({ amount: 900, reversed: 900 }))).toBeNull()
})
