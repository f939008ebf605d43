import { SvcError } from '../contract/errors.ts'
import { within } from '../runtime/within.ts'
import type { Reader } from './readers.ts'

/** How a function reads its parameters, and how it reports a wrong one. */
export interface Border<Parameters extends readonly unknown[]> {
  readers: { readonly [I in keyof Parameters]-?: Reader<Parameters[I]> }
  /** Whether the function returns no promise, and throws. */
  throws: boolean
}

/** A border for each function at any depth, but not in lists. If one is missing, the code does not compile. */
export type BordersOf<Api> = {
  [K in keyof Api as Api[K] extends readonly unknown[]
    ? never
    : Api[K] extends object
      ? K
      : never]: Api[K] extends (...parameters: infer P) => unknown ? Border<P> : BordersOf<Api[K]>
}

type AnyFunction = (...parameters: unknown[]) => unknown

/** The border of a function that returns a promise. */
export function takes<const R extends readonly Reader<unknown>[]>(...readers: R) {
  return { readers, throws: false }
}

/** The border of a function that returns no promise. */
export function takesAtOnce<const R extends readonly Reader<unknown>[]>(...readers: R) {
  return { readers, throws: true }
}

/** A service behind its border. */
export interface Entrance<Api extends object> {
  /**
   * The same functions at any depth of plain objects, which read their parameters first. A function with a wrong parameter does
   * nothing; it rejects or throws the SvcError of the first wrong parameter. After `close`, each function rejects or throws.
   */
  api: Api
  /** Refuses new calls; resolves when no call is in flight, or after `wait_ms`. */
  close(wait_ms: number): Promise<void>
}

/** Marks a function with the function that takes decoded parameters. Registered, because a program may load two copies. */
const DECODED = Symbol.for('svc.core.decoded')

/** Iterations that end without an error when the service is closed. */
const ENDS_ITSELF = new Set(['events'])

/** Puts a service behind its border, so that it can be closed while calls are in flight. `decodedOf` skips the readers. */
export function atBorder<Api extends object>(api: Api, borders: BordersOf<Api>): Entrance<Api> {
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

  function guarded(inner: AnyFunction, throws: boolean, path: string): AnyFunction {
    return (...given) => {
      if (isClosed && throws) throw closed(path)
      if (isClosed) return Promise.reject(closed(path))
      const answer = inner(...given) as Partial<Promise<unknown> & AsyncIterable<unknown>> | null
      // Without helpers, because the server calls some functions for each request.
      if (typeof answer?.then === 'function') return track(answer as Promise<unknown>, path)
      return typeof answer?.[Symbol.asyncIterator] === 'function' && !ENDS_ITSELF.has(path)
        ? eachOf(answer as AsyncIterable<unknown>, path)
        : answer
    }
  }

  function entered(group: object, ofGroup: object, parent: string): object {
    const entries = Object.entries(group).map(([name, value]: [string, unknown]) => {
      const border: unknown = Reflect.get(ofGroup, name)
      const path = `${parent}${name}`
      if (isGroup(value)) return [name, entered(value, border as object, `${path}.`)]
      if (typeof value !== 'function') return [name, value]
      const inner = value as AnyFunction
      const { throws } = border as Border<unknown[]>
      const checked = guarded(checking(inner, border as Border<unknown[]>), throws, path)
      Object.defineProperty(checked, DECODED, { value: guarded(inner, throws, path) })
      return [name, checked]
    })
    return Object.fromEntries(entries)
  }

  return {
    api: entered(api, borders, '') as Api,
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

function checking(inner: AnyFunction, { readers, throws }: Border<unknown[]>): AnyFunction {
  if (throws) return (...given) => inner(...readers.map((read, i) => read(given[i])))
  return (...given) => {
    const values: unknown[] = []
    try {
      for (const [i, read] of readers.entries()) values.push(read(given[i]))
      if (!values.some((value) => value instanceof Promise)) return inner(...values)
      return Promise.all(values).then((all) => inner(...all))
    } catch (error) {
      // The error of a later parameter is the answer. An earlier one that is still read must not fail without a handler.
      Promise.allSettled(values)
      return Promise.reject(error)
    }
  }
}

/** The functions that take decoded parameters. A function without such a twin stays, so that a caller can replace some. */
export function behindBorder(outer: object): object {
  return Object.fromEntries(
    Object.entries(outer).map(([name, value]: [string, unknown]) => {
      if (typeof value === 'function') return [name, Reflect.get(value, DECODED) ?? value]
      return [name, isGroup(value) ? behindBorder(value) : value]
    }),
  )
}

function isGroup(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}
