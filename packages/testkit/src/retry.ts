import { WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } from '@svc/core/contract'
import type { Answer } from './transport.ts'

/**
 * The service's schedule of twelve attempts, or the seconds to wait before each retry; `[]` tries
 * once.
 */
export type RetrySchedule = 'production' | readonly number[]

/** The longest `Retry-After` that is followed. */
const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000

/** An answer and the number of its attempt, from 1. */
type Tried = Pick<Answer, 'status' | 'headers'> & { attempt: number }

/**
 * Returns a function from a failed attempt to the wait before the next one in milliseconds, or null
 * after the last attempt. Jitter only lengthens a wait, and so does `Retry-After` on a 429 or 503.
 * Source: contract section 7.
 */
export function retriesOf(
  retry: RetrySchedule,
  random: () => number,
): (tried: Tried, now: Date) => number | null {
  const waits_s = retry === 'production' ? WEBHOOK_RETRY_DELAYS_S.slice(1) : retry
  return (tried, now) => {
    const wait_s = waits_s[tried.attempt - 1]
    if (wait_s === undefined) return null
    const retry_after_ms = Math.min(retryAfterMs(tried, now), RETRY_AFTER_MAX_MS)
    const jitter_ms = random() * WEBHOOK_RETRY_JITTER * wait_s * 1000
    return Math.round(Math.max(wait_s * 1000, retry_after_ms) + jitter_ms)
  }
}

/** Accepts seconds or a date; 0 without a usable `Retry-After`. */
function retryAfterMs({ status, headers }: Tried, now: Date): number {
  const value = headers['retry-after']
  if ((status !== 429 && status !== 503) || value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime())
}
