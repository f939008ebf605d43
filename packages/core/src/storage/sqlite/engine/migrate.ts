import { migrationsOf, pending } from '../../migrations.ts'
import type { Connection } from './connection.ts'

/**
 * Brings the database to the program's schema, or to the first `count` of its steps: one transaction under the write
 * lock, so that two starting processes cannot race. Returns the names of the steps that ran.
 * @throws Error when the database was made by a newer version.
 */
export function migrate(connection: Connection, count?: number): string[] {
  const apply = connection.transaction(() => {
    connection.exec(
      'create table if not exists svc_migrations (hash text primary key, applied_at integer not null) strict',
    )
    const note = connection.prepare('insert into svc_migrations (hash, applied_at) values (?, ?)')
    const all = migrationsOf('sqlite')
    const wanted = new Set(all.slice(0, count))
    const missing = pending(all, appliedIn(connection)).filter((each) => wanted.has(each))
    for (const migration of missing) {
      for (const statement of migration.sql) connection.exec(statement)
      note.run(migration.hash, migration.folderMillis)
    }
    return missing.map(({ name }) => name)
  })
  return apply.immediate()
}

/** The hashes of the steps of a database; none for a new database. */
export function appliedIn(connection: Connection): Set<string> {
  const known = connection.prepare("select 1 from sqlite_schema where name = 'svc_migrations'")
  if (known.get() === undefined) return new Set()
  return new Set(connection.prepare('select hash from svc_migrations').pluck().all() as string[])
}
