import { WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } from '../contract/limits.ts'

/** How often a delivery is tried at the most. */
export const MAX_ATTEMPTS = WEBHOOK_RETRY_DELAYS_S.length

/** How long all tries of a delivery take at the most, where nobody asks for more. */
export const SCHEDULE_MS =
  WEBHOOK_RETRY_DELAYS_S.reduce((sum, delay_s) => sum + delay_s, 0) *
  1000 *
  (1 + WEBHOOK_RETRY_JITTER)

/** A receiver's `Retry-After` may ask for this much at the most. */
const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000

/**
 * How long to wait after failed try number `attempt` (counted from 1), or null when that was the last one. Jitter is
 * added, never taken away; a `Retry-After` can only lengthen the wait.
 */
export function nextWaitMs(
  attempt: number,
  retryAfterMs: number | null,
  random: () => number,
): number | null {
  const delay_s = WEBHOOK_RETRY_DELAYS_S[attempt]
  if (delay_s === undefined) return null
  const step = delay_s * 1000
  const asked = Math.min(Math.max(retryAfterMs ?? 0, 0), RETRY_AFTER_MAX_MS)
  return Math.round(Math.max(step, asked) + random() * WEBHOOK_RETRY_JITTER * step)
}
