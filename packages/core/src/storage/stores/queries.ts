import { and, asc, eq, gt, is, lt, lte, or, type SQL, sql } from 'drizzle-orm'
import { PgColumn, type PgTable } from 'drizzle-orm/pg-core'
import type { Content } from '../../contract/resources/messages.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'

/** The SQL of the stores that differs between the engines. */
export interface StoreDialect {
  /** Locks the rows that a query reads until the transaction ends; a no-op with a single writer. */
  locked<Q>(query: Q): Q
  /** Until the transaction ends, other transactions cannot remove the rows that a query reads, but can change them. */
  kept<Q>(query: Q): Q
  /**
   * Waits until no other transaction has read or changed this table, and keeps them from it until the transaction ends; a
   * no-op with a single writer. Nothing may use the table before in the transaction.
   */
  alone(db: Db, table: Tables[keyof Tables]): Promise<void>
  /** Waits for other transactions that hold this name, and holds it until the transaction ends; a no-op with a single writer. */
  hold(db: Db, name: string): Promise<void>
  /**
   * Whether ledger entries may be folded now: no month is half detached or attached, because its messages or bulks would seem removed. A
   * month begins no such step until the transaction ends. Always true where the engine has no months.
   */
  mayFold(db: Db): Promise<boolean>
  /** The current time for due times of deliveries: `at`, or on PostgreSQL the database's clock. */
  present(at: Date): SQL<Date> | Date
  /** The first 16 bits of the SHA-256 of a text in UTF-8, as a number; the same on both engines. */
  bucketOf(text: SQL | PgColumn): SQL<number>
  /** The content of a row of `messages`: SQLite has a long content in another table, and only its number in this column. */
  messageContent: SQL<Content>
  /**
   * The table `messages` in a query by `bulk_id`. Without statistics, SQLite would read all messages of the workspace (248 ms of 220,000,
   * and 0.2 ms for a bulk of 25).
   */
  messagesByBulk: SQL
}

/**
 * Whether a text contains `part`, without wildcards. The caller folds the case of both, because the engines fold
 * differently. A search for 120 letters `a` in 100,000 such texts would take seconds with LIKE.
 */
export function includes(column: PgColumn, part: string): SQL {
  return includesIn(column, part, column)
}

/** Whether an expression over a table with the column `of` contains `part`. */
export function includesIn(text: SQL | PgColumn, part: string, of: PgColumn): SQL {
  // SQLite's columns are cast to PostgreSQL's types: see `dialects`.
  return is(of, PgColumn) ? sql`strpos(${text}, ${part}) > 0` : sql`instr(${text}, ${part}) > 0`
}

/** The maximum number of rows in a statement. */
const BLOCK_MAX = 64

/** The rows in blocks of 64, 32, 16 … 1: each block size keeps a prepared statement, so there must be few sizes. */
export function blocksOf<T>(rows: readonly T[]): T[][] {
  const blocks: T[][] = []
  let size = BLOCK_MAX
  for (let at = 0; at < rows.length; at += size) {
    while (size > rows.length - at) size /= 2
    blocks.push(rows.slice(at, at + size))
  }
  return blocks
}

/** The distinct values, for lists in a query. The last value repeats up to a power of two: see `blocksOf`. */
export function filledUp<T>(values: readonly T[]): T[] {
  const once = [...new Set(values)]
  const last = once.at(-1)
  if (last === undefined) return []
  const size = 2 ** Math.ceil(Math.log2(once.length))
  return [...once, ...Array<T>(size - once.length).fill(last)]
}

/**
 * SQL: the rows of a workspace whose indexed column is among the values. `keys`: the rest of the primary key. The keys are read from the
 * index first: without statistics SQLite would read all rows of the workspace, as 1,000,000 entries of a ledger for one message.
 */
export function isIndexed(
  db: Db,
  table: PgTable,
  keys: readonly PgColumn[],
  some: SQL | undefined,
): SQL {
  const names = sql.join([...keys], sql`, `)
  const fields = Object.fromEntries(keys.map((key) => [key.name, key]))
  const found = db.select(fields).from(table).where(some)
  const own = sql.join(
    keys.map(({ name }) => sql.identifier(name)),
    sql`, `,
  )
  return sql`(${names}) in (with indexed as materialized ${found} select ${own} from indexed)`
}

/** Whether a row comes after the id `after` in a list with the newest first; every row does if there is no `after`. */
export function isBelow(id: PgColumn, after: string | undefined): SQL | undefined {
  return after === undefined ? undefined : lt(id, after)
}

/** Whether a row comes after the values `last` in the order of two columns; every row comes after null. */
export function isAfter(
  [first, second]: readonly [PgColumn, PgColumn],
  last: readonly [unknown, unknown] | null | undefined,
): SQL | undefined {
  if (!last) return undefined
  return or(gt(first, last[0]), and(eq(first, last[0]), gt(second, last[1])))
}

/**
 * Removes about `limit` of the rows that `condition` selects, the oldest by the column `by` first. Rows of equal age
 * are removed together. Returns the number of removed rows.
 */
export async function removeOldest(
  db: Db,
  { from: t, by, condition }: { from: PgTable; by: PgColumn; condition: SQL | undefined },
  limit: number,
): Promise<number> {
  const oldest = db.select({ at: by }).from(t).where(condition).orderBy(asc(by))
  const [last] = await oldest.limit(1).offset(limit - 1)
  const some = last ? and(condition, lte(by, last.at)) : condition
  return (await db.delete(t).where(some).returning({ at: by })).length
}

/** SQL: the position of the first `part` in a text, from 1 on; 0: none. `of` is a column of the engine. */
export function positionIn(text: SQL, part: SQL, of: PgColumn): SQL {
  return is(of, PgColumn) ? sql`strpos(${text}, ${part})` : sql`instr(${text}, ${part})`
}
