import { Readable } from 'node:stream'
import { usage } from '../process/failure.ts'

/** The size limit of a row and of the header, in bytes. */
const ROW_MAX_BYTES = 128 * 1024

const DELIMITERS = [',', ';', '\t', '|'] as const

const LINE_FEED = 10

/** One row of a CSV file; the first is the header. */
export interface CsvRow {
  /** The line on which the row starts, counted from 1. */
  line: number
  cells: string[]
}

/**
 * Reads CSV (RFC 4180) row by row: UTF-8, with or without a byte order mark, with any line breaks. The delimiter is
 * the comma, semicolon, tab or bar that the header contains most often. Skips empty lines and rows of empty cells.
 * @throws Failure with the line of the fault.
 */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<CsvRow> {
  const { parse, CsvError } = await import('csv-parse')
  const checked = utf8Of(chunks, name)
  const first = await checked.next()
  if (first.done) return
  /** The number of surplus lines in the parser's count: the parser counts CR LF within quotes as two lines. */
  let excess = 0
  let line = 1
  // Lines are counted when a row is parsed, because after a fault the parser does not return all parsed rows.
  const rowOf = (cells: string[], { lines }: { lines: number }): CsvRow => {
    const { counted, real } = lineBreaksOf(cells)
    line = lines - excess - counted
    excess += counted - real
    return { line, cells }
  }
  const parser = parse({
    bom: true,
    delimiter: delimiterOf(first.value),
    record_delimiter: ['\r\n', '\n', '\r'],
    // `survey` in input-file.ts reports rows whose length differs from the header.
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    max_record_size: ROW_MAX_BYTES,
    // The type declarations allow only arrays as the result of `onRecord`.
    onRecord: rowOf as unknown as (cells: string[]) => string[],
  })
  const source = Readable.from(joined(first.value, checked), { objectMode: true })
  source.on('error', (error) => parser.destroy(error))
  try {
    for await (const row of source.pipe(parser) as AsyncIterable<CsvRow>) yield row
  } catch (error) {
    if (error instanceof CsvError) throw unreadable(name, error, { after: line, excess })
    throw error
  } finally {
    source.destroy()
  }
}

async function* joined(first: Buffer, more: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* more
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

/** The delimiter that the first line contains most often outside quotes. */
function delimiterOf(first: Buffer): string {
  const [line = ''] = first.toString('utf8').split(/[\r\n]/, 1)
  const bare = line.replaceAll(/"[^"]*"/g, '')
  const countOf = (delimiter: string) => bare.split(delimiter).length
  return DELIMITERS.reduce((best, each) => (countOf(each) > countOf(best) ? each : best))
}

/** Passes the chunks on, and checks that they are UTF-8 text. */
async function* utf8Of(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  for await (const chunk of chunks) {
    const nul = chunk.indexOf(0)
    if (nul !== -1) {
      const at = line + lineFeedsIn(chunk.subarray(0, nul))
      throw usage(
        `${name}, line ${at}: the character U+0000 is not allowed; save the file as CSV in UTF-8`,
      )
    }
    try {
      decoder.decode(chunk, { stream: true })
    } catch {
      throw notUtf8(name, line + linesBeforeFault(chunk))
    }
    line += lineFeedsIn(chunk)
    yield chunk
  }
  try {
    decoder.decode()
  } catch {
    throw notUtf8(name, line)
  }
}

function notUtf8(name: string, line: number): Error {
  return usage(`${name}, line ${line}: not UTF-8; save the file as CSV in UTF-8`)
}

function lineFeedsIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count++
  return count
}

function linesBeforeFault(chunk: Buffer): number {
  let lines = 0
  // The chunk may start with the last bytes of a character; its first bytes are in the previous chunk.
  let start = chunk.findIndex((byte) => byte >> 6 !== 0b10)
  for (;;) {
    const end = chunk.indexOf(LINE_FEED, start)
    if (end === -1) return lines
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(chunk.subarray(start, end))
    } catch {
      return lines
    }
    lines++
    start = end + 1
  }
}

/** Describes an error without the contents of cells; the messages of the parser contain them. */
function unreadable(
  name: string,
  { code, lines }: { code: string; lines?: unknown },
  { after, excess }: { after: number; excess: number },
): Error {
  const at = typeof lines === 'number' ? lines - excess : after
  if (code === 'CSV_QUOTE_NOT_CLOSED') {
    return usage(`${name}: a quote that opens after line ${after} is never closed`)
  }
  if (code === 'CSV_MAX_RECORD_SIZE') {
    const kb = ROW_MAX_BYTES / 1024
    return usage(
      `${name}: the row after line ${after} has more than ${kb} KB; check for an unclosed quote`,
    )
  }
  return usage(`${name}, line ${at}: a quote is in a wrong place`)
}
