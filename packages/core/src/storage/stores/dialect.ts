import { is, type SQL, sql } from 'drizzle-orm'
import { PgColumn } from 'drizzle-orm/pg-core'
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
  /** The current time for due times of deliveries: `at`, or on PostgreSQL the database's clock. */
  present(at: Date): SQL<Date> | Date
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
