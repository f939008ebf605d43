import { type Column, getTableColumns, getTableName, type Table } from 'drizzle-orm'
import type { Connection } from './connection.ts'

/**
 * Prepared statements for whole rows, their columns read off the one table definition, values mapped by the column's
 * own codec: what the hot door writes is what the cold door reads.
 */
type Columns<T extends Table> = T['_']['columns']
type RowOf<T extends Table> = T['$inferSelect']

function encode(column: Column, value: unknown): unknown {
  return value === null || value === undefined ? null : column.mapToDriverValue(value)
}

/** `insert into … values …` for rows of `table`. */
export function insertInto<T extends Table>(
  connection: Connection,
  table: T,
): (row: RowOf<T>) => void {
  const columns = Object.entries(getTableColumns(table))
  const names = columns.map(([, column]) => column.name)
  const statement = connection.prepare(
    `insert into ${getTableName(table)} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
  )
  return (row) => {
    const values = row as Record<string, unknown>
    statement.run(columns.map(([key, column]) => encode(column, values[key])))
  }
}

/** `update … set <set> where <key>`; answers how many rows matched. */
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
  const bound = [...set, ...key].map((name) => [name, columns[name] as Column] as const)
  return (row) => {
    const values = row as Record<string, unknown>
    return statement.run(bound.map(([name, column]) => encode(column, values[name]))).changes
  }
}

/** Reads rows of the named columns back into the shape that the stores give. */
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
  return (values) => {
    const row: Record<string, unknown> = {}
    for (const [i, [key, column]] of columns.entries()) {
      const value = values[i]
      row[key] = value === null ? null : column.mapFromDriverValue(value)
    }
    return row
  }
}

/** All column names of a table, or all but some. */
export function namesOf<T extends Table, Left extends keyof Columns<T> & string = never>(
  table: T,
  ...without: Left[]
): Exclude<keyof Columns<T> & string, Left>[] {
  return Object.keys(getTableColumns(table)).filter(
    (name) => !without.includes(name as Left),
  ) as Exclude<keyof Columns<T> & string, Left>[]
}
