import { migrationsOf, pending } from '../../migrations.ts'
import { isContention } from './failure.ts'
import { eachAlone, type Pool, type Run, transact } from './transaction.ts'

/** The tries last ten minutes, because a table to change may be in use. */
const TRIES_MAX = 120
const PAUSE_MS = 3_000

/** An arbitrary number, the same in every version: all starting servers must take the same lock. */
export const MIGRATION_LOCK = 7_376_200_001

/**
 * Brings the database to the program's schema: one transaction under an advisory lock, so that servers that start
 * together migrate only once. Returns the names of the steps that ran.
 * @throws Error when the database was made by a newer version.
 */
export async function migrate(pool: Pool): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await migrateOnce(pool)
    } catch (error) {
      if (!isContention(error) || tries === TRIES_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

function migrateOnce(pool: Pool): Promise<string[]> {
  return transact(pool, eachAlone, async (run) => {
    // The server that migrates may take longer than the usual lock timeout.
    await run('set local lock_timeout = 0')
    await run('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    // A wait for the lock of a table in use, for example by a backup, blocks all later statements on it. A short
    // timeout limits this wait.
    await run(`set local lock_timeout = '2s'`)
    return applyMigrations(run)
  })
}

/**
 * Applies the missing steps of the program, or of its first `count` steps, in the transaction of the caller. The caller
 * has the lock.
 */
export async function applyMigrations(run: Run, count?: number): Promise<string[]> {
  const applied = await appliedIn(run)
  // The table is created only if it is missing. With the table, a role without the right to create tables is enough.
  if (!applied) {
    await run('create table svc_migrations (hash text primary key, applied_at bigint not null)')
  }
  const all = migrationsOf('postgres')
  const wanted = new Set(all.slice(0, count))
  const missing = pending(all, applied ?? new Set()).filter((each) => wanted.has(each))
  for (const { hash, sql, folderMillis } of missing) {
    for (const text of sql) await run(text)
    await run('insert into svc_migrations (hash, applied_at) values ($1, $2)', [hash, folderMillis])
  }
  return missing.map(({ name }) => name)
}

/** The hashes of the steps of a database; null for a new database. */
export async function appliedIn(run: Run): Promise<Set<string> | null> {
  const known = await run("select to_regclass('svc_migrations') is not null as is_there")
  if (!known.rows[0]?.is_there) return null
  const { rows } = await run('select hash from svc_migrations')
  return new Set<string>(rows.map(({ hash }) => hash))
}
