import { beforeEach, describe, expect, it } from 'vitest'
import { type ClockSteps, createClockSteps, REDATED_MAX, STEP_MIN_MS } from './queueing.ts'

const LEASE_MS = 30_000
const HOUR_MS = 3_600_000
const BEGINNING_MS = Date.parse('2026-05-04T09:00:00.000Z')

let steps: ClockSteps
beforeEach(() => {
  steps = createClockSteps()
  saw(0)
  steps.redating()(0)
})

/** Reports a reading of the clock between those two moments, when the clock is ahead of its start by `ahead_ms`. */
function saw(at_ms: number, { before_ms = at_ms, after_ms = at_ms, ahead_ms = 0 } = {}): void {
  steps.saw(new Date(BEGINNING_MS + at_ms + ahead_ms), before_ms, after_ms)
}
const takesOver = (elapsed_ms: number) => steps.takesOver({ elapsed_ms, lease_ms: LEASE_MS })

describe('an answer that is late', () => {
  it.each([
    ['before the clock was read', { before_ms: 1_000, after_ms: 9_000 }, 9_000],
    ['after it was read', { before_ms: 9_000, after_ms: 17_000 }, 9_000],
  ])('%s is not a clock step, nor are the readings after it', (_, around, at_ms) => {
    saw(at_ms, around)
    expect(takesOver(17_000)).toBe(true)
    saw(17_001)
    expect(takesOver(17_001)).toBe(true)
    expect(steps.isDoubtful()).toBe(false)
  })

  it('hides no step from those after it', () => {
    saw(5_000, { before_ms: 1_000, after_ms: 9_000, ahead_ms: 3_000 })
    expect(takesOver(9_000)).toBe(true)
    saw(10_000, { ahead_ms: 3_000 })
    expect(takesOver(10_000)).toBe(false)
    expect(takesOver(10_000 + LEASE_MS)).toBe(true)
  })

  it('shows a step that is longer than it was late', () => {
    saw(5_000, { before_ms: 1_000, after_ms: 9_000, ahead_ms: HOUR_MS })
    expect(takesOver(9_000)).toBe(false)
    expect(steps.isDoubtful()).toBe(false)
    saw(15_000, { before_ms: 11_000, after_ms: 19_000 })
    expect(steps.isDoubtful()).toBe(true)
  })
})

it('a clock that runs a little faster is never set forwards', () => {
  for (let at_ms = 0; at_ms < HOUR_MS; at_ms += 1_000) {
    saw(at_ms, { after_ms: at_ms + 50, ahead_ms: at_ms * 0.0005 + 20 })
    expect(takesOver(at_ms)).toBe(true)
  }
  expect(HOUR_MS * 0.0005).toBeGreaterThan(STEP_MIN_MS)
})

describe('a re-dating', () => {
  it('leaves the doubt while rows remain', () => {
    saw(1_000, { ahead_ms: -HOUR_MS })
    steps.redating()(REDATED_MAX)
    expect(steps.isDoubtful()).toBe(true)
    steps.redating()(REDATED_MAX - 1)
    expect(steps.isDoubtful()).toBe(false)
  })

  it('leaves a doubt that began after it did', () => {
    saw(1_000, { ahead_ms: -HOUR_MS })
    const redated = steps.redating()
    saw(2_000, { ahead_ms: -2 * HOUR_MS })
    redated(0)
    expect(steps.isDoubtful()).toBe(true)
    steps.redating()(0)
    redated(0)
    expect(steps.isDoubtful()).toBe(false)
  })
})

it.each([
  ['caller', true],
  ['server', false],
] as const)('a lease by the clock of the %s is a reading of the clock: %s', (kind, isReading) => {
  steps = createClockSteps(kind)
  saw(0)
  steps.redating()(0)
  steps.sawLease({ now: new Date(BEGINNING_MS - HOUR_MS), elapsed_ms: 1_000 })
  expect(steps.isDoubtful()).toBe(isReading)
})
