import { describe, expect, it } from 'vitest'
import { readCreditPackages } from './credit-packages.ts'
import { parseCredits } from './units.ts'

const STARTER = { id: 'a', name: 'A', credits: 0.1, price: { amount: 1, currency: 'USD' } }

describe('readCreditPackages', () => {
  it('reads packages, and fills in what may be left out', () => {
    expect(readCreditPackages(JSON.stringify([STARTER]))).toStrictEqual([
      { ...STARTER, description: '', credits: parseCredits('0.1'), bonus_credits: 0 },
    ])
    expect(readCreditPackages('[]')).toStrictEqual([])
  })

  it.each([
    ['{', 'it is no JSON'],
    ['{}', 'expected array'],
    [JSON.stringify([STARTER, STARTER]), 'has one id twice'],
    [JSON.stringify([{ ...STARTER, id: 'a b' }]), '0.id: must be letters'],
    [JSON.stringify([{ ...STARTER, credits: 0 }]), '0.credits: must be above 0'],
    [JSON.stringify([{ ...STARTER, credits: '5' }]), '0.credits: '],
    [JSON.stringify([{ ...STARTER, credits: 0.0000001 }]), '0.credits: Credits must have at most'],
    [JSON.stringify([{ ...STARTER, bonus_credits: -1 }]), '0.bonus_credits: must be 0 or above'],
    [JSON.stringify([STARTER, { ...STARTER, bonus: 1 }]), '1: Unrecognized key: "bonus"'],
    [JSON.stringify([{ ...STARTER, price: { amount: 1.5, currency: 'USD' } }]), '0.price.amount: '],
    [JSON.stringify([{ ...STARTER, price: { amount: 0, currency: 'USD' } }]), '0.price.amount: '],
    [
      JSON.stringify([{ ...STARTER, price: { amount: 1, currency: 'usd' } }]),
      '0.price.currency: must be three capital letters',
    ],
  ])('refuses %s', (json, text) => {
    expect(() => readCreditPackages(json)).toThrow(text)
  })
})
