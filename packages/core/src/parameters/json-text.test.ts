import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonText } from './readers.ts'

describe('the JSON of a request', () => {
  const value = fc.anything({ withDate: true, withObjectString: false, withBigInt: false })

  it('is what JSON.stringify writes, also with a long list', async () => {
    await fc.assert(
      fc.asyncProperty(value, fc.dictionary(fc.string(), value), async (item, others) => {
        const list = Array.from({ length: 1_100 }, (_, i) => (i % 3 ? i : item))
        const request = { ...others, list, after: item }
        expect(await jsonText(request)).toBe(JSON.stringify(request))
      }),
      { numRuns: 200 },
    )
  })

  it.each([() => {}, Symbol('a'), 1n, { a: 1n }])('is refused for %s', (wrong) => {
    expect(() => jsonText(wrong)).toThrow('Request body must be valid JSON')
  })
})
