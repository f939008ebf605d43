/** Random values that are equal for equal seeds, so that a failed test can be repeated. */
export interface Garbage {
  /** A whole number from 0 to below `end`. */
  below(end: number): number
  bytes(length_max: number): Uint8Array
  /** Any characters, control characters and lone surrogates included. */
  text(length_max: number): string
  /** A value of JSON with nested lists and objects. */
  json(depth?: number): unknown
}

const DEPTH = 4

export function garbageOf(seed: number): Garbage {
  let state = seed >>> 0
  /** mulberry32 by Tommy Ettinger (public domain). */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (end: number) => next() % end
  const text = (length_max: number) =>
    Array.from({ length: below(length_max + 1) }, () =>
      String.fromCharCode(below(3) === 0 ? below(0x1_0000) : below(0x80)),
    ).join('')
  function json(depth = DEPTH): unknown {
    const items = () => Array.from({ length: below(4) }, () => json(depth - 1))
    switch (below(depth > 0 ? 8 : 5)) {
      case 0:
        return null
      case 1:
        return below(2) === 0
      case 2:
        return (next() - 2 ** 31) / (below(1_000) + 1)
      case 3:
      case 4:
        return text(20)
      case 5:
        return items()
      default:
        return Object.fromEntries(items().map((value) => [text(8), value]))
    }
  }
  return {
    below,
    bytes: (length_max) => Uint8Array.from({ length: below(length_max + 1) }, () => below(256)),
    text,
    json,
  }
}
