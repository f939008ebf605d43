import type { Claim } from './ports/hot.ts'

/** A clock that differs by less was corrected smoothly: leases and waits are longer. */
export const STEP_MIN_MS = 1_000

/** So many rows of each queue are brought back at once at the most: whoever sends waits meanwhile. */
export const REDATED_MAX = 5_000

/**
 * Longer than anything is under way: a delivery that began before the clock was set back is recorded, and its next try
 * dated, by what the clock showed then.
 */
const UNDER_WAY_MAX_MS = 180_000

/** What the log says of them. */
export const REDATED =
  'the clock was ahead when these were queued: what they wait for is counted from now'

/** Knows when the clock that due times are told by was set forwards or back. Of one storage, in memory. */
export interface ClockSteps {
  /**
   * Notes what the clock showed at some moment between those two of `Runtime.elapsed`. However far apart they are, a late
   * answer is no step: only what lies outside all that lateness explains is one.
   */
  saw(at: Date, before_ms: number, after_ms: number): void
  /**
   * Whether a claim may take over work whose lease seems to be over. Not for as long as a lease lasts after the clock was
   * set forwards: the work may be under way still.
   */
  takesOver(claim: Pick<Claim, 'elapsed_ms' | 'lease_ms'>): boolean
  /** Whether something may be queued that a clock ahead of now has dated: at first, and after the clock was set back. */
  isDoubtful(): boolean
  /** Told how many rows of a queue, at the most, were brought back: fewer than `REDATED_MAX` were all. */
  redated(count: number): void
}

export function createClockSteps(): ClockSteps {
  /** By how much the clock is ahead of `Runtime.elapsed`: at least, and at the most. */
  let [least_ms, most_ms] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  let forwards_at_ms = Number.NEGATIVE_INFINITY
  let again_at_ms = Number.POSITIVE_INFINITY
  let isDoubtful = true
  return {
    saw(at, before_ms, after_ms) {
      const [low_ms, high_ms] = [at.getTime() - after_ms, at.getTime() - before_ms]
      const isForwards = low_ms > most_ms + STEP_MIN_MS
      const isBack = high_ms < least_ms - STEP_MIN_MS
      // What was known more closely still holds, unless the clock has moved since.
      const agrees = low_ms <= most_ms && high_ms >= least_ms
      least_ms = agrees ? Math.max(least_ms, low_ms) : low_ms
      most_ms = agrees ? Math.min(most_ms, high_ms) : high_ms
      if (isForwards) forwards_at_ms = after_ms
      if (isBack) {
        isDoubtful = true
        again_at_ms = after_ms + UNDER_WAY_MAX_MS
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
