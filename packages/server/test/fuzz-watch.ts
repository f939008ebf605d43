import { isDeepStrictEqual } from 'node:util'
import type { Database } from 'better-sqlite3'
import { Sqlite } from '../../core/src/storage/sqlite/engine/connection.ts'

/** Watches the writes of other connections to a database. */
export interface Watch {
  /** Starts again from the current state. */
  begin(): void
  /** The names of the tables that changed. */
  changed(): string[]
  close(): void
}

/** Watches a SQLite file from outside. Costs almost nothing without commits. */
export function watchDatabase(path: string): Watch {
  const then = new Sqlite(path, { readonly: true })
  const now = new Sqlite(path, { readonly: true })
  const versionOf = () => now.pragma('data_version', { simple: true })
  const names = now.prepare("select name from sqlite_schema where type = 'table'").pluck().all()
  const rowsOf = (database: Database, name: unknown) =>
    database.prepare(`select * from "${name}"`).raw().all()
  let version: unknown
  then.exec('begin')
  return {
    begin() {
      // A transaction that has read keeps its snapshot.
      then.exec('commit; begin; select 1 from sqlite_schema')
      version = versionOf()
    },
    changed() {
      if (versionOf() === version) return []
      return (names as string[]).filter(
        (name) => !isDeepStrictEqual(rowsOf(then, name), rowsOf(now, name)),
      )
    },
    close() {
      then.close()
      now.close()
    },
  }
}
