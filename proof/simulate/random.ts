/** Numbers in [0, 2^32) that depend only on the seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

/** One number from several, so that a choice depends only on what it is about. */
export function mixed(...values: readonly number[]): number {
  let mix = 0x9e3779b9
  for (const value of values) mix = randomOf(mix ^ value)()
  return mix
}
