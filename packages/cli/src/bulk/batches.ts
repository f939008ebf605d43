import type { AddressesSeen } from './addresses-seen.ts'
import type { Row } from './columns.ts'
import { contactKey } from './results-file.ts'

/** The rows of one request. */
export interface Batch {
  rows: Row[]
  first_line: number
  last_line: number
}

/** The limits of one request. */
export interface BatchLimits {
  rows: number
  /** The maximum size of the recipients as JSON. */
  bytes: number
  /** The maximum total size of the rendered texts, because the server keeps all of them in memory. */
  rendered: number
  /** Returns the largest possible size of the rendered text of a row that has `bytes` bytes. */
  renderedOf(bytes: number): number
}

/** Splits rows into batches. It reads rows only when the caller requests the next batch. */
export async function* batchesOf(
  rows: AsyncIterable<Row>,
  limits: BatchLimits,
): AsyncGenerator<Batch> {
  let batchRows: Row[] = []
  let bytes = 0
  let rendered = 0
  for await (const row of rows) {
    const row_bytes = Buffer.byteLength(JSON.stringify(row.recipient)) + 1
    const row_rendered = limits.renderedOf(row_bytes)
    const isFull =
      batchRows.length >= limits.rows ||
      bytes + row_bytes > limits.bytes ||
      rendered + row_rendered > limits.rendered
    if (isFull && batchRows.length > 0) {
      yield batchOf(batchRows)
      batchRows = []
      bytes = 0
      rendered = 0
    }
    batchRows.push(row)
    bytes += row_bytes
    rendered += row_rendered
  }
  if (batchRows.length > 0) yield batchOf(batchRows)
}

/** Returns one batch with all rows up to the row that starts on `line`. It restores the batch of an earlier attempt. */
export async function batchUpTo(rows: AsyncIterable<Row>, line: number): Promise<Batch> {
  const batchRows: Row[] = []
  for await (const row of rows) {
    if (row.line > line) break
    batchRows.push(row)
  }
  return batchOf(batchRows)
}

function batchOf(rows: Row[]): Batch {
  return { rows, first_line: rows[0]?.line ?? 0, last_line: rows.at(-1)?.line ?? 0 }
}

/** Separates the rows whose recipient was in an earlier batch. The server finds only duplicates within one batch. */
export function splitBySeen(
  { rows }: Batch,
  seen: AddressesSeen,
  keyOf: (to: string) => string,
): { fresh: Row[]; repeated: Row[] } {
  const fresh: Row[] = []
  const repeated: Row[] = []
  for (const row of rows) {
    const { to, contact_id } = row.recipient
    const isSeen =
      (to !== undefined && seen.has(keyOf(to))) ||
      (contact_id !== undefined && seen.has(contactKey(contact_id)))
    if (isSeen) repeated.push(row)
    else fresh.push(row)
  }
  return { fresh, repeated }
}
