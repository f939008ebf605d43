import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import { type TermsChange, termsOf } from './credits.ts'

describe('termsOf', () => {
  const cases: [string, TermsChange, object][] = [
    ['a credit limit', { credit_limit: units(5) }, { credit_limit: 5 }],
    ['no daily limit', { daily_limit: null }, { daily_limit: null }],
    ['a daily limit of 0', { daily_limit: units(0) }, { daily_limit: 0 }],
    [
      'its own threshold',
      { low_balance: units(5) },
      { low_balance: 5, low_balance_default: false },
    ],
    ['no threshold', { low_balance: null }, { low_balance: null, low_balance_default: false }],
    ['the threshold of the service', { low_balance: 'default' }, { low_balance_default: true }],
    [
      'a freeze',
      { status: 'frozen', reason: ' disputed ' },
      { status: 'frozen', frozen_reason: 'disputed' },
    ],
    ['the end of a freeze', { status: 'active' }, { status: 'active', frozen_reason: null }],
  ]

  it.each(cases)('sets the columns of %s, and no others', (_, change, terms) => {
    expect(termsOf(change)).toEqual(terms)
  })

  const refused: [string, TermsChange][] = [
    ['credit_limit', { credit_limit: units(-1) }],
    ['daily_limit', { daily_limit: units(-1) }],
    ['low_balance', { low_balance: units(-1) }],
    ['reason', { status: 'frozen' }],
    ['reason', { status: 'frozen', reason: ' ' }],
    ['', {}],
    ['', { reason: 'no freeze' }],
  ]

  it.each(refused)('refuses a fault of "%s"', (path, change) => {
    const details = [expect.objectContaining({ path })]
    const refusal = { code: 'validation_error', details }
    expect(() => termsOf(change)).toThrow(expect.objectContaining(refusal))
  })
})
