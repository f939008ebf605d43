/**
 * A value that is ready, or the promise of one. A verb that has its result at once returns the value: on the path of
 * every request, a promise costs more than the work that it stands for.
 */
export type Awaitable<T> = T | Promise<T>

/** Calls `next` with the value: at once if it is ready. */
export function whenReady<T, Result>(
  value: Awaitable<T>,
  next: (value: T) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
