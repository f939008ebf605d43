import { tooBusy } from './failure.ts'

/** A queue of jobs. */
export interface Queue {
  /**
   * Runs `job` in its turn, but not before the requests that are already on the sockets have been read, so that
   * simultaneous callers share a batch.
   * @throws SvcError `rate_limit_exceeded` when the queue is full, or the job's turn did not come in time. The job did
   *   not run.
   */
  run<T>(job: () => T | Promise<T>): Promise<T>
  /** Refuses new jobs. Resolves when no job waits or runs. */
  close(): Promise<void>
}

/** A verb whose calls wait for their turn in the queue. */
export function inTurn<Request, Result>(
  run: Queue['run'],
  verb: (request: Request) => Promise<Result>,
): (request: Request) => Promise<Result> {
  return (request) => run(() => verb(request))
}

/** A queue that runs a few jobs at once; other jobs wait. */
export function createQueue({
  at_once,
  waiting_max,
  wait_max_ms,
}: {
  at_once: number
  waiting_max: number
  wait_max_ms: number
}): Queue {
  const waiting: (() => Promise<void>)[] = []
  let running = 0
  let closed = false
  let onIdle: (() => void) | null = null

  async function next(): Promise<void> {
    const job = waiting.shift()
    if (!job) return
    running += 1
    await new Promise((resolve) => setImmediate(resolve))
    await job()
    running -= 1
    if (waiting.length > 0) void next()
    else if (running === 0) onIdle?.()
  }

  return {
    run<T>(job: () => T | Promise<T>): Promise<T> {
      if (closed) return Promise.reject(new Error('the storage is closed'))
      if (waiting.length >= waiting_max) return Promise.reject(tooBusy())
      return new Promise<T>((resolve, reject) => {
        const begin = async () => {
          clearTimeout(late)
          try {
            resolve(await job())
          } catch (error) {
            reject(error)
          }
        }
        const late = setTimeout(() => {
          const place = waiting.indexOf(begin)
          if (place === -1) return
          waiting.splice(place, 1)
          reject(tooBusy())
        }, wait_max_ms)
        waiting.push(begin)
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
