import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  creditsOf,
  formatCredits,
  isUnits,
  parseCredits,
  UNITS_MAX,
  units,
  withUnit,
} from './units.ts'

const amounts = fc.integer({ min: -UNITS_MAX, max: UNITS_MAX })

describe('units', () => {
  test.each([0, 1, -1, UNITS_MAX, -UNITS_MAX])('takes %d', (n) => {
    expect(units(n)).toBe(n)
  })

  test.each([0.5, UNITS_MAX + 1, -UNITS_MAX - 1, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses %d',
    (n) => {
      expect(() => units(n)).toThrow(RangeError)
      expect(isUnits(n)).toBe(false)
    },
  )

  test('turns -0 into 0', () => {
    expect(Object.is(units(-0), 0)).toBe(true)
    expect(Object.is(parseCredits('-0'), 0)).toBe(true)
  })
})

describe('parseCredits', () => {
  test.each([
    ['0', 0],
    ['1', 1_000_000],
    ['0.1', 100_000],
    ['0.000001', 1],
    ['-2.5', -2_500_000],
    ['1.10', 1_100_000],
    ['999999999.999999', UNITS_MAX],
  ])('reads %s', (text, expected) => {
    expect(parseCredits(text)).toBe(expected)
  })

  test.each([
    '',
    '.5',
    '5.',
    '0.0000001',
    '1e3',
    '+1',
    ' 1',
    '1 ',
    '0x1',
    '1,5',
    '1000000000',
    'NaN',
  ])('refuses %j', (text) => {
    expect(() => parseCredits(text)).toThrow(RangeError)
  })
})

describe('formatCredits and creditsOf', () => {
  test.each([
    [100_000, '0.1'],
    [12_000_000, '12'],
    [0, '0'],
    [1, '0.000001'],
    [-500_000, '-0.5'],
    [UNITS_MAX, '999999999.999999'],
  ])('write %d units as %s', (n, text) => {
    expect(formatCredits(units(n))).toBe(text)
    expect(JSON.stringify(creditsOf(units(n)))).toBe(text)
  })

  test.each([
    [1_000_000, '1 credit'],
    [1_000_001, '1.000001 credits'],
    [500_000, '0.5 credits'],
    [-1_000_000, '-1 credits'],
  ])('write %d units with their unit as %s', (n, text) => {
    expect(withUnit(units(n))).toBe(text)
  })

  test('keep every amount in its text and its JSON number', () => {
    fc.assert(
      fc.property(amounts, (n) => {
        expect(parseCredits(formatCredits(units(n)))).toBe(n)
        expect(parseCredits(JSON.stringify(creditsOf(units(n))))).toBe(n)
      }),
      { numRuns: 1000 },
    )
  })
})
