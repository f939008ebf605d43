import { Column, getTableColumns, getTableName, type Table } from 'drizzle-orm'
import type { Connection } from './connection.ts'

/**
 * Prepared statements for whole rows. The columns come from the table definition, and the column's own codec maps the
 * values, so that the stores can read the rows of the hot verbs.
 */
type Columns<T extends Table> = T['_']['columns']
type RowOf<T extends Table> = T['$inferSelect']

/** Writes the values of a row's columns into one array. All rows use this array: a statement copies what it binds. */
function binder(columns: readonly Column[]): (row: Record<string, unknown>) => unknown[] {
  const bound: unknown[] = columns.map(() => null)
  const codecs = columns.map((column) => ({
    name: column.name,
    // Most columns map a value to itself; calling the codec for each of 29 columns costs more than the insert.
    encode: isPlain(column) ? null : (value: unknown) => column.mapToDriverValue(value),
  }))
  return (row) => {
    for (let i = 0; i < codecs.length; i++) {
      const { name, encode } = codecs[i] as (typeof codecs)[number]
      const value = row[name]
      bound[i] = value === null || value === undefined ? null : encode ? encode(value) : value
    }
    return bound
  }
}

function isPlain(column: Column): boolean {
  return column.mapToDriverValue === Column.prototype.mapToDriverValue
}

/**
 * `insert into … values …` for rows of `table`. A row with the same key is an error; `replacing` replaces it,
 * `keeping` keeps it.
 */
export function insertInto<T extends Table>(
  connection: Connection,
  table: T,
  { replacing = false, keeping = false } = {},
): (row: RowOf<T>) => void {
  const names = namesOf(table)
  const columns = getTableColumns(table) as Record<string, Column>
  const statement = connection.prepare(
    `${replacing ? 'replace' : 'insert'} into ${getTableName(table)} (${names.join(', ')})
     values (${names.map(() => '?').join(', ')})${keeping ? ' on conflict do nothing' : ''}`,
  )
  const bind = binder(names.map((name) => columns[name] as Column))
  return (row) => {
    statement.run(bind(row as Record<string, unknown>))
  }
}

/** `update … set <set> where <key>`; returns the number of matching rows. */
export function updateOf<
  T extends Table,
  Key extends keyof Columns<T> & string,
  Change extends keyof Columns<T> & string,
>(
  connection: Connection,
  table: T,
  { key, set, and }: { key: readonly Key[]; set: readonly Change[]; and?: string },
): (row: Pick<RowOf<T>, Key | Change>) => number {
  const columns = getTableColumns(table) as Record<string, Column>
  const assignments = set.map((name) => `${name} = ?`).join(', ')
  const condition = key.map((name) => `${name} = ?`).join(' and ')
  const statement = connection.prepare(
    `update ${getTableName(table)} set ${assignments} where ${condition}${and ? ` and ${and}` : ''}`,
  )
  const bind = binder([...set, ...key].map((name) => columns[name] as Column))
  return (row) => statement.run(bind(row as Record<string, unknown>)).changes
}

/** Reads rows of the named columns in the shape of the stores' rows. */
export function selectFrom<T extends Table, Name extends keyof Columns<T> & string>(
  connection: Connection,
  table: T,
  names: readonly Name[],
  where: string,
): (...parameters: unknown[]) => Pick<RowOf<T>, Name>[] {
  const columns = getTableColumns(table) as Record<string, Column>
  const statement = connection
    .prepare(`select ${names.join(', ')} from ${getTableName(table)} where ${where}`)
    .raw()
  const decode = decoder(names.map((name) => [name, columns[name] as Column]))
  return (...parameters) =>
    (statement.all(...parameters) as unknown[][]).map(decode) as Pick<RowOf<T>, Name>[]
}

/** Turns raw values, in the order of `columns`, into a record. */
export function decoder(
  columns: readonly (readonly [key: string, column: Column])[],
): (values: unknown[]) => Record<string, unknown> {
  const codecs = columns.map(([key, column]) => ({
    key,
    decode:
      column.mapFromDriverValue === Column.prototype.mapFromDriverValue
        ? null
        : (value: unknown) => column.mapFromDriverValue(value),
  }))
  return (values) => {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < codecs.length; i++) {
      const { key, decode } = codecs[i] as (typeof codecs)[number]
      const value = values[i]
      row[key] = value === null ? null : decode ? decode(value) : value
    }
    return row
  }
}

/** All column names of a table, except some. */
export function namesOf<T extends Table, Left extends keyof Columns<T> & string = never>(
  table: T,
  ...without: Left[]
): Exclude<keyof Columns<T> & string, Left>[] {
  return Object.keys(getTableColumns(table)).filter(
    (name) => !without.includes(name as Left),
  ) as Exclude<keyof Columns<T> & string, Left>[]
}
