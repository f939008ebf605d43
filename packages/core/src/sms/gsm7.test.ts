import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { GSM7_BASIC, GSM7_EXTENSION, SEPTETS } from './segments.ts'

interface Validator {
  validateCharacter(character: string): boolean
  validateExtendedCharacter(character: string): boolean
}
const validator: Validator = createRequire(import.meta.url)('split-sms/lib/gsmvalidator')

function septetsByValidator(character: string): number {
  if (validator.validateExtendedCharacter(character)) return 2
  return validator.validateCharacter(character) ? 1 : 0
}

describe('the GSM-7 tables', () => {
  test('have the septets of an independent implementation for every code unit', () => {
    const different: number[] = []
    for (let unit = 0; unit < 0x10000; unit++) {
      if (SEPTETS[unit] !== septetsByValidator(String.fromCharCode(unit))) different.push(unit)
    }
    expect(different).toEqual([])
  })

  test('have 127 basic and 10 extension characters', () => {
    expect(SEPTETS).toHaveLength(0x10000)
    expect(SEPTETS.filter((septets) => septets === 1)).toHaveLength(127)
    expect(SEPTETS.filter((septets) => septets === 2)).toHaveLength(10)
  })

  test('have the basic codes of TS 23.038', () => {
    const firstCodes =
      '0040 00a3 0024 00a5 00e8 00e9 00f9 00ec 00f2 00c7 000a 00d8 00f8 000d 00c5 00e5 ' +
      '0394 005f 03a6 0393 039b 03a9 03a0 03a8 03a3 0398 039e 001b 00c6 00e6 00df 00c9'
    // From 0x20 on a code is its ASCII character, except these thirteen.
    const elsewhere = new Map([
      [0x24, 0x00a4],
      [0x40, 0x00a1],
      [0x5b, 0x00c4],
      [0x5c, 0x00d6],
      [0x5d, 0x00d1],
      [0x5e, 0x00dc],
      [0x5f, 0x00a7],
      [0x60, 0x00bf],
      [0x7b, 0x00e4],
      [0x7c, 0x00f6],
      [0x7d, 0x00f1],
      [0x7e, 0x00fc],
      [0x7f, 0x00e0],
    ])
    const expected = firstCodes.split(' ').map((hex) => Number.parseInt(hex, 16))
    for (let code = 0x20; code < 0x80; code++) expected.push(elsewhere.get(code) ?? code)
    expect([...GSM7_BASIC].map((character) => character.codePointAt(0))).toEqual(expected)
  })

  test('have each character once', () => {
    const all = [...GSM7_BASIC, ...GSM7_EXTENSION.keys()]
    expect(new Set(all).size).toBe(all.length)
  })

  test('show an extension character without its escape as in TS 23.038', () => {
    const bare = [...GSM7_EXTENSION].map(([character, code]) => character + GSM7_BASIC[code])
    expect(bare.join(' ')).toBe('\f\n ^Λ {( }) \\/ [< ~= ]> |¡ €e')
  })

  test('do not have the escape as a character', () => {
    expect(SEPTETS[0x1b]).toBe(0)
  })
})
