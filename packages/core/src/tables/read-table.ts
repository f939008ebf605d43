import { Readable } from 'node:stream'
import {
  encodingOf,
  ROW_MAX_BYTES,
  rowTooLong,
  type Source,
  TableFault,
  textOf,
} from './encoding.ts'

/** How many characters of a file show its separator. */
const HEAD_LENGTH = 16 * 1024

/** How many rows show its separator. */
const HEAD_ROWS = 10

const SEPARATORS = [',', ';', '\t', '|'] as const

/** The first line with which spreadsheets name the separator. */
const NAMED_SEPARATOR = /^"?sep=([^\w"\r\n])"?[,;\t]*(?:\r\n|\n|\r|$)/i

/** One row of a table; the first is the header. */
export interface TableRow {
  /** The line on which the row starts, from 1. A cell in quotes can have several lines. */
  line: number
  cells: string[]
}

/** A file that is read as a table. */
export interface Table {
  /** As `TextDecoder` names it. */
  encoding: string
  separator: string
  /** @throws TableFault with the line. */
  rows: AsyncGenerator<TableRow>
}

/**
 * Opens a table as spreadsheets export it (RFC 4180): any encoding that `encodingOf` finds, separated by commas, semicolons,
 * tabs or bars, or as a line `sep=…` says, with any line breaks. Skips empty lines and rows of empty cells.
 * @throws TableFault
 */
export async function openTable(source: Source, charset?: string): Promise<Table> {
  const encoding = await encodingOf(source, charset)
  const texts = textOf(source(), encoding)
  let head = ''
  while (head.length < HEAD_LENGTH) {
    const next = await texts.next()
    if (next.done) break
    head += next.value
  }
  const named = NAMED_SEPARATOR.exec(head)
  const separator = named?.[1] ?? separatorOf(head.slice(0, HEAD_LENGTH))
  const rest = named ? head.slice(named[0].length) : head
  const rows = rowsOf(joined(rest, texts), { separator, skipped: named ? 1 : 0 })
  return { encoding, separator, rows }
}

async function* joined(first: string, more: AsyncIterable<string>): AsyncGenerator<Buffer> {
  yield Buffer.from(first)
  for await (const text of more) yield Buffer.from(text)
}

async function* rowsOf(
  pieces: AsyncIterable<Buffer>,
  { separator, skipped }: { separator: string; skipped: number },
): AsyncGenerator<TableRow> {
  const { parse, CsvError } = await import('csv-parse')
  /** The number of surplus lines in the parser's count: the parser counts CR LF within quotes as two lines. */
  let excess = -skipped
  /** The line behind the last row. */
  let next = 1 + skipped
  // Lines are counted when a row is parsed, because after a fault the parser does not return all parsed rows.
  const rowOf = (cells: string[], { lines }: { lines: number }): TableRow => {
    const { counted, real } = lineBreaksOf(cells)
    const line = lines - excess - counted
    excess += counted - real
    next = lines - excess + 1
    return { line, cells }
  }
  const parser = parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    // The reader of the rows reports rows whose length differs from the header.
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    max_record_size: ROW_MAX_BYTES,
    // The type declarations allow only arrays as the result of `onRecord`.
    onRecord: rowOf as unknown as (cells: string[]) => string[],
  })
  const stream = Readable.from(pieces, { objectMode: true })
  stream.on('error', (error) => parser.destroy(error))
  try {
    for await (const row of stream.pipe(parser) as AsyncIterable<TableRow>) yield row
  } catch (error) {
    if (error instanceof CsvError) throw unreadable(error, { next, excess })
    throw error
  } finally {
    stream.destroy()
  }
}

function lineBreaksOf(cells: readonly string[]): { counted: number; real: number } {
  let counted = 0
  let real = 0
  for (const cell of cells) {
    if (!cell.includes('\n') && !cell.includes('\r')) continue
    counted += cell.match(/[\r\n]/g)?.length ?? 0
    real += cell.match(/\r\n|\r|\n/g)?.length ?? 0
  }
  return { counted, real }
}

/**
 * The separator that the header contains most often outside quotes; of those that all first rows contain equally often, if
 * there are any.
 */
function separatorOf(head: string): string {
  const counts = SEPARATORS.map((separator) => ({ separator, rows: countsOf(head, separator) }))
  const found = counts.filter(({ rows }) => (rows[0] ?? 0) > 0)
  const regular = found.filter(({ rows }) => rows.every((count) => count === rows[0]))
  const best = (regular.length > 0 ? regular : found).reduce<(typeof found)[number] | null>(
    (one, each) => ((each.rows[0] ?? 0) > (one?.rows[0] ?? 0) ? each : one),
    null,
  )
  return best?.separator ?? ','
}

/** How often the first rows contain the separator outside quotes. The last row may be cut, so it does not count. */
function countsOf(head: string, separator: string): number[] {
  const counts: number[] = []
  let count = 0
  let isQuoted = false
  let isEmpty = true
  for (const character of head) {
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === separator) count++
    else if (character === '\n' || character === '\r') {
      if (!isEmpty && counts.push(count) === HEAD_ROWS) return counts
      count = 0
      isEmpty = true
      continue
    }
    isEmpty = false
  }
  return isEmpty || (counts.length > 0 && head.length >= HEAD_LENGTH) ? counts : [...counts, count]
}

/** Describes an error without the contents of cells; the messages of the parser contain them. */
function unreadable(
  { code, lines }: { code: string; lines?: unknown },
  { next, excess }: { next: number; excess: number },
): TableFault {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return new TableFault('a quote is not closed', next)
  if (code === 'CSV_MAX_RECORD_SIZE') return rowTooLong(next)
  const line = typeof lines === 'number' ? lines - excess : next
  return new TableFault('a quote is in a wrong place', line)
}
