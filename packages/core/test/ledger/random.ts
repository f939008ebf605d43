/** Chances that repeat with their seed. */
export interface Random {
  /** A whole number from 0, below `end`. */
  below(end: number): number
  /** True once in `n` times. */
  oneIn(n: number): boolean
  pick<T>(items: readonly T[]): T
}

/** Chances from a 32-bit seed (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(next() * end)
  return {
    below,
    oneIn: (n) => below(n) === 0,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}
