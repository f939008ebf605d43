import { describe, expect, it } from 'vitest'
import { parseCredits } from '../fields/units.ts'
import { readCreditPackages } from './credit-packages.ts'

const STARTER = { id: 'a', name: 'A', credits: 0.1, price: { amount: 1, currency: 'USD' } }

describe('readCreditPackages', () => {
  it('reads packages, with defaults for optional fields', () => {
    expect(readCreditPackages(JSON.stringify([STARTER]))).toStrictEqual([
      { ...STARTER, description: '', credits: parseCredits('0.1'), bonus_credits: 0 },
    ])
    expect(readCreditPackages('[]')).toStrictEqual([])
  })

  it.each([
    ['{', 'it is not valid JSON'],
    ['{}', 'it is not a list'],
    ['[5]', 'package 1 of the list: it is not an object'],
    ['[null]', 'package 1 of the list: it is not an object'],
    [JSON.stringify(Array.from({ length: 1_000 }, () => STARTER)), 'must have at most'],
    [JSON.stringify([STARTER, STARTER]), 'has one id twice'],
    [JSON.stringify([STARTER, { name: 'B' }]), 'package 2 of the list: Missing required field: id'],
    [JSON.stringify([{ ...STARTER, id: '' }]), 'package 1 of the list: id: must be letters'],
    [JSON.stringify([{ ...STARTER, id: 'a b' }]), 'package "a b": id: must be letters'],
    [
      JSON.stringify([{ ...STARTER, name: undefined }]),
      'package "a": Missing required field: name',
    ],
    [JSON.stringify([{ ...STARTER, name: 5 }]), 'package "a": name must be a string'],
    [JSON.stringify([{ ...STARTER, credits: 0 }]), 'package "a": credits: must be above 0'],
    [JSON.stringify([{ ...STARTER, credits: '5' }]), 'package "a": credits must be a number'],
    [
      JSON.stringify([{ ...STARTER, credits: 0.0000001 }]),
      'package "a": credits: Credits must have at most',
    ],
    [
      JSON.stringify([{ ...STARTER, bonus_credits: -1 }]),
      'package "a": bonus_credits: must be 0 or above',
    ],
    [
      JSON.stringify([STARTER, { ...STARTER, id: 'b', bonus_credit: 1 }]),
      'package "b": Unknown field: bonus_credit. Did you mean bonus_credits?',
    ],
    [
      JSON.stringify([{ ...STARTER, price: { amount: 1.5, currency: 'USD' } }]),
      'package "a": price.amount must be an integer',
    ],
    [
      JSON.stringify([{ ...STARTER, price: { amount: 0, currency: 'USD' } }]),
      'package "a": price.amount must be at least 1',
    ],
    [
      JSON.stringify([{ ...STARTER, price: { amount: 1, currency: 'usd' } }]),
      'package "a": price.currency: must be three capital letters',
    ],
  ])('refuses %s', (json, text) => {
    expect(() => readCreditPackages(json)).toThrow(text)
  })
})
