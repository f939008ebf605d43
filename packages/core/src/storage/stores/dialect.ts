import { is, type SQL, sql } from 'drizzle-orm'
import { PgColumn } from 'drizzle-orm/pg-core'

/** The words of the cold door in which the engines differ. */
export interface StoreDialect {
  /** Locks the rows a query reads until the transaction ends; a no-op where there is a single writer. */
  locked<Q>(query: Q): Q
  /** Keeps the rows a query reads from being removed until the transaction ends; others may do the same, and change them. */
  kept<Q>(query: Q): Q
  /** What the queue of deliveries takes for `at`, the caller's present: the database's present where its clock counts. */
  present(at: Date): SQL<Date> | Date
}

/**
 * Whether a text has `part` in it, by its letters: no character of it is a wildcard. Both must be folded beforehand,
 * because the engines fold differently. Not by LIKE, which takes seconds for 120 letters `a` in 100,000 texts of such.
 */
export function includes(column: PgColumn, part: string): SQL {
  // SQLite's columns are cast to PostgreSQL's types: see `dialects`.
  return is(column, PgColumn)
    ? sql`strpos(${column}, ${part}) > 0`
    : sql`instr(${column}, ${part}) > 0`
}
