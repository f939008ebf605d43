import { ConnectionError, RateLimitError, ServerError, TimeoutError } from './errors.ts'
import type { Message, MessagesResource } from './generated/types.ts'
import type { CallOptions } from './transport/call.ts'
import { wait } from './transport/retry.ts'

/** Options of `messages.wait`. */
export interface WaitOptions extends Pick<CallOptions, 'signal'> {
  /** The status to wait for, or a condition. Default: `delivered`. A failed message ends every wait. */
  until?: 'sent' | 'delivered' | 'read' | ((message: Message) => boolean) | undefined
  /** The longest wait in milliseconds. Default: 120,000. */
  timeout?: number | undefined
}

/** Methods of `svc.messages` beyond the endpoints. */
export interface MessagesMethods {
  /**
   * Waits until a message has a status or a later one, or failed, and returns it: check its `status`. Asks first after
   * 0.2 s, later every 3 s, which is 20 requests in a minute.
   * @throws TimeoutError when the time is up; SvcError as `messages.get`, for a fault of the network or the service only at
   *   the third in a row; TypeError for a timeout of more than a day.
   */
  wait(id: string, options?: WaitOptions): Promise<Message>
}

const TIMEOUT_MS = 120_000
const FIRST_POLL_MS = 200
const POLL_MAX_MS = 3_000
/** The longest time for one request: a connection without an answer must not use up the whole wait. */
const REQUEST_MAX_MS = 30_000
/** Network faults and server errors in a row after which a wait ends. */
const FAULTS_MAX = 2
const WAIT_MAX_MS = 24 * 60 * 60_000
const ORDER = ['queued', 'sent', 'delivered', 'read']

export async function waitFor(
  messages: Pick<MessagesResource, 'get'>,
  id: string,
  { until = 'delivered', timeout = TIMEOUT_MS, signal }: WaitOptions = {},
): Promise<Message> {
  const isReached =
    typeof until === 'function'
      ? until
      : ({ status }: Message) => ORDER.indexOf(status) >= ORDER.indexOf(until)
  if (!(timeout > 0 && timeout <= WAIT_MAX_MS)) {
    throw new TypeError(`timeout must be from 1 to ${WAIT_MAX_MS} milliseconds`)
  }
  const deadline = Date.now() + timeout
  let faults = 0
  let delay = FIRST_POLL_MS
  let status = 'unknown'
  for (;;) {
    let pause = delay
    try {
      // One request must not outlast the wait, and this loop repeats it.
      const left = Math.min(REQUEST_MAX_MS, Math.max(1, deadline - Date.now()))
      const { message } = await messages.get(id, { signal, timeout: left, maxRetries: 0 })
      faults = 0
      if (message.status === 'failed' || isReached(message)) return message
      status = message.status
    } catch (error) {
      const isLast = error instanceof TimeoutError && Date.now() >= deadline
      const isLimited = error instanceof RateLimitError && error.retryAfter !== null
      const isFault =
        error instanceof TimeoutError ||
        error instanceof ConnectionError ||
        error instanceof ServerError
      if (isFault) faults += 1
      if (!isLast && !isLimited && !(isFault && faults <= FAULTS_MAX)) throw error
      if (isLimited) pause = (error.retryAfter ?? 0) * 1000
    }
    const left = deadline - Date.now()
    if (left <= 0 || (pause > left && pause > POLL_MAX_MS)) {
      throw new TimeoutError(`message ${id} is still ${status} after ${timeout / 1000} s`)
    }
    await wait(Math.min(pause, left), signal)
    delay = Math.min(delay * 2, POLL_MAX_MS)
  }
}
