/** Random choices, the same for the same seed. */
export interface Chance {
  /** An integer from 0 to `count` - 1. */
  below(count: number): number
  /** True in this percentage of calls. */
  percent(chance: number): boolean
  pick<T>(all: readonly T[]): T
}

/** @see https://github.com/cprosche/mulberry32 */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    percent: (chance) => below(100) < chance,
    pick<T>(all: readonly T[]): T {
      if (all.length === 0) throw new Error('nothing to pick from')
      return all[below(all.length)] as T
    },
  }
}
