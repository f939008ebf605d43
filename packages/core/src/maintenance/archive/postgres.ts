import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import {
  appliedIn,
  applyMigrations,
  countOlderSessions,
  MIGRATION_LOCK,
  migrate,
  rowsOf,
} from '../../storage/postgres/engine/migrate.ts'
import type { Run } from '../../storage/postgres/engine/transaction.ts'
import { refusal } from '../refusal.ts'
import { onPool, onSession } from '../snapshot/postgres-sessions.ts'
import type { ArchiveDatabase } from './database.ts'
import { readerOn, writerOn } from './postgres-rows.ts'

/** The sessions of a server that ended a moment ago are still visible for a while. */
const GOING_MAX_MS = 2_000
const LOOK_EVERY_MS = 50

const APPLICATION = 'svc_move'

/** A PostgreSQL database as the source or target of a move. */
export function postgresArchive(url: string): ArchiveDatabase {
  return {
    engine: 'postgres',
    status: () =>
      onSession(url, APPLICATION, async (run) =>
        statusOf(migrationsOf('postgres'), (await appliedIn(run)) ?? new Map()),
      ),
    load: (tables) =>
      onSession(url, APPLICATION, async (run) => {
        const rows = new Map<string, number>()
        for (const table of tables) rows.set(table, await rowsOf(run, table))
        return { rows, older_sessions: await countOlderSessions(run) }
      }),
    migrate: (options) => onPool(url, APPLICATION, (pool, other) => migrate(pool, other, options)),
    read: ({ alone }, work) =>
      onSession(
        url,
        APPLICATION,
        async (run) => {
          if (alone) await keepServersOut(run)
          return transaction(run, 'isolation level repeatable read read only', () =>
            work(readerOn(run)),
          )
        },
        { locks: alone },
      ),
    fill: (steps, work) =>
      onSession(
        url,
        APPLICATION,
        async (run) => {
          await keepServersOut(run)
          return transaction(run, '', async () => {
            await applyMigrations(run, steps)
            const applied = await appliedIn(run)
            if (applied && applied.size > steps) {
              throw refusal('not_empty', 'the database is past the schema of the archive already')
            }
            const result = await work(writerOn(run))
            await applyMigrations(run)
            return result
          })
        },
        { locks: true },
      ),
  }
}

async function transaction<T>(run: Run, kind: string, work: () => Promise<T>): Promise<T> {
  await run(`begin ${kind}`)
  try {
    // Batches arrive at the speed of the pipe, and a large database takes long.
    await run('set local idle_in_transaction_session_timeout = 0')
    await run('set local statement_timeout = 0')
    await run(`set local lock_timeout = '5s'`)
    const result = await work()
    await run('commit')
    return result
  } catch (error) {
    // A lost session has rolled back already.
    await run('rollback').catch(() => {})
    throw error
  }
}

/**
 * Ensures that no server runs on the database or starts during the session: a starting server waits for this lock
 * before it reads the schema.
 */
async function keepServersOut(run: Run): Promise<void> {
  const { rows } = await run('select pg_try_advisory_lock($1) as is_mine', [MIGRATION_LOCK])
  if (!rows[0]?.is_mine) {
    throw refusal('in_use', 'another svc process migrates or moves the database just now')
  }
  const until = Date.now() + GOING_MAX_MS
  while ((await othersOn(run)) > 0) {
    if (Date.now() > until)
      throw refusal('in_use', 'a server, or another svc process, runs on the database')
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

async function othersOn(run: Run): Promise<number> {
  const { rows } = await run(
    `select count(*)::int as others from pg_stat_activity
     where datname = current_database() and application_name ~ '^svc(/|$)'`,
  )
  return rows[0]?.others
}
