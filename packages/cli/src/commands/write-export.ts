import { once } from 'node:events'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../context.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { writeWhole } from '../settings/replace-file.ts'
import { counted } from '../show/text.ts'

/** A page of an export. */
interface Page<Row> {
  rows: readonly Row[]
  /** The `after` of the next page; null on the last one. */
  next_after: string | null
}

/**
 * Writes an export to a file, or to stdout, a page at a time: as CSV, or as one JSON document `{"<name>": [ … ]}`. A failure leaves an
 * older file of this name as it is.
 */
export async function writeExport<Row>(
  { io, output }: Context,
  {
    file,
    name,
    csv,
    pageAfter,
  }: {
    /** Undefined: stdout. */
    file: string | undefined
    /** The name of the list; without its last letter, the name of a row. */
    name: string
    /** How rows are written as CSV; null: as JSON. */
    csv: { header: string; linesOf(rows: readonly Row[]): string } | null
    pageAfter(after: string | undefined): Promise<Page<Row>>
  },
): Promise<void> {
  let count = 0
  async function* texts(): AsyncGenerator<string> {
    yield csv ? csv.header : `{"${name}":[`
    let after: string | undefined
    do {
      const { rows, next_after } = await pageAfter(after)
      if (csv) yield csv.linesOf(rows)
      else if (rows.length > 0) {
        yield `${count > 0 ? ',' : ''}${rows.map((row) => JSON.stringify(row)).join(',')}`
      }
      count += rows.length
      after = next_after ?? undefined
      if (file !== undefined && after) output.note(`${counted(count, name.slice(0, -1))} …`)
    } while (after)
    if (!csv) yield ']}\n'
  }
  if (file === undefined) {
    for await (const text of texts()) {
      if (!io.stdout.write(text)) await once(io.stdout, 'drain')
    }
    return
  }
  // The file contains personal data, so only its owner can read it.
  const signal = stopSignalOf(io)
  await writeWhole(resolve(io.cwd, file), (to) => pipeline(texts, to, { signal }))
  output.note(`${counted(count, name.slice(0, -1))} written to ${file}`)
}
