import { SvcError } from '../../contract/errors.ts'

/** Work that waits for its turn. */
export interface Queue {
  /**
   * Runs `job` when it is its turn, at the earliest after everything that has been read off the sockets by now was
   * heard: callers that come together share a batch.
   * @throws SvcError `rate_limit_exceeded` when too many wait already.
   */
  run<T>(job: () => T | Promise<T>): Promise<T>
  /** Resolves when nothing waits or runs any more; from now on nothing new is taken. */
  close(): Promise<void>
}

const RETRY_AFTER_S = 5

/** A queue of which a few jobs run at once; what arrives meanwhile waits, and gathers. */
export function createQueue({
  at_once,
  waiting_max,
}: {
  at_once: number
  waiting_max: number
}): Queue {
  const waiting: (() => Promise<void>)[] = []
  let running = 0
  let closed = false
  let onIdle: () => void = () => {}

  async function next(): Promise<void> {
    const job = waiting.shift()
    if (!job) return
    running += 1
    await new Promise((resolve) => setImmediate(resolve))
    await job()
    running -= 1
    if (waiting.length > 0) void next()
    else if (running === 0) onIdle()
  }

  return {
    run<T>(job: () => T | Promise<T>): Promise<T> {
      if (closed) return Promise.reject(new Error('the storage is closed'))
      if (waiting.length >= waiting_max) {
        const text = 'Too many requests. Please try again later.'
        return Promise.reject(
          new SvcError('rate_limit_exceeded', text, { retry_after_s: RETRY_AFTER_S }),
        )
      }
      return new Promise<T>((resolve, reject) => {
        waiting.push(async () => {
          try {
            resolve(await job())
          } catch (error) {
            reject(error)
          }
        })
        if (running < at_once) void next()
      })
    },
    async close() {
      closed = true
      if (running > 0)
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
    },
  }
}
