import type { ReceivedRequest } from './received.ts'

/** How long to wait. */
export interface WaitOptions {
  /** 5 s unless told. */
  timeout_ms?: number
}

const TIMEOUT_MS = 5_000

type Wanted = string | ((request: ReceivedRequest) => boolean)

/** Lets others wait for a request among `requests`, which `look` is told has grown. */
export function createWaiting(requests: readonly ReceivedRequest[]) {
  const watchers = new Set<() => void>()
  return {
    look(): void {
      for (const watch of watchers) watch()
    },
    waitFor(wanted: Wanted, { timeout_ms = TIMEOUT_MS }: WaitOptions = {}) {
      const matches = typeof wanted === 'function' ? wanted : isVerified(wanted)
      // Which type it is follows from what was wanted: the overloads of the receiver say it.
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
          reject(new Error(`${missing(wanted)} within ${timeout_ms} ms; ${summaryOf(requests)}`))
        }, timeout_ms)
        watchers.add(watch)
        watch()
      })
    },
  }
}

/** What came, in one sentence for people: kinds, and why what did not verify did not. */
export function summaryOf(requests: readonly ReceivedRequest[]): string {
  if (requests.length === 0) return 'nothing came'
  const kinds = requests.map(({ event, verification }) => {
    const kind = event ?? 'what is no event'
    return verification.ok
      ? kind
      : `${kind} (refused: ${verification.reason}. ${verification.hint})`
  })
  return `there came ${[...new Set(kinds)].join(', ')}`
}

function isVerified(event: string): (request: ReceivedRequest) => boolean {
  return (request) => request.verification.ok && request.event === event
}

function missing(wanted: Wanted): string {
  return typeof wanted === 'string' ? `No ${wanted} came` : 'No such request came'
}
