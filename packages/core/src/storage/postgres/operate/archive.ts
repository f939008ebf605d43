import type pg from 'pg'
import type { ArchiveDatabase } from '../../archive/database.ts'
import { refusal } from '../../archive/refusal.ts'
import { migrationsOf, statusOf } from '../../migrations.ts'
import { connect } from '../engine/connection.ts'
import { withoutData } from '../engine/failure.ts'
import { appliedIn, applyMigrations, MIGRATION_LOCK, migrate } from '../engine/migrate.ts'
import type { Ask } from '../engine/transaction.ts'
import { readerOn, writerOn } from './archive-rows.ts'

/** A server that ended a moment ago is still seen for as long as its sessions take to end. */
const GOING_MAX_MS = 2_000
const LOOK_EVERY_MS = 50

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** A PostgreSQL database as something to move. */
export function postgresArchive(url: string): ArchiveDatabase {
  return {
    engine: 'postgres',
    status: () =>
      onPool(url, (pool) =>
        onClient(pool, async (ask) =>
          statusOf(migrationsOf('postgres'), (await appliedIn(ask)) ?? new Set()),
        ),
      ),
    migrate: () => onPool(url, migrate),
    read: ({ alone }, work) =>
      onPool(url, (pool) =>
        onClient(pool, async (ask) => {
          if (alone) await keepServersOut(ask)
          return transaction(ask, 'isolation level repeatable read read only', () =>
            work(readerOn(ask)),
          )
        }),
      ),
    fill: (steps, work) =>
      onPool(url, (pool) =>
        onClient(pool, async (ask) => {
          await keepServersOut(ask)
          return transaction(ask, '', async () => {
            await applyMigrations(ask, steps)
            const applied = await appliedIn(ask)
            if (applied && applied.size > steps) {
              throw refusal('not_empty', 'the database is past the schema of the archive already')
            }
            const result = await work(writerOn(ask))
            await applyMigrations(ask)
            return result
          })
        }),
      ),
  }
}

async function onPool<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  // Called otherwise than a server's sessions, so that these can be told from them.
  const named = `${url}${url.includes('?') ? '&' : '?'}application_name=svc_move`
  const connections = await connect(named, { log: silent })
  try {
    return await work(connections.slow)
  } catch (error) {
    throw withoutData(error)
  } finally {
    await connections.end()
  }
}

/** Lends one session, which ends with `work` and with it the locks it has. */
async function onClient<T>(pool: pg.Pool, work: (ask: Ask) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    return await work((query, values) => client.query(query as string, values))
  } finally {
    client.release(true)
  }
}

async function transaction<T>(ask: Ask, kind: string, work: () => Promise<T>): Promise<T> {
  await ask(`begin ${kind}`)
  try {
    // A batch comes when the other end of a pipe has it, and a large database takes its time.
    await ask('set local idle_in_transaction_session_timeout = 0')
    await ask('set local statement_timeout = 0')
    await ask(`set local lock_timeout = '5s'`)
    const result = await work()
    await ask('commit')
    return result
  } catch (error) {
    // A session that is lost has rolled back by itself.
    await ask('rollback').catch(() => {})
    throw error
  }
}

/**
 * Makes sure that no server runs on the database, nor starts for as long as the session lasts: a server that starts
 * waits for this lock to look at the schema.
 */
async function keepServersOut(ask: Ask): Promise<void> {
  const { rows } = await ask('select pg_try_advisory_lock($1) as is_mine', [MIGRATION_LOCK])
  if (!rows[0]?.is_mine) {
    throw refusal('in_use', 'another svc process migrates or moves the database just now')
  }
  const until = Date.now() + GOING_MAX_MS
  while ((await othersOn(ask)) > 0) {
    if (Date.now() > until)
      throw refusal('in_use', 'a server, or another svc process, runs on the database')
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

async function othersOn(ask: Ask): Promise<number> {
  const { rows } = await ask(
    `select count(*)::int as others from pg_stat_activity
     where datname = current_database() and application_name = 'svc'`,
  )
  return rows[0]?.others
}
