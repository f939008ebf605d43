import { WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } from '@svc/core/contract'
import type { Answer } from './transport.ts'

/** The service's schedule of twelve tries, or the seconds to wait before each further one; `[]` tries once. */
export type RetrySchedule = 'production' | readonly number[]

/** A receiver may ask for this much at the most. */
const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000

/** An answer and which try it was to, counted from 1. */
type Tried = Pick<Answer, 'status' | 'headers'> & { attempt: number }

/**
 * Tells how long to wait after a failed try, in milliseconds, or null when it was the last. Jitter is added, never taken
 * away; a `Retry-After` of a 429 or 503 can only lengthen the wait. Source: contract section 7.
 */
export function retriesOf(
  retry: RetrySchedule,
  random: () => number,
): (tried: Tried, now: Date) => number | null {
  const waits_s = retry === 'production' ? WEBHOOK_RETRY_DELAYS_S.slice(1) : retry
  return (tried, now) => {
    const wait_s = waits_s[tried.attempt - 1]
    if (wait_s === undefined) return null
    const asked_ms = Math.min(retryAfterMs(tried, now), RETRY_AFTER_MAX_MS)
    const jitter_ms = random() * WEBHOOK_RETRY_JITTER * wait_s * 1000
    return Math.round(Math.max(wait_s * 1000, asked_ms) + jitter_ms)
  }
}

/** As seconds or as a date; 0 where nothing is asked for. */
function retryAfterMs({ status, headers }: Tried, now: Date): number {
  const asked = headers['retry-after']
  if ((status !== 429 && status !== 503) || asked === undefined) return 0
  if (/^\d{1,9}$/.test(asked)) return Number(asked) * 1000
  const at = Date.parse(asked)
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime())
}
