import type { Claim } from './ports/hot.ts'

/** A smaller difference is a smooth correction of the clock, which does no harm because leases and waits are longer. */
export const STEP_MIN_MS = 1_000

/** The maximum number of rows of each queue that are re-dated at once, because senders wait meanwhile. */
export const REDATED_MAX = 5_000

/**
 * This is longer than any work is in flight. A delivery that began before the clock was set back is recorded with the
 * earlier clock, which also sets the time of its next try.
 */
const IN_FLIGHT_MAX_MS = 180_000

/** The log message of a re-dating. */
export const REDATED = 'the clock was ahead when these rows were queued; their waits count from now'

/** Detects when the clock of due times was set forwards or back. Each storage has one, in memory. */
export interface ClockSteps {
  /**
   * Records a reading of the clock, made between two moments of `Runtime.elapsed`. A late answer alone is not a step of
   * the clock: a step is a difference that the delay cannot explain.
   */
  saw(at: Date, before_ms: number, after_ms: number): void
  /**
   * Whether a claim may take over expired leases. After the clock was set forwards, this is false for the length of a
   * lease, because the work may still be in flight.
   */
  takesOver(claim: Pick<Claim, 'elapsed_ms' | 'lease_ms'>): boolean
  /**
   * Whether the queue may have rows that were dated while the clock was ahead: at the start, and after it was set back.
   */
  isDoubtful(): boolean
  /** Records the number of re-dated rows of a queue. A number below `REDATED_MAX` means that no such rows remain. */
  redated(count: number): void
}

export function createClockSteps(): ClockSteps {
  /** The bounds of the difference between the clock and `Runtime.elapsed`. */
  let [least_ms, most_ms] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  let forwards_at_ms = Number.NEGATIVE_INFINITY
  let again_at_ms = Number.POSITIVE_INFINITY
  let isDoubtful = true
  return {
    saw(at, before_ms, after_ms) {
      const [low_ms, high_ms] = [at.getTime() - after_ms, at.getTime() - before_ms]
      const isForwards = low_ms > most_ms + STEP_MIN_MS
      const isBack = high_ms < least_ms - STEP_MIN_MS
      // The narrower bounds are still valid, unless the clock was set after the last reading.
      const agrees = low_ms <= most_ms && high_ms >= least_ms
      least_ms = agrees ? Math.max(least_ms, low_ms) : low_ms
      most_ms = agrees ? Math.min(most_ms, high_ms) : high_ms
      if (isForwards) forwards_at_ms = after_ms
      if (isBack) {
        isDoubtful = true
        again_at_ms = after_ms + IN_FLIGHT_MAX_MS
      } else if (after_ms >= again_at_ms) {
        isDoubtful = true
        again_at_ms = Number.POSITIVE_INFINITY
      }
    },
    takesOver: ({ elapsed_ms, lease_ms }) => elapsed_ms - forwards_at_ms >= lease_ms,
    isDoubtful: () => isDoubtful,
    redated(count) {
      if (count < REDATED_MAX) isDoubtful = false
    },
  }
}
