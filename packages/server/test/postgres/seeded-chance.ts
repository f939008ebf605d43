import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { Runtime } from '@svc/core'

type Chance = Pick<Runtime, 'id' | 'bytes' | 'random'>

/**
 * Ids, bytes and random numbers that repeat, independent of the order of background work: a request draws
 * from its own source, the storage from one for the moment, and other code from a third.
 */
export function seededChance(seed: string, now: () => Date) {
  const current = new AsyncLocalStorage<Chance>()
  const others = sourceOf(`${seed} others`, now)
  const source = () => current.getStore() ?? others
  return {
    core: {
      id: () => source().id(),
      bytes: (count: number) => source().bytes(count),
      random: () => source().random(),
    } satisfies Chance,
    storage: sourceOf(`${seed} storage`, now),
    /** Does work of a name, such as a request, which has its own source. */
    during: <T>(name: string, work: () => Promise<T>): Promise<T> =>
      current.run(sourceOf(`${seed} ${name}`, now), work),
    /** Work that may wait, and run more than once: each run draws from the source of the caller, and the same. */
    repeatable<Given, T>(work: (given: Given) => Promise<T>): (given: Given) => Promise<T> {
      const { id, bytes, random } = source()
      const drawn: unknown[] = []
      return (given) => {
        let next = 0
        function again<Value>(draw: () => Value): Value {
          if (next === drawn.length) drawn.push(draw())
          return drawn[next++] as Value
        }
        const same = { id: () => again(id), bytes: (count: number) => again(() => bytes(count)) }
        return current.run({ ...same, random }, () => work(given))
      }
    },
  }
}

/** Random numbers of one name: those of a millisecond do not depend on earlier draws. */
function sourceOf(name: string, now: () => Date): Chance {
  let at_ms = 0
  let drawn = 0
  function bytes(count: number): Buffer {
    const ms = now().getTime()
    if (ms !== at_ms) drawn = 0
    at_ms = ms
    drawn += 1
    const blocks: Buffer[] = []
    for (let got = 0; got < count; got += 32) {
      blocks.push(createHash('sha256').update(`${name} ${ms} ${drawn} ${got}`).digest())
    }
    return Buffer.concat(blocks).subarray(0, count)
  }
  return {
    bytes,
    /** A UUIDv7 whose twelve bits after the time count within the millisecond. */
    id() {
      const tail = bytes(8).toString('hex')
      const time = at_ms.toString(16).padStart(12, '0')
      const count = drawn.toString(16).padStart(3, '0')
      return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-8${tail.slice(1, 4)}-${tail.slice(4)}`
    },
    // The same within a moment: the order of callers must not matter.
    random: () =>
      createHash('sha256').update(`${name} ${now().getTime()}`).digest().readUInt32BE() / 2 ** 32,
  }
}
