import { setImmediate as turn } from 'node:timers/promises'

/** How long work may keep the event loop from answering other requests. */
const TURN_MS = 10

/** Does `work` for each item in order, and lets the event loop turn whenever it was busy for 10 ms. */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  let began = performance.now()
  for (const [index, item] of items.entries()) {
    if (performance.now() - began > TURN_MS) {
      await turn()
      began = performance.now()
    }
    results.push(work(item, index))
  }
  return results
}
