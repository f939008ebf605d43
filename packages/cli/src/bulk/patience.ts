import { isOutage, pause, retryAfterMs } from '../connect/polling.ts'
import { explain, Failure, unreachable } from '../process/failure.ts'

const BACKOFF_FIRST_MS = 1_000
const BACKOFF_MAX_MS = 30_000

/** The minimum and maximum of a wait that the server or a proxy asks for. */
const WAIT_MIN_MS = 100
const WAIT_MAX_MS = 3_600_000

/** The reason and the end of a wait. */
export interface Waiting {
  reason: 'rate_limit' | 'outage'
  until: Date
}

/** Sends requests, and repeats them after a rate limit or an outage. */
export interface Patience {
  /**
   * Sends an idempotent request, and repeats it after every rate limit. During an outage it repeats the request for at
   * most `outage_ms`. If the server has not answered yet, an outage throws at once.
   * @throws Failure `interrupted` when the run must stop during a wait, `unreachable` after a longer outage, and every
   * other error of the request.
   */
  request<T>(send: () => Promise<T>): Promise<T>
}

/** Creates a sender of requests; calls `onWait` at the start of a wait, and with null at its end. */
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

  async function wait(reason: Waiting['reason'], ms: number): Promise<void> {
    onWait({ reason, until: new Date(Date.now() + ms) })
    await pause(ms, signal)
    onWait(null)
    if (signal.aborted) throw interrupted()
  }

  return {
    async request(send) {
      let backoff_ms = BACKOFF_FIRST_MS
      let out_ms = 0
      for (;;) {
        try {
          const answer = await send()
          hasAnswered = true
          return answer
        } catch (error) {
          const retry_ms = retryAfterMs(error)
          if (retry_ms !== null) {
            hasAnswered = true
            backoff_ms = BACKOFF_FIRST_MS
            out_ms = 0
            await wait('rate_limit', Math.min(Math.max(retry_ms, WAIT_MIN_MS), WAIT_MAX_MS))
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

/** The failure of a run that was stopped. */
export function interrupted(): Failure {
  return new Failure('interrupted', 'stopped')
}

function outageOf(error: unknown): Failure {
  const explained = explain(error)
  return explained.error === 'unreachable'
    ? unreachable(explained.message)
    : unreachable(`the server fails: ${explained.message}`)
}
