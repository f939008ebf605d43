import { isOutage, pause, retryAfterMs } from '../connect/polling.ts'
import { Failure, unreachable } from '../process/failure.ts'

const BACKOFF_FIRST_MS = 1_000
const BACKOFF_MAX_MS = 30_000

/** Whatever a server, or a proxy before it, asks for: it is neither pressed nor waited for without end. */
const WAIT_MIN_MS = 100
const WAIT_MAX_MS = 3_600_000

/** Why nothing goes on, and until when. */
export interface Waiting {
  why: 'rate_limit' | 'outage'
  until: Date
}

/** Asks a server as long as it takes. */
export interface Patience {
  /**
   * The answer to a request that may be repeated. A rate limit is waited out, however long; an outage for as long as
   * the patience lasts, unless the server never answered before.
   * @throws Failure `interrupted` when the run is to end while it waits, `unreachable` after an outage that was too
   * long, and whatever the server refuses with.
   */
  ask<T>(request: () => Promise<T>): Promise<T>
}

/** Patience that lasts `outage_ms`; `onWait` is told when waiting begins and, with null, when it is over. */
export function createPatience({
  outage_ms,
  signal,
  onWait,
}: {
  outage_ms: number
  signal: AbortSignal
  onWait: (waiting: Waiting | null) => void
}): Patience {
  let hasAnswered = false

  async function wait(why: Waiting['why'], ms: number): Promise<void> {
    onWait({ why, until: new Date(Date.now() + ms) })
    await pause(ms, signal)
    onWait(null)
    if (signal.aborted) throw interrupted()
  }

  return {
    async ask(request) {
      let backoff_ms = BACKOFF_FIRST_MS
      let out_ms = 0
      for (;;) {
        try {
          const answer = await request()
          hasAnswered = true
          return answer
        } catch (error) {
          const asked_ms = retryAfterMs(error)
          if (asked_ms !== null) {
            hasAnswered = true
            backoff_ms = BACKOFF_FIRST_MS
            out_ms = 0
            await wait('rate_limit', Math.min(Math.max(asked_ms, WAIT_MIN_MS), WAIT_MAX_MS))
            continue
          }
          if (!isOutage(error)) throw error
          if (!hasAnswered || out_ms >= outage_ms) throw outageOf(error)
          const wait_ms = Math.min(backoff_ms, outage_ms - out_ms)
          await wait('outage', wait_ms)
          out_ms += wait_ms
          backoff_ms = Math.min(backoff_ms * 2, BACKOFF_MAX_MS)
        }
      }
    },
  }
}

/** The run was asked to end. */
export function interrupted(): Failure {
  return new Failure('interrupted', 'stopped')
}

function outageOf(error: unknown): Failure {
  return error instanceof Failure
    ? error
    : unreachable(`the server fails: ${(error as Error).message}`)
}
