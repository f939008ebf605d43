import { WriterBusy } from './writer.ts'

/** So many jobs may wait, each a batch, before new ones are refused. */
const WAITING_MAX = 32

/** A wait of this many turns for company at the most. */
const TURNS_MAX = 8

/**
 * Runs one job at a time, each after as many turns of the event loop as bring it more to do: requests that were read
 * together travel together, and somebody who is alone waits for one turn only.
 */
export function createPacer() {
  let arrivals = 0
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()

  async function gatherMore(): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const before = arrivals
      await new Promise((resolve) => setImmediate(resolve))
      if (arrivals === before) return
    }
  }

  return {
    run<T>(job: () => T | Promise<T>, again = false): Promise<T> {
      arrivals += 1
      if (waiting >= WAITING_MAX && !again) return Promise.reject(new WriterBusy())
      waiting += 1
      const mine = last.then(gatherMore).then(() => {
        waiting -= 1
        return job()
      })
      last = mine.catch(() => {})
      return mine
    },
    /** Says that a waiting job was given more to do. */
    grew(): void {
      arrivals += 1
    },
  }
}
