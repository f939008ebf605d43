import type { SQL } from 'drizzle-orm'

/** The words of the cold door in which the engines differ. */
export interface StoreDialect {
  /** Locks the rows a query reads until the transaction ends; a no-op where there is a single writer. */
  locked<Q>(query: Q): Q
  /** Keeps the rows a query reads from being removed until the transaction ends; others may do the same, and change them. */
  kept<Q>(query: Q): Q
  /** What the queue of deliveries takes for `at`, the caller's present: the database's present where its clock counts. */
  present(at: Date): SQL<Date> | Date
}
