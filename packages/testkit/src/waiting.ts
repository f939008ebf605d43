import type { ReceivedRequest } from './received.ts'

/** How long to wait. */
export interface WaitOptions {
  /** The longest wait; default: 5 s. */
  timeout_ms?: number
}

const TIMEOUT_MS = 5_000

type Condition = string | ((request: ReceivedRequest) => boolean)

/**
 * Returns `waitFor`, which waits for one of `requests`. The caller must call `look` after it adds
 * a request.
 */
export function createWaiting(requests: readonly ReceivedRequest[]) {
  const watchers = new Set<() => void>()
  return {
    look(): void {
      for (const watch of watchers) watch()
    },
    waitFor(condition: Condition, { timeout_ms = TIMEOUT_MS }: WaitOptions = {}) {
      const matches = typeof condition === 'function' ? condition : isVerified(condition)
      // The type depends on `condition`: the overloads of the receiver state it.
      return new Promise<never>((resolve, reject) => {
        const stop = () => {
          clearTimeout(timer)
          watchers.delete(watch)
        }
        const watch = () => {
          const found = requests.find(matches)
          if (!found) return
          stop()
          resolve(found as never)
        }
        const timer = setTimeout(() => {
          stop()
          reject(new Error(`${missing(condition)} within ${timeout_ms} ms; ${summaryOf(requests)}`))
        }, timeout_ms)
        watchers.add(watch)
        watch()
      })
    },
  }
}

/**
 * Describes in one sentence, for a failure message, which events arrived and why refused events
 * were refused.
 */
export function summaryOf(requests: readonly ReceivedRequest[]): string {
  if (requests.length === 0) return 'no request arrived'
  const kinds = requests.map(({ event, verification }) => {
    const kind = event ?? 'a body that is not an event'
    return verification.ok
      ? kind
      : `${kind} (refused: ${verification.reason}. ${verification.hint})`
  })
  return `received ${[...new Set(kinds)].join(', ')}`
}

function isVerified(event: string): (request: ReceivedRequest) => boolean {
  return (request) => request.verification.ok && request.event === event
}

function missing(condition: Condition): string {
  return typeof condition === 'string' ? `No ${condition} arrived` : 'No matching request arrived'
}
