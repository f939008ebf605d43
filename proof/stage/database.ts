import { Sqlite } from '../../packages/core/src/storage/sqlite/engine/connection.ts'

/** Runs a query on the database of a service. */
export type Query = <Row>(sql: string) => Promise<Row[]>

/** A SQLite file, to inspect the data of a service. */
export interface Database {
  prepare(sql: string): {
    all(...values: unknown[]): unknown[]
    get(...values: unknown[]): unknown
    iterate(...values: unknown[]): IterableIterator<unknown>
  }
  close(): void
}

/** A SQLite file of the driver. */
export interface WritableDatabase extends Database {
  prepare(sql: string): ReturnType<Database['prepare']> & { run(...values: unknown[]): unknown }
  exec(sql: string): void
}

/** Creates a database, or opens it. */
export function openWritable(file: string): WritableDatabase {
  return new Sqlite(file) as WritableDatabase
}

/** Opens a database that another process may write. */
export function openReadonly(file: string): Database {
  return new Sqlite(file, { readonly: true }) as Database
}

/** Opens the file for each query: a permanent connection would keep the log of the service from being truncated. */
export function queryFile(file: string): Query {
  return async <Row>(sql: string) => {
    const database = openReadonly(file)
    try {
      return database.prepare(sql).all() as Row[]
    } finally {
      database.close()
    }
  }
}
