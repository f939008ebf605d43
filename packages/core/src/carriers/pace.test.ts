import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { burstOf, createPace, type Pace } from './carriers.ts'

const START_MS = Date.parse('2026-05-04T09:00:00.000Z')
const LOOK_MS = 250

const first = { provider: 'carrier', sender: '+15005550006', isRetry: false }

/** Sends a backlog at the dispatcher's polling interval; returns the time of each send. */
function drain(
  pace: Pace,
  { count, per_second, for_ms }: { count: number; per_second: number; for_ms: number },
): number[] {
  const due = Array.from({ length: count }, () => START_MS)
  const sent: number[] = []
  for (let at_ms = START_MS; at_ms <= START_MS + for_ms; at_ms += LOOK_MS) {
    for (const [i, due_ms] of due.entries()) {
      if (due_ms > at_ms) continue
      const wait_ms = pace.take({ ...first, per_second, at_ms })
      if (wait_ms === 0) sent.push(at_ms)
      due[i] = wait_ms === 0 ? Number.POSITIVE_INFINITY : at_ms + wait_ms
    }
  }
  return sent
}

describe('the rate of a sender', () => {
  it('is never exceeded, except by the burst', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 300 })
    const rate = fc.double({ min: 0.1, max: 1_000, noNaN: true })
    fc.assert(
      fc.property(rate, steps, (per_second, pauses) => {
        const pace = createPace()
        const sent: number[] = []
        let at_ms = START_MS
        for (const pause of pauses) {
          at_ms += pause
          for (let i = 0; i < 5; i++) {
            if (pace.take({ ...first, per_second, at_ms }) === 0) sent.push(at_ms)
          }
        }
        for (const [i, from] of sent.entries()) {
          for (const [n, at] of sent.slice(i).entries()) {
            const most = ((at - from) / 1_000) * per_second + burstOf(per_second)
            expect(n + 1).toBeLessThanOrEqual(most + 1e-6)
          }
        }
      }),
      { numRuns: 100 },
    )
  })

  it.each([
    [1, 300],
    [10, 3_000],
    [10, 20_000],
    [100, 40_000],
  ])('of %d a second is nearly reached by a backlog of %d', (per_second, count) => {
    const for_ms = 200_000
    const sent = drain(createPace(), { count, per_second, for_ms })
    const possible = Math.min(count, (for_ms / 1_000) * per_second)
    expect(sent.length).toBeGreaterThanOrEqual(0.9 * possible)
  })

  it('sends the whole backlog in the end', () => {
    const sent = drain(createPace(), { count: 2_000, per_second: 10, for_ms: 400_000 })
    expect(sent).toHaveLength(2_000)
  })

  it('gives waiting messages successive times, at most two minutes ahead', () => {
    const pace = createPace()
    const waitOf = () => pace.take({ ...first, per_second: 10, at_ms: START_MS })
    const waits = Array.from({ length: 10_000 }, waitOf)
    expect(waits.slice(0, 6)).toEqual([0, 0, 0, 50, 150, 250])
    expect(Math.max(...waits)).toBeLessThanOrEqual(120_000)
    // Messages far behind do not all return at one moment.
    const far = waits.slice(1_000)
    expect(Math.min(...far)).toBeGreaterThan(60_000)
    expect(new Set(far.map((wait) => Math.floor(wait / 1_000))).size).toBeGreaterThanOrEqual(60)
  })

  it('counts each sender of each provider separately', () => {
    const pace = createPace()
    const waitOf = (provider: string, sender: string | null) =>
      pace.take({ provider, sender, per_second: 1, isRetry: false, at_ms: START_MS })
    expect([waitOf('a', '1'), waitOf('a', '2'), waitOf('b', '1'), waitOf('b', null)]).toEqual([
      0, 0, 0, 0,
    ])
    expect(waitOf('a', '1')).toBeGreaterThan(0)
  })

  it('does not apply without messages per second', () => {
    const pace = createPace()
    const waitOf = () => pace.take({ ...first, per_second: null, at_ms: START_MS })
    expect(Array.from({ length: 5_000 }, waitOf).every((wait) => wait === 0)).toBe(true)
  })
})

describe('the budget of retries', () => {
  const waitOf = (pace: Pace, isRetry: boolean, at_ms: number) =>
    pace.take({ ...first, per_second: null, isRetry, at_ms })
  /** The number of `count` retries that may be sent at once. */
  const going = (pace: Pace, count: number, at_ms: number) =>
    Array.from({ length: count }, () => waitOf(pace, true, at_ms)).filter((wait) => wait === 0)
      .length

  it('holds back a backlog, and never first sends', () => {
    const pace = createPace()
    expect(going(pace, 1_000, START_MS)).toBe(100)
    expect(waitOf(pace, true, START_MS)).toBe(5_000)
    expect(waitOf(pace, false, START_MS)).toBe(0)
  })

  it('grows with time, so that retries continue without first sends', () => {
    const pace = createPace()
    going(pace, 1_000, START_MS)
    for (let s = 1; s <= 5; s++) expect(going(pace, 1_000, START_MS + s * 1_000)).toBe(10)
    expect(going(pace, 1_000, START_MS + 3_600_000)).toBe(100)
  })

  it('grows by a fifth of the first sends', () => {
    const pace = createPace()
    going(pace, 1_000, START_MS)
    for (let i = 0; i < 50; i++) waitOf(pace, false, START_MS)
    const more = going(pace, 1_000, START_MS)
    expect([9, 10]).toContain(more)
  })

  it('is not used by a retry that waits for the rate', () => {
    const pace = createPace()
    const slow = (at_ms: number) => pace.take({ ...first, per_second: 0.001, isRetry: true, at_ms })
    expect(slow(START_MS)).toBe(0)
    for (let i = 0; i < 500; i++) expect(slow(START_MS)).toBeGreaterThan(5_000)
    expect(going(pace, 1_000, START_MS)).toBe(99)
  })

  it('is separate for each provider', () => {
    const pace = createPace()
    going(pace, 1_000, START_MS)
    const other = { ...first, provider: 'other', per_second: null, isRetry: true }
    expect(pace.take({ ...other, at_ms: START_MS })).toBe(0)
  })
})
