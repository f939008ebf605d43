import type pg from 'pg'
import { migrationsOf, pending } from '../../migrations.ts'
import { isContention } from './failure.ts'
import { type Ask, transact } from './transaction.ts'

/** For ten minutes a table may be in use that has to be changed. */
const TRIES_MAX = 120
const PAUSE_MS = 3_000

/** Any number, the same in every version: two starters must ask for the same lock. */
export const MIGRATION_LOCK = 7_376_200_001

/**
 * Brings the database to the program's schema: one transaction under an advisory lock, so that servers which start
 * together do it once. Answers the names of the steps that ran.
 * @throws Error when the database was made by a newer version.
 */
export async function migrate(pool: pg.Pool): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await migrateOnce(pool)
    } catch (error) {
      if (!isContention(error) || tries === TRIES_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

function migrateOnce(pool: pg.Pool): Promise<string[]> {
  return transact(pool, async (ask) => {
    // Whoever is first may take longer than a lock is usually waited for.
    await ask('set local lock_timeout = 0')
    await ask('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    // Who waits for a table that is being read, by a backup perhaps, holds up all who come after: rather let go again.
    await ask(`set local lock_timeout = '2s'`)
    return applyMigrations(ask)
  })
}

/** Applies what is missing of the program's steps, or of the first `count`, in the transaction of whoever has the lock. */
export async function applyMigrations(ask: Ask, count?: number): Promise<string[]> {
  const applied = await appliedIn(ask)
  // Made only where it is missing: where everything is in place, a role that may not create tables is enough.
  if (!applied) {
    await ask('create table svc_migrations (hash text primary key, applied_at bigint not null)')
  }
  const all = migrationsOf('postgres')
  const wanted = new Set(all.slice(0, count))
  const missing = pending(all, applied ?? new Set()).filter((each) => wanted.has(each))
  for (const { hash, sql, folderMillis } of missing) {
    for (const text of sql) await ask(text)
    await ask('insert into svc_migrations (hash, applied_at) values ($1, $2)', [hash, folderMillis])
  }
  return missing.map(({ name }) => name)
}

/** The hashes of the steps that a database has; null where it is new. */
export async function appliedIn(ask: Ask): Promise<Set<string> | null> {
  const known = await ask("select to_regclass('svc_migrations') is not null as is_there")
  if (!known.rows[0]?.is_there) return null
  const { rows } = await ask('select hash from svc_migrations')
  return new Set<string>(rows.map(({ hash }) => hash))
}
