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

/**
 * The same functions, which read their parameters first. A function with a wrong parameter does nothing; it rejects or
 * throws the SvcError of the first wrong parameter.
 */
export function atBorder<Api extends object>(api: Api, borders: BordersOf<Api>): Api {
  const entries = Object.entries(api).map(([name, value]: [string, unknown]) => {
    const border = (borders as Record<string, unknown>)[name]
    if (typeof value === 'function') {
      return [name, checking(value as AnyFunction, border as Border<unknown[]>)]
    }
    return [name, isGroup(value) ? atBorder(value, border as BordersOf<object>) : value]
  })
  return Object.fromEntries(entries) as Api
}

/** The paths of the functions that return no promise, such as `mails.list`. */
export function throwingOf(borders: object, parent = ''): Set<string> {
  const paths = Object.entries(borders).flatMap(([name, value]: [string, object]) => {
    const path = parent === '' ? name : `${parent}.${name}`
    if (!('readers' in value)) return [...throwingOf(value, path)]
    return (value as Border<unknown[]>).throws ? [path] : []
  })
  return new Set(paths)
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

/** Marks a function with the function that takes decoded parameters. Registered, because a program may load two copies. */
const DECODED = Symbol.for('svc.core.decoded')

/** Notes, for each function of `outer`, the function of `inner` that takes the decoded parameters. */
export function linkDecoded(outer: object, inner: object): void {
  for (const [name, value] of Object.entries(outer)) {
    const decoded = (inner as Record<string, unknown>)[name]
    if (typeof value === 'function') Object.defineProperty(value, DECODED, { value: decoded })
    else if (isGroup(value)) linkDecoded(value, decoded as object)
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
