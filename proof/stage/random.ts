/** Pseudo-random numbers, the same for the same seed (mulberry32). */
export interface Random {
  /** In [0, 1). */
  next(): number
  /** Whole, from `min` to below `max`. */
  between(min: number, max: number): number
  /** True in this percentage of calls. */
  percent(share: number): boolean
  pick<T>(items: readonly T[]): T
}

export function randomFrom(seed: number): Random {
  let state = seed | 0
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min)),
    percent: (share) => next() * 100 < share,
    pick<T>(items: readonly T[]): T {
      const item = items[Math.floor(next() * items.length)]
      if (item === undefined) throw new Error('there is nothing to pick from')
      return item
    },
  }
}
