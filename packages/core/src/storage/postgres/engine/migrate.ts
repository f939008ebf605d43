import type pg from 'pg'
import type { Log } from '../../../runtime/runtime.ts'
import { changesOf, indexOf, ONLINE_FROM_ROWS } from '../../migration-changes.ts'
import {
  type AppliedStep,
  type AppliedSteps,
  type Migration,
  migrationsOf,
  pending,
} from '../../migrations.ts'
import { isContention, textOf } from './failure.ts'
import { eachAlone, type Pool, type Run, transact } from './transaction.ts'

/** The tries last ten minutes, because a table to change may be in use. */
const TRIES_MAX = 120
const PAUSE_MS = 3_000

/** An arbitrary number, the same in every version: all starting servers must take the same lock. */
export const MIGRATION_LOCK = 7_376_200_001

/** How often a server looks whether the lock is free: at first, and at most. */
const LOCK_PAUSE = { base_ms: 20, cap_ms: 500 }

/** The sessions of a server that ended a moment ago are still visible for a while. */
const GOING_MAX_MS = 2_000
const LOOK_EVERY_MS = 50

const PROGRESS_EVERY_MS = 10_000

/**
 * Another session of an older version on the same database. The number in the name of a session is the number of steps
 * that its program knows; the first versions had none.
 */
const OLDER_SESSIONS = `select count(*)::int as sessions from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and (application_name = 'svc'
    or substring(application_name from '^svc/([0-9]{1,6})$')::int < $1)`

/** The options of a migration. */
export interface MigrateOptions {
  /** Receives what runs, in texts for operators. */
  log?: Pick<Log, 'info' | 'warn'> | undefined
  /** Runs steps that older servers do not survive even while such servers are connected. */
  force?: boolean | undefined
  /** The rows of a table from which an index is made while servers write to it; default: 50,000. */
  online_from_rows?: number | undefined
}

/**
 * Brings the database to the program's schema under an advisory lock, so that servers that start together migrate only
 * once. A new database gets all steps in one transaction. Otherwise each step is a transaction, and indexes of large
 * tables are made after it while servers go on; a killed migration continues with the next call. Returns the names of
 * the steps that ran. `watching` reads the progress.
 * @throws Error when the database was made by a newer version, and with the code `older_servers` while servers run that
 *   would not survive a step.
 */
export async function migrate(
  pool: Pool,
  watching: Pool,
  options: MigrateOptions = {},
): Promise<string[]> {
  const ran: string[] = []
  for (let tries = 1; ; tries++) {
    try {
      if (pool.begin) await inOneTransaction(pool, ran, options)
      else await inOneSession(pool, watching, ran, options)
      return ran
    } catch (error) {
      if (!isContention(error) || tries === TRIES_MAX) throw error
      options.log?.info(
        { reason: textOf(error) },
        'a table is in use; the migration is tried again',
      )
      await pause(PAUSE_MS)
    }
  }
}

