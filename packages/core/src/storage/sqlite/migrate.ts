import { migrationsOf, pending } from '../migrations.ts'
import type { Connection } from './connection.ts'

/** Brings the database to the program's schema: one transaction under the write lock, so two starters cannot race. */
export function migrate(connection: Connection): void {
  connection
    .transaction(() => {
      connection.exec(
        'create table if not exists svc_migrations (hash text primary key, applied_at integer not null) strict',
      )
      const applied = connection
        .prepare('select hash from svc_migrations')
        .pluck()
        .all() as string[]
      const note = connection.prepare('insert into svc_migrations (hash, applied_at) values (?, ?)')
      for (const migration of pending(migrationsOf('sqlite'), new Set(applied))) {
        for (const statement of migration.sql) connection.exec(statement)
        note.run(migration.hash, migration.folderMillis)
      }
    })
    .immediate()
}
