import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { z } from 'zod'
import { refusal } from '../refusal.ts'
import { type Checksum, createChecksum } from './checksum.ts'
import { BATCH_ROWS_MAX, BATCH_TEXT, type Row, type Value } from './database.ts'
import {
  checksumLine,
  endLine,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  headerLine,
  type TableSum,
  tableLine,
} from './format.ts'
import { linesOf } from './lines.ts'
import type { ArchiveTable, ColumnKind } from './tables.ts'

/** A table of an archive that is being read. */
export interface ArchivedTable extends ArchiveTable {
  /** The number of rows that the archive announces. */
  rows_total: number
  /** The rows in batches. Read all of them before the next table: only reading to the end verifies them. */
  rows(): AsyncGenerator<Row[]>
  /** The checksum, known after all rows were read. */
  sum(): TableSum
}

/** An archive that is read from a stream and verified while it is read. */
export interface Archive {
  header: Header
  /** All tables; ends only after the end of the archive was verified. */
  tables(): AsyncGenerator<ArchivedTable>
}

/**
 * Opens an archive. Its content is verified only after it was read to the end.
 * @throws Error with a message of one line and a `code`: `foreign`, `truncated`, `altered`, or `newer` for a later format.
 */
export async function readArchive(source: Readable): Promise<Archive> {
  const lines = hashedLines(source)
  const header = readHeader(await lines.next())
  return {
    header,
    async *tables() {
      let tables = 0
      let rows = 0
      for (;;) {
        const line = await lines.peek()
        if (line.startsWith('{"end":')) break
        const table = archivedTable(lines, await lines.next())
        yield table
        tables++
        rows += table.sum().rows
      }
      await readEnd(lines, { tables, rows })
    },
  }
}

type Lines = ReturnType<typeof hashedLines>

/** The lines as text. Each line is hashed when it is taken. */
function hashedLines(source: Readable) {
  const found = linesOf(source)
  const whole = createHash('sha256')
  let ahead: Buffer | undefined
  const look = async () => {
    if (ahead) return ahead
    const { value, done } = await found.next()
    if (done) throw refusal('truncated', 'the archive is truncated: its end is missing')
    ahead = value
    return value
  }
  return {
    /** Returns the next line without taking it. */
    async peek(): Promise<string> {
      return (await look()).toString('utf8')
    },
    /** Takes the next line. */
    async next(): Promise<string> {
      const line = await look()
      ahead = undefined
      whole.update(line).update('\n')
      return line.toString('utf8')
    },
    /** Takes the last line; returns it with the checksum of the earlier lines. */
    async last(): Promise<{ line: string; sha256: string }> {
      const line = (await look()).toString('utf8')
      if (!(await found.next()).done) throw altered('something follows its end')
      return { line, sha256: whole.digest('hex') }
    },
  }
}

function readHeader(line: string): Header {
  const header = parsed(line) as { format?: unknown; version?: unknown } | undefined
  if (header?.format !== FORMAT) throw refusal('foreign', 'this is not an archive of svc')
  if (Number(header.version) > FORMAT_VERSION) {
    throw refusal('newer', 'the archive was made by a newer version of svc')
  }
  return read(headerLine, line, 'its header')
}

function archivedTable(lines: Lines, first: string): ArchivedTable {
  const { table, columns, rows: rows_total } = read(tableLine, first, 'the beginning of a table')
  const checksum = createChecksum()
  let sum: TableSum | undefined
  return {
    table,
    columns,
    rows_total,
    async *rows() {
      const isRow = rowCheck({ table, columns })
      let batch: Row[] = []
      let size = 0
      for (let line = await lines.next(); ; line = await lines.next()) {
        if (!line.startsWith('[')) {
          if (batch.length > 0) yield batch
          sum = verified(line, { table, rows_total, checksum })
          return
        }
        batch.push(isRow(parsed(line)))
        checksum.add(line)
        size += line.length
        if (batch.length < BATCH_ROWS_MAX && size < BATCH_TEXT) continue
        yield batch
        batch = []
        size = 0
      }
    },
    sum() {
      if (!sum) throw new Error(`the rows of ${table} were not read`)
      return sum
    },
  }
}

function verified(
  line: string,
  { table, rows_total, checksum }: { table: string; rows_total: number; checksum: Checksum },
): TableSum {
  const stated = read(checksumLine, line, `the end of ${table}`)
  const rows = checksum.rows()
  if (stated.table !== table || stated.rows !== rows || rows !== rows_total) {
    throw altered(`${table} has ${rows} rows, not ${rows_total}`)
  }
  if (stated.sha256 !== checksum.sha256()) throw altered(`the checksum of ${table} is another`)
  return stated
}

async function readEnd(lines: Lines, counted: { tables: number; rows: number }): Promise<void> {
  const { line, sha256 } = await lines.last()
  const stated = read(endLine, line, 'its end')
  const isWhole = stated.tables === counted.tables && stated.rows === counted.rows
  if (!isWhole || stated.sha256 !== sha256) throw altered('the checksum of the whole is another')
}

/** Checks that values are a row of the table: the archive may come from any source. */
function rowCheck({ table, columns }: ArchiveTable): (values: unknown) => Row {
  const tests = columns.map(({ kind }) => CHECKS[kind])
  return (values) => {
    const isRow =
      Array.isArray(values) &&
      values.length === tests.length &&
      tests.every((test, i) => values[i] === null || test(values[i]))
    if (!isRow) throw altered(`a row of ${table} is none`)
    return values as Value[]
  }
}

const CHECKS: Record<ColumnKind, (value: unknown) => boolean> = {
  text: (value) => typeof value === 'string',
  int: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
  time: Number.isSafeInteger,
  json: (value) => typeof value === 'string' && parsed(value) !== undefined,
}

/** The value of a JSON text; undefined for any other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function read<T>(schema: z.ZodType<T>, line: string, what: string): T {
  const { data, success } = schema.safeParse(parsed(line))
  if (!success) throw altered(`${what} is not as it was written`)
  return data
}

function altered(reason: string): Error {
  return refusal('altered', `the archive was altered or damaged: ${reason}`)
}
