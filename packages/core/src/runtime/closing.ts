import { SvcError } from '../contract/errors.ts'
import { within } from './within.ts'

/** Wraps a service so that it can be closed while calls are in flight. */
export interface Gate {
  /** Returns the same functions, at any depth of plain objects. After `close`, each function throws or rejects. */
  guard<Api extends object>(api: Api): Api
  /** Refuses new calls; resolves when no call is in flight, or after `wait_ms`. */
  close(wait_ms: number): Promise<void>
}

/** Iterations that end without an error when the service is closed. */
const ENDS_ITSELF = new Set(['events'])

/** @param throwing the paths of the functions that return no promise; all others reject when the service is closed. */
export function createGate(throwing: ReadonlySet<string>): Gate {
  let inFlight = 0
  let onIdle = () => {}
  let isClosed = false

  function leave(): void {
    inFlight -= 1
    if (inFlight === 0) onIdle()
  }

  function track<T>(answer: PromiseLike<T>, path: string): Promise<T> {
    inFlight += 1
    return answer.then(
      (value) => {
        leave()
        return value
      },
      (error) => {
        leave()
        // After `close`, an error of the database, and a refusal by a queue of waiting work, mean that the service is closed.
        const isOurs = error instanceof SvcError && error.code !== 'rate_limit_exceeded'
        throw isClosed && !isOurs ? closed(path, error) : error
      },
    ) as Promise<T>
  }

  async function* eachOf(source: AsyncIterable<unknown>, path: string): AsyncGenerator<unknown> {
    const iterator = source[Symbol.asyncIterator]()
    try {
      for (;;) {
        if (isClosed) throw closed(path)
        const { done, value } = await track(iterator.next(), path)
        if (done) return
        yield value
      }
    } finally {
      await iterator.return?.()
    }
  }

  function guarded(value: unknown, path: string): unknown {
    if (typeof value === 'function') {
      return (...parameters: unknown[]) => {
        if (isClosed && throwing.has(path)) throw closed(path)
        if (isClosed) return Promise.reject(closed(path))
        const answer: unknown = value(...parameters)
        if (isPromise(answer)) return track(answer, path)
        return isAsyncIterable(answer) && !ENDS_ITSELF.has(path) ? eachOf(answer, path) : answer
      }
    }
    if (!isPlain(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        guarded(each, path === '' ? name : `${path}.${name}`),
      ]),
    )
  }

  return {
    guard: <Api extends object>(api: Api) => guarded(api, '') as Api,
    async close(wait_ms) {
      isClosed = true
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
      })
      if (inFlight > 0) await within(wait_ms, idle, () => {})
    },
  }
}

/** `path` names the method as the caller writes it. */
function closed(path: string, cause?: unknown): Error {
  const text = `core.${path}: the core is closed`
  const error = new Error(text, cause === undefined ? undefined : { cause })
  return Object.assign(error, { code: 'closed' })
}

function isPlain(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null)?.then === 'function'
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] === 'function'
}
