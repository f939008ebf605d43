import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_ATTEMPTS, nextWaitMs } from './delivery-times.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Source: contract section 7. */
const WAITS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

const never = () => 0
const always = () => 1 - Number.EPSILON
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('nextWaitMs', () => {
  it('tries twelve times', () => {
    expect(MAX_ATTEMPTS).toBe(12)
    expect(WAITS).toHaveLength(11)
  })

  it.each(WAITS.map((wait, i) => [i + 1, wait]))(
    'after try %d waits %d ms, up to a tenth more',
    (attempt, wait) => {
      expect(nextWaitMs(attempt, null, never)).toBe(wait)
      expect(nextWaitMs(attempt, null, always)).toBe(wait + wait / 10)
    },
  )

  it.each([12, 13, 100])('gives up after try %d, with any Retry-After', (attempt) => {
    expect(nextWaitMs(attempt, null, never)).toBeNull()
    expect(nextWaitMs(attempt, 60_000, never)).toBeNull()
  })

  it('is never early and at most a tenth of a step late', () => {
    const attempts = fc.integer({ min: 1, max: 11 })
    const retryAfters = fc.option(fc.integer({ min: -HOUR, max: 100 * HOUR }))
    fc.assert(
      fc.property(attempts, retryAfters, chance, (attempt, retryAfter, random) => {
        const step = WAITS[attempt - 1] as number
        const wait = nextWaitMs(attempt, retryAfter, () => random) as number
        const least = Math.max(step, Math.min(retryAfter ?? 0, 24 * HOUR))
        expect(Number.isInteger(wait)).toBe(true)
        expect(wait).toBeGreaterThanOrEqual(least)
        expect(wait).toBeLessThanOrEqual(least + step / 10)
      }),
    )
  })

  it.each([
    ['lengthens the wait', 1, 60_000, 60_000],
    ['does not shorten it', 2, 1_000, 30_000],
    ['of nothing changes nothing', 1, 0, 5_000],
    ['of the past changes nothing', 1, -60_000, 5_000],
    ['counts for at most a day', 1, 48 * HOUR, 24 * HOUR],
  ])('a Retry-After %s', (_, attempt, retryAfter, wait) => {
    expect(nextWaitMs(attempt, retryAfter, never)).toBe(wait)
  })
})
