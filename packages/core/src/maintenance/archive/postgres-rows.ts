import type { Run } from '../../storage/postgres/engine/transaction.ts'
import { refusal } from '../refusal.ts'
import {
  BATCH_ROWS_MAX,
  BATCH_TEXT,
  plainJson,
  type Row,
  sizeOf,
  type TableReader,
  type TableWriter,
} from './database.ts'
import type { ArchiveTable, ColumnKind } from './tables.ts'

/** The tables as the session's transaction sees them; a cursor reads them in constant memory. */
export function readerOn(run: Run): TableReader {
  return {
    async count({ table }) {
      return (await run(`select count(*) as rows from "${table}"`)).rows[0]?.rows
    },
    async *rows(table) {
      const values = table.columns.map(({ name, kind }) => SELECTED[kind](`"${name}"`))
      await run(
        `declare moved no scroll cursor for select ${values.join(', ')} from "${table.table}"`,
      )
      for (let count = 1; ; ) {
        const config = { text: `fetch ${count} from moved`, rowMode: 'array' }
        const rows: Row[] = (await run(config)).rows
        if (rows.length === 0) break
        plainIn(table, rows)
        const size = rows.reduce((sum, row) => sum + sizeOf(row), 0)
        yield rows
        count = fetchCount(count, size / rows.length)
      }
      await run('close moved')
    },
  }
}

/** The maximum of rows at once: the next rows may be e-mails of 2 MB, even if all earlier rows were small. */
const ROWS_AT_ONCE = Math.min(BATCH_ROWS_MAX, 64)

/** The number of rows to fetch: fewer if the rows are large, then gradually more. */
function fetchCount(before: number, rowSize: number): number {
  const batchRows = Math.floor(BATCH_TEXT / Math.max(rowSize, 1))
  return Math.max(1, Math.min(ROWS_AT_ONCE, 2 * before, batchRows))
}

/** The reader, and functions that fill the tables. */
export function writerOn(run: Run): TableWriter {
  return {
    ...readerOn(run),
    async take({ table }) {
      await run(`lock table "${table}" in exclusive mode`)
      const { rows } = await run(`select exists (select 1 from "${table}") as has_rows`)
      return !rows[0]?.has_rows
    },
    async insert(table, rows) {
      const { columns } = table
      const names = columns.map(({ name }) => `"${name}"`)
      const values = columns.map(({ kind }, i) => INSERTED[kind](`r.c${i}`))
      const parameters = columns.map(({ kind }, i) => `$${i + 1}::${SENT[kind]}[]`)
      const aliases = columns.map((_, i) => `c${i}`)
      assertStorable(table, rows)
      await run(
        `insert into "${table.table}" (${names.join(', ')}) select ${values.join(', ')}
         from unnest(${parameters.join(', ')}) as r(${aliases.join(', ')})`,
        columns.map((_, i) => rows.map((row) => row[i])),
      )
    },
  }
}

/** SQL for a column's value in the archive; JSON texts are normalized afterwards. */
const SELECTED: Record<ColumnKind, (column: string) => string> = {
  text: (column) => column,
  int: (column) => column,
  boolean: (column) => column,
  // The time is a number: years beyond 9999 and before 1 have no text that both sides can parse.
  time: (column) => `(extract(epoch from ${column}) * 1000)::bigint`,
  json: (column) => `${column}::text`,
}

/** The types of sent values, and the SQL that converts them for the column. */
const SENT: Record<ColumnKind, string> = {
  text: 'text',
  int: 'bigint',
  boolean: 'boolean',
  time: 'bigint',
  json: 'text',
}
const INSERTED: Record<ColumnKind, (value: string) => string> = {
  text: (value) => value,
  int: (value) => value,
  boolean: (value) => value,
  time: (value) => `to_timestamp(${value} / 1000.0)`,
  json: (value) => `${value}::json`,
}

function plainIn({ columns }: ArchiveTable, rows: Row[]): void {
  columns.forEach(({ kind }, i) => {
    if (kind !== 'json') return
    for (const row of rows) if (row[i] !== null) row[i] = plainJson(row[i] as string)
  })
}

/** Refuses a text with U+0000, which PostgreSQL cannot store, and names the column. */
function assertStorable({ table, columns }: ArchiveTable, rows: readonly Row[]): void {
  columns.forEach(({ name }, i) => {
    for (const row of rows) {
      const value = row[i]
      if (typeof value !== 'string' || !value.includes('\0')) continue
      throw refusal(
        'not_equal',
        `PostgreSQL cannot keep the character U+0000, which stands in ${table}.${name}`,
      )
    }
  })
}
