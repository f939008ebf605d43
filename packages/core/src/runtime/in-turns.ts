import { setImmediate as turn } from 'node:timers/promises'

/** The longest time that work blocks the event loop. */
const TURN_MS = 10

/** Does `work` for each item in order and yields to the event loop every 10 ms. */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  await stepsInTurns(
    (function* () {
      for (const [index, item] of items.entries()) yield results.push(work(item, index))
    })(),
  )
  return results
}

/** Runs a generator to its end and yields to the event loop every 10 ms. Returns its result. */
export async function stepsInTurns<R>(steps: Iterator<unknown, R>): Promise<R> {
  let began = performance.now()
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (performance.now() - began > TURN_MS) {
      await turn()
      began = performance.now()
    }
  }
}
