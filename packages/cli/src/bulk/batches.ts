import type { Row } from './columns.ts'

/** Rows that go in one request. */
export interface Batch {
  rows: Row[]
  first_line: number
  last_line: number
}

/** How much may go in one request. */
export interface BatchLimits {
  rows: number
  /** Of the recipients, as JSON. */
  bytes: number
  /** Of all texts, filled in: what the server holds in memory at a time. */
  rendered: number
  /** How much one row comes to, filled in, at the most. */
  renderedOf(bytes: number): number
}

/** Cuts rows into batches, the next one when it is asked for. */
export async function* batchesOf(
  rows: AsyncIterable<Row>,
  limits: BatchLimits,
): AsyncGenerator<Batch> {
  let taken: Row[] = []
  let bytes = 0
  let rendered = 0
  for await (const row of rows) {
    const more = Buffer.byteLength(JSON.stringify(row.recipient)) + 1
    const long = limits.renderedOf(more)
    const isFull =
      taken.length >= limits.rows ||
      bytes + more > limits.bytes ||
      rendered + long > limits.rendered
    if (isFull && taken.length > 0) {
      yield batchOf(taken)
      taken = []
      bytes = 0
      rendered = 0
    }
    taken.push(row)
    bytes += more
    rendered += long
  }
  if (taken.length > 0) yield batchOf(taken)
}

/** The rows up to the one that begins on a line, as one batch: as it was cut before. */
export async function batchUpTo(rows: AsyncIterable<Row>, line: number): Promise<Batch> {
  const taken: Row[] = []
  for await (const row of rows) {
    if (row.line > line) break
    taken.push(row)
  }
  return batchOf(taken)
}

function batchOf(rows: Row[]): Batch {
  return { rows, first_line: rows[0]?.line ?? 0, last_line: rows.at(-1)?.line ?? 0 }
}
