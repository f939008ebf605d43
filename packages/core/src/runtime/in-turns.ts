import { setImmediate as turn } from 'node:timers/promises'

/** The longest time that work blocks the event loop. */
const TURN_MS = 10

/** Does `work` for each item in order and yields to the event loop every 10 ms. */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  let began = performance.now()
  for (let index = 0; index < items.length; index++) {
    if (performance.now() - began > TURN_MS) {
      await turn()
      began = performance.now()
    }
    results.push(work(items[index] as T, index))
  }
  return results
}
