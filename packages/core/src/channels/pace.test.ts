import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { burstOf, createPace, type Pace } from './pace.ts'

const START_MS = Date.parse('2026-05-04T09:00:00.000Z')
const LOOK_MS = 250

const first = { provider: 'carrier', sender: '+15005550006', isRepetition: false }

/** Runs a backlog through, looked at like the dispatcher does; answers when each went. */
function drain(
  pace: Pace,
  { count, per_second, for_ms }: { count: number; per_second: number; for_ms: number },
): number[] {
  const due = Array.from({ length: count }, () => START_MS)
  const went: number[] = []
  for (let at_ms = START_MS; at_ms <= START_MS + for_ms; at_ms += LOOK_MS) {
    for (const [i, due_ms] of due.entries()) {
      if (due_ms > at_ms) continue
      const wait_ms = pace.take({ ...first, per_second, at_ms })
      if (wait_ms === 0) went.push(at_ms)
      due[i] = wait_ms === 0 ? Number.POSITIVE_INFINITY : at_ms + wait_ms
    }
  }
  return went
}

describe('the rate of a sender', () => {
  it('is never passed, whoever asks when, but for what may go at once', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 300 })
    const rate = fc.double({ min: 0.1, max: 1_000, noNaN: true })
    fc.assert(
      fc.property(rate, steps, (per_second, pauses) => {
        const pace = createPace()
        const went: number[] = []
        let at_ms = START_MS
        for (const pause of pauses) {
          at_ms += pause
          for (let i = 0; i < 5; i++) {
            if (pace.take({ ...first, per_second, at_ms }) === 0) went.push(at_ms)
          }
        }
        for (const [i, from] of went.entries()) {
          for (const [n, at] of went.slice(i).entries()) {
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
    const went = drain(createPace(), { count, per_second, for_ms })
    const possible = Math.min(count, (for_ms / 1_000) * per_second)
    expect(went.length).toBeGreaterThanOrEqual(0.9 * possible)
  })

  it('lets what comes again go in its turn, and all of it in the end', () => {
    const went = drain(createPace(), { count: 2_000, per_second: 10, for_ms: 400_000 })
    expect(went).toHaveLength(2_000)
  })

  it('tells those behind each other one turn after the other, and nobody more than two minutes', () => {
    const pace = createPace()
    const ask = () => pace.take({ ...first, per_second: 10, at_ms: START_MS })
    const waits = Array.from({ length: 10_000 }, ask)
    expect(waits.slice(0, 6)).toEqual([0, 0, 0, 50, 150, 250])
    expect(Math.max(...waits)).toBeLessThanOrEqual(120_000)
    // Those far behind do not all come back at one moment.
    const far = waits.slice(1_000)
    expect(Math.min(...far)).toBeGreaterThan(60_000)
    expect(new Set(far.map((wait) => Math.floor(wait / 1_000))).size).toBeGreaterThanOrEqual(60)
  })

  it('counts each sender of each provider by itself', () => {
    const pace = createPace()
    const ask = (provider: string, sender: string | null) =>
      pace.take({ provider, sender, per_second: 1, isRepetition: false, at_ms: START_MS })
    expect([ask('a', '1'), ask('a', '2'), ask('b', '1'), ask('b', null)]).toEqual([0, 0, 0, 0])
    expect(ask('a', '1')).toBeGreaterThan(0)
  })

  it('is not kept where there is none', () => {
    const pace = createPace()
    const ask = () => pace.take({ ...first, per_second: null, at_ms: START_MS })
    expect(Array.from({ length: 5_000 }, ask).every((wait) => wait === 0)).toBe(true)
  })
})

describe('the budget of repetitions', () => {
  const ask = (pace: Pace, isRepetition: boolean, at_ms: number) =>
    pace.take({ ...first, per_second: null, isRepetition, at_ms })
  /** How many of so many repetitions go at once. */
  const going = (pace: Pace, count: number, at_ms: number) =>
    Array.from({ length: count }, () => ask(pace, true, at_ms)).filter((wait) => wait === 0).length

  it('holds back a backlog, and never first sends', () => {
    const pace = createPace()
    expect(going(pace, 1_000, START_MS)).toBe(100)
    expect(ask(pace, true, START_MS)).toBe(5_000)
    expect(ask(pace, false, START_MS)).toBe(0)
  })

  it('never dries out for ever: repetitions go on where nothing new is sent', () => {
    const pace = createPace()
    going(pace, 1_000, START_MS)
    for (let s = 1; s <= 5; s++) expect(going(pace, 1_000, START_MS + s * 1_000)).toBe(10)
    expect(going(pace, 1_000, START_MS + 3_600_000)).toBe(100)
  })

  it('grows by a fifth of what is sent first', () => {
    const pace = createPace()
    going(pace, 1_000, START_MS)
    for (let i = 0; i < 50; i++) ask(pace, false, START_MS)
    const more = going(pace, 1_000, START_MS)
    expect([9, 10]).toContain(more)
  })

  it('is not spent by a repetition that waits for its turn', () => {
    const pace = createPace()
    const slow = (at_ms: number) =>
      pace.take({ ...first, per_second: 0.001, isRepetition: true, at_ms })
    expect(slow(START_MS)).toBe(0)
    for (let i = 0; i < 500; i++) expect(slow(START_MS)).toBeGreaterThan(5_000)
    expect(going(pace, 1_000, START_MS)).toBe(99)
  })

  it('is one for each provider', () => {
    const pace = createPace()
    going(pace, 1_000, START_MS)
    const other = { ...first, provider: 'other', per_second: null, isRepetition: true }
    expect(pace.take({ ...other, at_ms: START_MS })).toBe(0)
  })
})
