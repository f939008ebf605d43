import { getTableColumns, getTableName, type Table } from 'drizzle-orm'
import { batchesOf, type RowsStatement } from './database.ts'

/**
 * Statements for batches of rows, their columns derived from the table definition. The rows travel as JSON, which the
 * server converts to the table's types; values that all rows of a batch share travel once.
 *
 * CPU of the three inserts of `accept` (messages, ledger, queue) in batches of 64, Node + server, in µs a message:
 * 20 + 57; with whole rows 40 + 91; with `unnest` of arrays of the columns that vary 33 + 66. For a single row both forms
 * of JSON cost the same, and `unnest` costs the server 1.4 times as much: each array costs about 7 µs a statement.
 */
type Columns<T extends Table> = T['_']['columns']
type RowOf<T extends Table> = T['$inferSelect']

/** SQL: the rows of a batch with the types of the table: their own values in `$1`, the shared ones in `$2`. */
function rowsOf(table: Table): string {
  const shared = `json_populate_record(null::${getTableName(table)}, $2)`
  return `json_populate_recordset(${shared}, $1)`
}

/** Columns that are written with another value than the row's, as SQL over `r` and further parameters, from `$3` on. */
type Instead<T extends Table> = Partial<Record<keyof Columns<T> & string, string>>

/** `insert into …` for a batch of whole rows; `conflict` handles rows whose key exists. */
export function insertInto<T extends Table>(
  name: string,
  table: T,
  instead: Instead<T> = {},
  conflict = '',
): RowsStatement<RowOf<T>> {
  const columns = namesOf(table)
  const values = columns.map((column) => instead[column] ?? `r.${column}`)
  return {
    name,
    text: `insert into ${getTableName(table)} (${columns.join(', ')})
           select ${values.join(', ')} from ${rowsOf(table)} r ${conflict}`,
    batchesOf: batchesOf(columns),
  }
}

/** `update … set … where <key>` for a batch of rows; only the columns of `key` and `set` are sent. */
export function updateOf<
  T extends Table,
  Key extends keyof Columns<T> & string,
  Change extends keyof Columns<T> & string,
>(
  name: string,
  table: T,
  { key, set, instead = {} }: { key: readonly Key[]; set: readonly Change[]; instead?: Instead<T> },
): RowsStatement<Pick<RowOf<T>, Key | Change>> {
  const own = Object.fromEntries(set.map((column) => [column, `r.${column}`]))
  const changes = Object.entries({ ...own, ...instead }).map((change) => change.join(' = '))
  return {
    name,
    text: `update ${getTableName(table)} t set ${changes.join(', ')} from ${rowsOf(table)} r
           where ${matching(key)}`,
    batchesOf: batchesOf([...key, ...set]),
  }
}

/** `delete from … where <key>` for a batch of keys. */
export function removeFrom<T extends Table, Key extends keyof Columns<T> & string>(
  name: string,
  table: T,
  key: readonly Key[],
): RowsStatement<Pick<RowOf<T>, Key>> {
  return {
    name,
    text: `delete from ${getTableName(table)} t using ${rowsOf(table)} r where ${matching(key)}`,
    batchesOf: batchesOf(key),
  }
}

function matching(key: readonly string[]): string {
  return key.map((column) => `t.${column} = r.${column}`).join(' and ')
}

/** All column names of a table, except some. */
export function namesOf<T extends Table>(
  table: T,
  ...without: (keyof Columns<T> & string)[]
): (keyof Columns<T> & string)[] {
  const left: readonly string[] = without
  return Object.keys(getTableColumns(table)).filter(
    (name) => !left.includes(name),
  ) as (keyof Columns<T> & string)[]
}

/**
 * SQL: the time in the parameter, or the server's time. It is never rounded up, so that the next claim finds rows that
 * are due now. It is constant within a statement, so that an index can serve it.
 */
export function present(parameter: string): string {
  return `coalesce(${parameter}::timestamptz, date_trunc('milliseconds', statement_timestamp()))`
}

/** SQL: the due time that was sent as `column`, counted from the origin in `parameter`. */
export function dueAt(column: string, parameter: string): string {
  return `${present(parameter)} + (${column} - 'epoch'::timestamptz)`
}
