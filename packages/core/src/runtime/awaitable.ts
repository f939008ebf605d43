/**
 * A value that is ready, or a promise of the value. A verb that has its result at once returns the value: each request
 * calls verbs, and a promise costs more than the work itself.
 */
export type Awaitable<T> = T | Promise<T>

/** Calls `next` with the value, at once if the value is ready. */
export function whenReady<T, Result>(
  value: Awaitable<T>,
  next: (value: T) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
