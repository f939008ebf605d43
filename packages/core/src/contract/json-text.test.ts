import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SvcError } from './errors.ts'
import { checkValue, jsonDepthWithin } from './json-text.ts'

const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function refusalOf(value: unknown): SvcError {
  try {
    checkValue(value)
  } catch (error) {
    if (error instanceof SvcError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

describe('jsonDepthWithin', () => {
  test.each([
    [nested(16), 16, true],
    [nested(17), 16, false],
    ['{"a":{"b":{}}}', 3, true],
    ['{"a":{"b":{}}}', 2, false],
    ['[[],[],[[]]]', 3, true],
    ['"[[[["', 0, true],
    ['{"a":"[[[[{{{{"}', 1, true],
    ['{"a":"\\"[[[["}', 1, true],
    ['{"a":"\\\\","b":[[]]}', 2, false],
    ['{"a":"\\\\\\"[[["}', 1, true],
    ['7', 0, true],
    ['"unclosed [[', 0, true],
    ['', 0, true],
  ])('%s within %d: %s', (text, max, within) => {
    expect(jsonDepthWithin(text, max)).toBe(within)
  })

  test('agrees with the depth of the parsed value', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const depth = depthOf(JSON.parse(text))
        expect(jsonDepthWithin(text, depth)).toBe(true)
        expect(jsonDepthWithin(text, depth - 1)).toBe(depth === 0)
      }),
    )
  })

  test('four megabytes of brackets or of backslashes cost no more than their length', () => {
    const began = performance.now()
    expect(jsonDepthWithin('['.repeat(4e6), 16)).toBe(false)
    expect(jsonDepthWithin(`"${'\\"'.repeat(2e6)}"`, 16)).toBe(true)
    expect(jsonDepthWithin(`"${'\\\\'.repeat(2e6)}"`, 16)).toBe(true)
    expect(performance.now() - began).toBeLessThan(1000)
  })
})

describe('checkValue', () => {
  test.each([
    [{ a: 'x\u0000' }, 'Text must not contain the character U+0000', 'a'],
    [{ a: [{ 'k\u0000': 1 }] }, 'Text must not contain the character U+0000', 'a.0'],
    [{ a: { b: '\ud800' } }, 'Text must not contain unpaired surrogates', 'a.b'],
    [['ok', '\udc00x'], 'Text must not contain unpaired surrogates', '1'],
    [{ a: [1, -Infinity] }, `Numbers must not be greater than ${Number.MAX_VALUE}`, 'a.1'],
    [{ '\ud83d': 1 }, 'Text must not contain unpaired surrogates', ''],
    ['\u0000', 'Text must not contain the character U+0000', ''],
  ])('refuses %j', (value, message, path) => {
    const refusal = refusalOf(value)
    expect(refusal).toMatchObject({ code: 'validation_error', status: 400, message })
    expect(refusal.details).toEqual([{ path, message }])
  })

  test.each([
    { a: '😀 \u0001' },
    [null, true, 1.5],
    'text',
    null,
    JSON.parse('{"__proto__":{"a":"b"}}'),
  ])('lets %j pass', (value) => {
    expect(() => checkValue(value)).not.toThrow()
  })

  test('looks under __proto__ too', () => {
    expect(refusalOf(JSON.parse('{"__proto__":{"a":"\\u0000"}}')).details?.[0]?.path).toBe(
      '__proto__.a',
    )
  })

  test('16 levels pass and 17 do not', () => {
    expect(() => checkValue(JSON.parse(nested(16)))).not.toThrow()
    expect(refusalOf(JSON.parse(nested(17))).message).toBe('JSON must not be nested deeper than 16')
  })
})
