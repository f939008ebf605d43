import type { PlatformAbortSignal } from '../platform.ts'

const FIRST_MS = 500
const BACKOFF_MAX_MS = 8_000

/** The wait before the retry after an attempt, in milliseconds: 500, 1,000, 2,000, … to 8,000, less up to a half. */
export function backoffOf(attempt: number): number {
  // Without a random share, clients that failed together would return together.
  return Math.min(FIRST_MS * 2 ** attempt, BACKOFF_MAX_MS) * (1 - Math.random() / 2)
}

/** The wait of a `Retry-After` (seconds or a date) in milliseconds; null if there is none. */
export function retryAfterOf(value: string | null, now_ms: number): number | null {
  if (value === null || value.trim() === '') return null
  const seconds = Number(value)
  const wait_ms = Number.isNaN(seconds) ? Date.parse(value) - now_ms : seconds * 1000
  return Number.isNaN(wait_ms) ? null : Math.max(0, wait_ms)
}

/** Waits. @throws the reason of the signal when it aborts. */
export function wait(ms: number, signal?: PlatformAbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) return abort()
    signal?.addEventListener('abort', abort)
  })
}