/** Behind a pooler of transactions, a lock ends with its transaction, and no statement can run outside of one. */
async function inOneTransaction(pool: Pool, ran: string[], options: MigrateOptions) {
  const names = await transact(pool, eachAlone, async (run) => {
    // The server that migrates may take longer than the usual lock timeout.
    await run('set local lock_timeout = 0')
    await run('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    await run(LOCK_TIMEOUT)
    const applied = (await appliedIn(run)) ?? new Map()
    await assertAlone(run, applied, pending(migrationsOf('postgres'), applied), options)
    const names = await applyMigrations(run)
    for (const migration of migrationsOf('postgres')) {
      const left = applied.get(migration.hash)?.indexes_missing ?? []
      if (left.length > 0) await makeIndexes(run, migration, left)
    }
    return names
  })
  ran.push(...names)
}

/** A wait for the lock of a table in use, for example by a backup, blocks all later statements on it. */
export const LOCK_TIMEOUT = `set local lock_timeout = '2s'`

async function inOneSession(
  pool: Pool,
  watching: Pool,
  ran: string[],
  options: MigrateOptions,
): Promise<void> {
  const client = await pool.connect()
  const run: Run = (query, values) => client.query(query as string, values)
  let fault: Error | undefined
  try {
    await takeLock(run, options)
    try {
      // An index of a large table takes longer than any usual limit.
      await run('set statement_timeout = 0')
      await run('set lock_timeout = 0')
      await applyInSteps(run, watching, ran, options)
    } finally {
      await run('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
    }
  } catch (error) {
    // Its settings and locks end with the session.
    fault = error as Error
    throw error
  } finally {
    client.release(fault)
  }
}

/**
 * Asks for the lock again and again. A session that waits in the database would hold a snapshot, and the index of a
 * large table is made only when all older snapshots have ended.
 */
async function takeLock(run: Run, { log }: MigrateOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { rows } = await run('select pg_try_advisory_lock($1) as is_mine', [MIGRATION_LOCK])
    if (rows[0]?.is_mine) return
    const wait_ms = Math.min(LOCK_PAUSE.cap_ms, LOCK_PAUSE.base_ms * tries)
    if (tries % 60 === 0) log?.info({}, 'waits for another process that migrates the database')
    await pause(wait_ms)
  }
}

async function applyInSteps(
  run: Run,
  watching: Pool,
  ran: string[],
  options: MigrateOptions,
): Promise<void> {
  const all = migrationsOf('postgres')
  const applied = (await appliedIn(run)) ?? new Map<string, AppliedStep>()
  const missing = pending(all, applied)
  if (applied.size === 0) {
    ran.push(...(await within(run, () => applyMigrations(run))))
    return
  }
  await assertAlone(run, applied, missing, options)
  if (missing.length > 0) await within(run, () => prepareTable(run))
  for (const migration of missing) {
    options.log?.info({}, `applies ${migration.name}: ${migration.does}`)
    const online = await onlineIndexes(run, migration, options)
    await within(run, async () => {
      for (const [i, text] of migration.sql.entries()) {
        if (!online.includes(i)) await run(text)
      }
      await note(run, migration, online)
    })
    ran.push(migration.name)
    await buildIndexes(run, watching, migration, online, options)
  }
  // A process that was killed left these.
  for (const migration of all) {
    const left = applied.get(migration.hash)?.indexes_missing ?? []
    await buildIndexes(run, watching, migration, left, options)
  }
}

async function within<T>(run: Run, work: () => Promise<T>): Promise<T> {
  await run('begin')
  try {
    await run(LOCK_TIMEOUT)
    const result = await work()
    await run('commit')
    return result
  } catch (error) {
    // A lost session has rolled back already.
    await run('rollback').catch(() => {})
    throw error
  }
}

/** @throws Error `older_servers` while servers run that would not survive a missing step. */
async function assertAlone(
  run: Run,
  applied: AppliedSteps,
  missing: readonly Migration[],
  { log, force = false }: MigrateOptions,
): Promise<void> {
  const breaking = missing.find(({ is_compatible }) => !is_compatible)
  if (applied.size === 0 || !breaking) return
  const until = Date.now() + GOING_MAX_MS
  let sessions = await countOlderSessions(run)
  while (sessions > 0 && !force && Date.now() < until) {
    await pause(LOOK_EVERY_MS)
    sessions = await countOlderSessions(run)
  }
  const what = `${breaking.name} (${breaking.does}) needs that all servers of older versions are stopped`
  if (sessions === 0) {
    log?.info({}, `${what}: none is connected`)
    return
  }
  const found = `${sessions} of their sessions ${sessions === 1 ? 'is' : 'are'} connected`
  if (!force)
    throw Object.assign(new Error(`${what}: ${found}. ${ADVICE}`), { code: 'older_servers' })
  log?.warn({ sessions }, `${what}; it runs although ${found}`)
}

const ADVICE = 'Stop them and try again, or do not wait for them: svc migrate --force'

/** The number of sessions of older versions on the database. */
export async function countOlderSessions(run: Run): Promise<number> {
  const { rows } = await run(OLDER_SESSIONS, [migrationsOf('postgres').length])
  return rows[0]?.sessions
}

/** The numbers of the statements that create an index of a table that is large. */
async function onlineIndexes(
  run: Run,
  { sql }: Migration,
  { online_from_rows = ONLINE_FROM_ROWS }: MigrateOptions,
): Promise<number[]> {
  const online: number[] = []
  for (const [i, text] of sql.entries()) {
    const index = indexOf(text)
    if (!index) continue
    // A table of the same step is new.
    const isNew = changesOf(sql.slice(0, i + 1)).at(-1)?.work === 'none'
    if (!isNew && (await rowsOf(run, index.table)) >= online_from_rows) online.push(i)
  }
  return online
}

/** The number of rows as the server last estimated it, of all partitions; it counts a table that was never analysed by its size. */
export async function rowsOf(run: Run, table: string): Promise<number> {
  const { rows } = await run(
    `select sum(case when reltuples >= 0 then reltuples else pg_relation_size(oid) / 200 end)::float8 as count
     from pg_class where relkind = 'r' and (oid = to_regclass($1)
       or oid in (select inhrelid from pg_inherits where inhparent = to_regclass($1)))`,
    [table],
  )
  return Math.round(rows[0]?.count ?? 0)
}

/** Makes the indexes of these statements while servers go on, and notes that they are complete. */
async function buildIndexes(
  run: Run,
  watching: Pool,
  { name, sql, hash }: Migration,
  numbers: readonly number[],
  { log }: MigrateOptions,
): Promise<void> {
  if (numbers.length === 0) return
  for (const number of numbers) {
    const text = sql[number] ?? ''
    const index = indexOf(text)
    if (!index) continue
    const { rows } = await run(IS_PARTITIONED, [index.table])
    const build = rows[0]?.is_partitioned ? buildInParts : buildIndex
    await build(run, watching, text, index, log)
  }
  await run(NO_INDEX_MISSING, [hash])
  log?.info({}, `${name} is complete`)
}

/** Makes indexes that a stopped migration left, in the transaction of the caller. */
async function makeIndexes(run: Run, { sql, hash }: Migration, numbers: readonly number[]) {
  for (const number of numbers) {
    const text = sql[number] ?? ''
    await run(`drop index if exists "${indexOf(text)?.name}"`)
    await run(text)
  }
  await run(NO_INDEX_MISSING, [hash])
}

const NO_INDEX_MISSING = 'update svc_migrations set indexes_missing = null where hash = $1'

const IS_PARTITIONED = `select relkind = 'p' as is_partitioned from pg_class where oid = to_regclass($1)`

/** The partitions that have no valid part of an index yet. */
const PARTS_WITHOUT = `select c.relname as part from pg_inherits p join pg_class c on c.oid = p.inhrelid
  where p.inhparent = to_regclass($1) and not exists (
    select from pg_inherits x join pg_index i on i.indexrelid = x.inhrelid
    where x.inhparent = to_regclass($2) and i.indrelid = c.oid)
  order by c.relname`

/**
 * Makes the index of a partitioned table, where PostgreSQL has no `concurrently`: an index of the parent alone, that of each partition
 * while servers write to it, and then the first one consists of the others. It is valid with the last of them.
 */
async function buildInParts(
  run: Run,
  watching: Pool,
  text: string,
  { name, table }: { name: string; table: string },
  log: MigrateOptions['log'],
): Promise<void> {
  const on = (own: string, target: string) => text.replace(ON_TABLE, `$1 "${own}" ON ${target}`)
  const { rows: made } = await run('select to_regclass($1) is not null as is_there', [name])
  if (!made[0]?.is_there) await within(run, () => run(on(name, `ONLY "${table}"`)))
  const { rows: parts } = await run(PARTS_WITHOUT, [table, name])
  for (const { part } of parts) {
    const own = `${part}_${name.startsWith(`${table}_`) ? name.slice(table.length + 1) : name}`
    await buildIndex(run, watching, on(own, `"${part}"`), { name: own, table: part }, log)
    await within(run, () => run(`alter index "${name}" attach partition "${own}"`))
  }
}

const ON_TABLE = /\b(create (?:unique )?index) (?:if not exists )?"?\w+"? on (?:only )?"?\w+"?/i

async function buildIndex(
  run: Run,
  watching: Pool,
  text: string,
  { name, table }: { name: string; table: string },
  log: MigrateOptions['log'],
): Promise<void> {
  const { rows } = await run(
    'select indisvalid as is_valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  if (rows[0]?.is_valid) return
  if (rows[0]) {
    log?.info({}, `removes the index ${name}, which a stopped migration left incomplete`)
    await run(`drop index concurrently "${name}"`)
  }
  log?.info({}, `makes the index ${name} of ${table}, about ${await rowsOf(run, table)} rows`)
  const watch = setInterval(() => void report(watching, name, table, log), PROGRESS_EVERY_MS)
  try {
    await run(text.replace(/\b(create (?:unique )?index)\b/i, '$1 CONCURRENTLY'))
  } finally {
    clearInterval(watch)
  }
}

async function report(pool: Pool, name: string, table: string, log: MigrateOptions['log']) {
  const progress = await pool
    .query(
      `select phase, blocks_done, blocks_total from pg_stat_progress_create_index
       where datname = current_database() and relid = to_regclass($1)`,
      [table],
    )
    // Only the progress is lost.
    .catch((): Pick<pg.QueryResult, 'rows'> => ({ rows: [] }))
  const [at] = progress.rows
  if (!at) return
  const share =
    at.blocks_total > 0 ? `, ${Math.floor((100 * at.blocks_done) / at.blocks_total)} %` : ''
  log?.info({}, `index ${name}: ${at.phase}${share}`)
}

/**
 * Applies the missing steps of the program, or of its first `count` steps, in the transaction of the caller. The caller
 * has the lock.
 */
export async function applyMigrations(run: Run, count?: number): Promise<string[]> {
  const applied = await appliedIn(run)
  const all = migrationsOf('postgres')
  const wanted = new Set(all.slice(0, count))
  const missing = pending(all, applied ?? new Map()).filter((each) => wanted.has(each))
  if (missing.length > 0 || !applied) await prepareTable(run)
  for (const migration of missing) {
    for (const text of migration.sql) await run(text)
    await note(run, migration, [])
  }
  return missing.map(({ name }) => name)
}

/** The table changes only with a step. So a role without the right to change tables is enough when no step is missing. */
async function prepareTable(run: Run): Promise<void> {
  await run(
    'create table if not exists svc_migrations (hash text primary key, applied_at bigint not null)',
  )
  await run(
    `alter table svc_migrations add column if not exists name text,
       add column if not exists is_compatible boolean not null default false,
       add column if not exists indexes_missing json`,
  )
}

async function note(run: Run, migration: Migration, online: readonly number[]): Promise<void> {
  const { hash, folderMillis, name, is_compatible } = migration
  await run(
    `insert into svc_migrations (hash, applied_at, name, is_compatible, indexes_missing)
     values ($1, $2, $3, $4, $5)`,
    [hash, folderMillis, name, is_compatible, online.length > 0 ? JSON.stringify(online) : null],
  )
}

/** The steps of a database; null for a new database. */
export async function appliedIn(run: Run): Promise<Map<string, AppliedStep> | null> {
  const known = await run("select to_regclass('svc_migrations') is not null as is_there")
  if (!known.rows[0]?.is_there) return null
  // As JSON, because older versions made the table with fewer columns.
  const { rows } = await run('select to_json(m)::text as step from svc_migrations m')
  const steps = rows.map(({ step }): AppliedStep => {
    const { hash, name, is_compatible, indexes_missing } = JSON.parse(step)
    return {
      hash,
      name: name ?? null,
      is_compatible: is_compatible ?? false,
      indexes_missing: indexes_missing ?? [],
    }
  })
  return new Map(steps.map((step) => [step.hash, step]))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
