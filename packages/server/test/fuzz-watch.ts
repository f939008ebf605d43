import { isDeepStrictEqual } from 'node:util'
import type { Database } from 'better-sqlite3'
import { Sqlite } from '../../core/src/storage/sqlite/engine/driver.ts'

/** A watch over what others write to a database. */
export interface Watch {
  /** Begins anew, from what is there now. */
  begin(): void
  /** The names of the tables that hold something else than they did. */
  changed(): string[]
  close(): void
}

/** Watches a SQLite file from outside. Costs next to nothing where nobody committed. */
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
      // What a transaction has read from, it goes on seeing.
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
