import { Column, getTableColumns, getTableName, type Table } from 'drizzle-orm'
import type { Connection } from './connection.ts'

/**
 * Prepared statements for whole rows. The columns come from the table definition, and the column's own codec maps the
 * values, so that the stores can read the rows of the hot verbs.
 */
type Columns<T extends Table> = T['_']['columns']
type RowOf<T extends Table> = T['$inferSelect']

type Values = Record<string, unknown>

/** Writes the values of a row's columns into one array. All rows use this array: a statement copies what it binds. */
function binder(columns: readonly Column[]): (row: Values) => unknown[] {
  const bound: unknown[] = columns.map(() => null)
  const bind = binderInto(columns)
  return (row) => {
    bind(row, bound, 0)
    return bound
  }
}

/**
 * Writes the values of a row's columns into `bound`, from the position `at` on. Before `at` may stand the values of a
 * `previous` row: a content that both rows share is encoded once.
 */
function binderInto(
  columns: readonly Column[],
): (row: Values, bound: unknown[], at: number, previous?: Values) => void {
  const codecs = columns.map((column) => ({
    name: column.name,
    // Most columns map a value to itself; calling the codec for each of 29 columns costs more than the insert.
    encode: isPlain(column) ? null : (value: unknown) => column.mapToDriverValue(value),
  }))
  return (row, bound, at, previous) => {
    for (let i = 0; i < codecs.length; i++) {
      const { name, encode } = codecs[i] as (typeof codecs)[number]
      const value = row[name]
      if (value === null || value === undefined) bound[at + i] = null
      else if (!encode) bound[at + i] = value
      else if (value === previous?.[name]) bound[at + i] = bound[at + i - codecs.length]
      else bound[at + i] = encode(value)
    }
  }
}

function isPlain(column: Column): boolean {
  return column.mapToDriverValue === Column.prototype.mapToDriverValue
}

/**
 * `insert into … values …` for rows of `table`. A row with the same key is an error; `replacing` replaces it,
 * `keeping` keeps it, and `conflict` is the clause of its own for it.
 */
export function insertInto<T extends Table>(
  connection: Connection,
  table: T,
  {
    replacing = false,
    keeping = false,
    conflict = '',
  }: { replacing?: boolean; keeping?: boolean; conflict?: string } = {},
): (row: RowOf<T>) => void {
  const names = namesOf(table)
  const columns = getTableColumns(table) as Record<string, Column>
  const statement = once(() =>
    connection.prepare(
      `${replacing ? 'replace' : 'insert'} into ${getTableName(table)} (${names.join(', ')})
       values (${marksOf(names)}) ${keeping ? 'on conflict do nothing' : conflict}`,
    ),
  )
  const bind = binder(names.map((name) => columns[name] as Column))
  return (row) => {
    statement().run(bind(row as Values))
  }
}

/**
 * The numbers of rows of one statement. The inserts of a bulk of 1,000, messages and queue, take 9.1 µs a recipient row by
 * row, 7.1 µs in blocks of 20, 4.9 µs in blocks of 100.
 */
const BLOCKS = [100, 20]

/**
 * `insert into … values …` for many rows of `table`, in order. Consecutive rows that are equal in all columns except
 * `varying` are inserted in blocks, which bind the equal values once.
 */
export function insertAll<T extends Table, Name extends keyof Columns<T> & string>(
  connection: Connection,
  table: T,
  varying: readonly Name[],
): (rows: readonly RowOf<T>[]) => void {
  const columns = getTableColumns(table) as Record<string, Column>
  const shared: readonly string[] = namesOf(table, ...varying)
  const bindShared = binderInto(shared.map((name) => columns[name] as Column))
  const bindVarying = binderInto(varying.map((name) => columns[name] as Column))
  const insertOne = insertInto(connection, table)
  const blocks = BLOCKS.map((size) => {
    const statement = once(() => {
      const values = Array.from({ length: size }, () => `(${marksOf(varying)})`).join(', ')
      return connection.prepare(
        `insert into ${getTableName(table)} (${[...shared, ...varying].join(', ')})
         select * from (select ${marksOf(shared)}) cross join (values ${values})`,
      )
    })
    const bound: unknown[] = Array(shared.length + size * varying.length).fill(null)
    const insert = (rows: readonly Values[], from: number) => {
      bindShared(rows[from] as Values, bound, 0)
      for (let i = 0; i < size; i++) {
        const at = shared.length + i * varying.length
        const previous = i > 0 ? rows[from + i - 1] : undefined
        bindVarying(rows[from + i] as Values, bound, at, previous)
      }
      statement().run(bound)
      // The contents of a block can be 64 MB.
      bound.fill(null)
    }
    return { size, insert }
  })

  /** The end of the rows that are equal, except `varying`, to the row at `from`. */
  function endOfEqual(rows: readonly Values[], from: number): number {
    const first = rows[from] as Values
    const values = shared.map((name) => first[name])
    let end = from + 1
    while (end < rows.length && hasValues(rows[end] as Values, values)) end++
    return end
  }

  function hasValues(row: Values, values: readonly unknown[]): boolean {
    for (let i = 0; i < shared.length; i++) {
      if (!isSame(row[shared[i] as string], values[i])) return false
    }
    return true
  }

  return (rows) => {
    let at = 0
    while (at < rows.length) {
      const end = endOfEqual(rows, at)
      for (const { size, insert } of blocks) {
        for (; at + size <= end; at += size) insert(rows, at)
      }
      for (; at < end; at++) insertOne(rows[at] as RowOf<T>)
    }
  }
}

function marksOf(names: readonly string[]): string {
  return names.map(() => '?').join(', ')
}

/** Whether two values are stored alike, for sure: equal objects may count as different. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())
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
  const statement = once(() =>
    connection.prepare(
      `update ${getTableName(table)} set ${assignments} where ${condition}${and ? ` and ${and}` : ''}`,
    ),
  )
  const bind = binder([...set, ...key].map((name) => columns[name] as Column))
  return (row) => statement().run(bind(row as Values)).changes
}

/**
 * Reads rows of the named columns in the shape of the stores' rows. `index`: without statistics SQLite prefers the primary key to an index
 * of more of the columns, and reads all rows of a workspace.
 */
export function selectFrom<T extends Table, Name extends keyof Columns<T> & string>(
  connection: Connection,
  table: T,
  names: readonly Name[],
  where: string,
  index?: string,
): (...parameters: unknown[]) => Pick<RowOf<T>, Name>[] {
  const columns = getTableColumns(table) as Record<string, Column>
  const statement = once(() =>
    connection
      .prepare(
        `select ${names.join(', ')} from ${getTableName(table)}${index ? ` indexed by ${index}` : ''} where ${where}`,
      )
      .raw(),
  )
  const decode = decoder(names.map((name) => [name, columns[name] as Column]))
  return (...parameters) =>
    (statement().all(...parameters) as unknown[][]).map(decode) as Pick<RowOf<T>, Name>[]
}

/** A statement that is prepared at its first use: preparing all of them took two thirds of the CPU of opening a file. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
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
  // A copy has room for all columns at once; a new object grows with each.
  const empty = Object.fromEntries(columns.map(([key]) => [key, null]))
  return (values) => {
    const row: Record<string, unknown> = { ...empty }
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
