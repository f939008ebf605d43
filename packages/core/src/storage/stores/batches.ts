/** Rows of one statement at the most. */
const BLOCK_MAX = 64

/**
 * The rows in blocks of 64, 32, 16 … 1: a statement is kept prepared for each number of rows that was ever asked for,
 * so there must be few such numbers.
 */
export function blocksOf<T>(rows: readonly T[]): T[][] {
  const blocks: T[][] = []
  let size = BLOCK_MAX
  for (let at = 0; at < rows.length; at += size) {
    while (size > rows.length - at) size /= 2
    blocks.push(rows.slice(at, at + size))
  }
  return blocks
}

/** The values once each, the last of them repeated until a power of two is full: as `blocksOf`, for lists in a query. */
export function filledUp<T>(values: readonly T[]): T[] {
  const once = [...new Set(values)]
  const last = once.at(-1)
  if (last === undefined) return []
  const size = 2 ** Math.ceil(Math.log2(once.length))
  return [...once, ...Array<T>(size - once.length).fill(last)]
}
