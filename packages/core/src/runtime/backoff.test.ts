import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from './backoff.ts'

const bounds = { base_ms: 1_000, cap_ms: 300_000 }
const most = () => 1

describe('backoffMs', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [9, 256_000],
    [10, 300_000],
    [31, 300_000],
    [1_000_000, 300_000],
  ])('attempt %d waits up to %d ms', (attempt, cap) => {
    expect(backoffMs(attempt, bounds, most)).toBe(cap)
    expect(backoffMs(attempt, bounds, () => 0.5)).toBe(cap / 2)
    expect(backoffMs(attempt, bounds, () => 0)).toBe(0)
  })

  it('stays whole and within its bounds', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), chance, (attempt, random) => {
        const wait = backoffMs(attempt, bounds, () => random)
        expect(Number.isInteger(wait)).toBe(true)
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(Math.min(300_000, 1_000 * 2 ** (attempt - 1)))
      }),
    )
  })
})
