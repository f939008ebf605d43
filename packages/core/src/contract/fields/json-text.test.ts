import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SvcError } from '../errors.ts'
import { checkValue, jsonShape, longestList } from './json-text.ts'

const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return 1 + Object.values(value).reduce((sum: number, one) => sum + valuesIn(one), 0)
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

describe('jsonShape', () => {
  test.each([
    [nested(16), 16],
    [nested(17), 17],
    ['{"a":{"b":{}}}', 3],
    ['[[],[],[[]]]', 3],
    ['"[[[["', 0],
    ['{"a":"[[[[{{{{"}', 1],
    ['{"a":"\\"[[[["}', 1],
    ['{"a":"\\\\","b":[[]]}', 3],
    ['{"a":"\\\\\\"[[["}', 1],
    ['7', 0],
    ['"unclosed [[', 0],
    ['', 0],
  ])('%s has %d levels', (text, depth) => {
    expect(jsonShape(text).depth).toBe(depth)
  })

  test('agrees with the parsed value in depth, and counts no fewer values', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const { depth, values } = jsonShape(text)
        expect(depth).toBe(depthOf(JSON.parse(text)))
        expect(values).toBeGreaterThanOrEqual(valuesIn(JSON.parse(text)))
      }),
    )
  })

  test.each([
    ['1e308', true],
    ['1e99', false],
    ['1E+400', true],
    ['1e-400', false],
    ['9'.repeat(308), false],
    ['9'.repeat(309), true],
    [`0.${'1'.repeat(309)}`, true],
    [`["${'9'.repeat(400)}"]`, false],
    ['[12,"e",345]', false],
    ['[true,345]', false],
  ])('says whether %s may have an infinite number: %s', (text, isVast) => {
    expect(jsonShape(text).has_vast_number).toBe(isVast)
  })

  test('finds every number that is read as infinite', () => {
    const number = fc
      .tuple(fc.nat(), fc.constantFrom('e', 'E', 'e+', 'E+'), fc.nat({ max: 999 }))
      .map(([digits, e, exponent]) => `${digits}${e}${exponent}`)
    fc.assert(
      fc.property(number, (text) => {
        if (!Number.isFinite(JSON.parse(text))) expect(jsonShape(text).has_vast_number).toBe(true)
      }),
    )
  })
})

describe('longestList', () => {
  const member = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 40 }))

  test('has parts that together are the parsed list', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), member), fc.integer({ min: 1, max: 9 }), (body, n) => {
        const text = JSON.stringify(body)
        const list = longestList(text, n)
        if (!list) return
        const items = list.parts.flatMap(({ start, end, items: count }) => {
          const part = JSON.parse(`[${text.slice(start, end)}]`)
          expect(part).toHaveLength(count)
          return part
        })
        expect(JSON.parse(list.around)[list.name]).toEqual([])
        expect({ ...JSON.parse(list.around), [list.name]: items }).toEqual(JSON.parse(text))
      }),
    )
  })

  test('returns the list with the most values', () => {
    const text = '{"a":[1,2,3],"b":[[1,2,3,4]],"c":{"d":[1,2,3,4,5,6,7]},"e":[]}'
    expect(longestList(text, 2)?.name).toBe('b')
  })

  test.each(['{"a":[]}', '{"a":{}}', '[[1,2],[3]]', '{"a"', '', '{"a":[1,2'])(
    'returns null for %s',
    (text) => {
      expect(longestList(text, 2)).toBeNull()
    },
  )
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
  ])('accepts %j', (value) => {
    expect(() => checkValue(value)).not.toThrow()
  })

  test('checks the value of __proto__ too', () => {
    expect(refusalOf(JSON.parse('{"__proto__":{"a":"\\u0000"}}')).details?.[0]?.path).toBe(
      '__proto__.a',
    )
  })

  test('accepts 16 levels and refuses 17', () => {
    expect(() => checkValue(JSON.parse(nested(16)))).not.toThrow()
    expect(refusalOf(JSON.parse(nested(17))).message).toBe('JSON must not be nested deeper than 16')
  })
})
