import { createRequire } from 'node:module'

/** A SQLite file, for looking at what a service wrote. */
export interface Database {
  prepare(sql: string): {
    all(...values: unknown[]): unknown[]
    get(...values: unknown[]): unknown
    iterate(...values: unknown[]): IterableIterator<unknown>
  }
  close(): void
}

// The very engine that the service writes with.
const core = createRequire(new URL('../packages/core/package.json', import.meta.url))

/** Opens a database that another process may be writing. */
export function openReadonly(file: string): Database {
  const Sqlite: new (file: string, options: object) => Database = core('better-sqlite3')
  return new Sqlite(file, { readonly: true })
}
