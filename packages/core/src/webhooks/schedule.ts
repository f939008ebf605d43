/** Waits before the second, third, … try of a delivery (contract section 7): about three days in all. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const WAITS_MS = [
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

/** How often a delivery is tried at the most. */
export const MAX_ATTEMPTS = WAITS_MS.length + 1

/** A receiver's `Retry-After` may ask for this much at the most. */
const RETRY_AFTER_MAX_MS = 24 * HOUR

/**
 * How long to wait after failed try number `attempt` (counted from 1), or null when that was the last one. Up to
 * 10 % of jitter is added, never taken away; a `Retry-After` can only lengthen the wait.
 */
export function nextWaitMs(
  attempt: number,
  retryAfterMs: number | null,
  random: () => number,
): number | null {
  const step = WAITS_MS[attempt - 1]
  if (step === undefined) return null
  const asked = Math.min(Math.max(retryAfterMs ?? 0, 0), RETRY_AFTER_MAX_MS)
  return Math.round(Math.max(step, asked) + random() * 0.1 * step)
}
