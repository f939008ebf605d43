import { WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } from '../contract/limits.ts'

export const MAX_ATTEMPTS = WEBHOOK_RETRY_DELAYS_S.length

/** The longest time that all tries of a delivery take, without a `Retry-After`. */
export const SCHEDULE_MS =
  WEBHOOK_RETRY_DELAYS_S.reduce((sum, delay_s) => sum + delay_s, 0) *
  1000 *
  (1 + WEBHOOK_RETRY_JITTER)

const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000

/**
 * The wait after failed try number `attempt` (from 1), or null after the last try; 0 stands for a try that is to be
 * repeated at once. Jitter and a `Retry-After` only lengthen the wait.
 */
export function nextWaitMs(
  attempt: number,
  retryAfterMs: number | null,
  random: () => number,
): number | null {
  const delay_s = WEBHOOK_RETRY_DELAYS_S[attempt]
  if (delay_s === undefined) return null
  const step = delay_s * 1000
  const requested = Math.min(Math.max(retryAfterMs ?? 0, 0), RETRY_AFTER_MAX_MS)
  return Math.round(Math.max(step, requested) + random() * WEBHOOK_RETRY_JITTER * step)
}
