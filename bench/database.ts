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

/** A SQLite file of a driver's own. */
export interface WritableDatabase extends Database {
  prepare(sql: string): ReturnType<Database['prepare']> & { run(...values: unknown[]): unknown }
  exec(sql: string): void
}

// The very engine that the service writes with.
const core = createRequire(new URL('../packages/core/package.json', import.meta.url))

/** Makes a database, or opens it. */
export function openWritable(file: string): WritableDatabase {
  const Sqlite: new (file: string) => WritableDatabase = core('better-sqlite3')
  return new Sqlite(file)
}

/** Opens a database that another process may be writing. */
export function openReadonly(file: string): Database {
  const Sqlite: new (file: string, options: object) => Database = core('better-sqlite3')
  return new Sqlite(file, { readonly: true })
}
