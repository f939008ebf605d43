import { retryAfterMs, WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } from '@svc/core/contract'
import type { Answer } from './transport.ts'

/**
 * The service's schedule of twelve attempts, or the seconds to wait before each retry; `[]` tries
 * once.
 */
export type RetrySchedule = 'production' | readonly number[]

/** An answer and the number of its attempt, from 1. */
type Tried = Pick<Answer, 'status' | 'headers'> & { attempt: number }

/**
 * Returns a function that takes a failed attempt and returns the wait before the next one in
 * milliseconds, or null after the last attempt. Jitter only lengthens a wait, and so does
 * `Retry-After` on a 429 or 503. Source: contract section 7.
 */
export function retriesOf(
  retry: RetrySchedule,
  random: () => number,
): (tried: Tried, now: Date) => number | null {
  const waits_s = retry === 'production' ? WEBHOOK_RETRY_DELAYS_S.slice(1) : retry
  return (tried, now) => {
    const wait_s = waits_s[tried.attempt - 1]
    if (wait_s === undefined) return null
    const asksToWait = tried.status === 429 || tried.status === 503
    const requested_ms = asksToWait ? retryAfterMs(tried.headers, now.getTime()) : null
    const jitter_ms = random() * WEBHOOK_RETRY_JITTER * wait_s * 1000
    return Math.round(Math.max(wait_s * 1000, requested_ms ?? 0) + jitter_ms)
  }
}
