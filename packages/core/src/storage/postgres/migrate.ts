import type pg from 'pg'
import { migrationsOf, pending } from '../migrations.ts'
import { type Ask, transact } from './transaction.ts'

/** Any number, the same in every version: two starters must ask for the same lock. */
const MIGRATION_LOCK = 7_376_200_001

/**
 * Brings the database to the program's schema: one transaction under an advisory lock, so that servers which start
 * together do it once.
 * @throws Error when the database was made by a newer version.
 */
export function migrate(pool: pg.Pool): Promise<void> {
  return transact(pool, async (ask) => {
    // Whoever is first may take longer than a lock is usually waited for.
    await ask('set local lock_timeout = 0')
    await ask('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    await apply(ask)
  })
}

async function apply(ask: Ask): Promise<void> {
  const known = await ask("select to_regclass('svc_migrations') is not null as is_there")
  // Made only where it is missing: where everything is in place, a role that may not create tables is enough.
  if (!known.rows[0]?.is_there) {
    await ask('create table svc_migrations (hash text primary key, applied_at bigint not null)')
  }
  const { rows } = await ask('select hash from svc_migrations')
  const applied = new Set<string>(rows.map(({ hash }) => hash))
  for (const { hash, sql, folderMillis } of pending(migrationsOf('postgres'), applied)) {
    for (const text of sql) await ask(text)
    await ask('insert into svc_migrations (hash, applied_at) values ($1, $2)', [hash, folderMillis])
  }
}
