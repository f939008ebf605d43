/** The maximum number of rows in a statement. */
const BLOCK_MAX = 64

/** The rows in blocks of 64, 32, 16 … 1: each block size keeps a prepared statement, so there must be few sizes. */
export function blocksOf<T>(rows: readonly T[]): T[][] {
  const blocks: T[][] = []
  let size = BLOCK_MAX
  for (let at = 0; at < rows.length; at += size) {
    while (size > rows.length - at) size /= 2
    blocks.push(rows.slice(at, at + size))
  }
  return blocks
}

/** The distinct values, for lists in a query. The last value repeats up to a power of two: see `blocksOf`. */
export function filledUp<T>(values: readonly T[]): T[] {
  const once = [...new Set(values)]
  const last = once.at(-1)
  if (last === undefined) return []
  const size = 2 ** Math.ceil(Math.log2(once.length))
  return [...once, ...Array<T>(size - once.length).fill(last)]
}
