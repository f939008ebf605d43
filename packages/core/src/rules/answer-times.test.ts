import { describe, expect, it } from 'vitest'
import { type AttemptCount, endOfStep, stepOf, summaryOf } from './answer-times.ts'

describe('stepOf', () => {
  it('has an end that is at most 19 % above each time, and never below it', () => {
    for (let ms = 1; ms < 40_000; ms += Math.ceil(ms / 50)) {
      const end = endOfStep(stepOf(ms))
      expect(end).toBeGreaterThanOrEqual(ms)
      expect(end).toBeLessThanOrEqual(Math.ceil(ms * 1.19))
    }
    expect(stepOf(0)).toBe(0)
    expect(stepOf(Number.MAX_SAFE_INTEGER)).toBe(120)
  })
})

describe('summaryOf', () => {
  const count = (outcome: AttemptCount['outcome'], ms: number, n: number): AttemptCount => ({
    outcome,
    step: stepOf(ms),
    count: n,
  })

  it('has the times of all answers, and counts attempts without one as failures only', () => {
    const counts = [
      count('unanswered', 1, 50),
      count('refused', 4_096, 2),
      count('succeeded', 64, 98),
    ]
    expect(summaryOf(counts)).toEqual({ attempts: 150, succeeded: 98, p50_ms: 64, p99_ms: 4_096 })
    expect(summaryOf([count('succeeded', 64, 99), count('refused', 4_096, 1)])).toMatchObject({
      p99_ms: 64,
    })
  })

  it('has no times without an answer', () => {
    const none = { p50_ms: null, p99_ms: null }
    expect(summaryOf([])).toEqual({ attempts: 0, succeeded: 0, ...none })
    expect(summaryOf([count('unanswered', 1, 3)])).toEqual({ attempts: 3, succeeded: 0, ...none })
  })
})
