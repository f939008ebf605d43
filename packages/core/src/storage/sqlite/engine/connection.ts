import { hash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import type Database from 'better-sqlite3'
import type { Durability } from '../../database-url.ts'
import { type AppliedStep, migrationsOf, pending } from '../../migrations.ts'

export type Connection = Database.Database

const SYNCHRONOUS_FULL = 2

/** How long a statement waits for another writing process, such as an operator's command. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Without reader threads, the commit that reaches this number of pages (8 MiB) writes the log back, and callers wait for it. While a backlog
 * drained, this took at most 8 ms of CPU, and 30 to 90 ms with 8,000 pages, with which an accept takes 4 % less CPU.
 */
const CHECKPOINT_PAGES = 2_000

/** The pages that a connection keeps in memory. */
export const CACHE_KIB = 65_536

/** A log that grew, for example during a backup, is cut to this size when it restarts. */
const LOG_KEPT_BYTES = 64 * 1024 * 1024

/**
 * Opens one connection in WAL mode that flushes every commit to disk, except with the durability `none`. A writing
 * connection first flushes the existing log.
 * @throws Error when the durable setting is not in effect: better-sqlite3 is compiled to fall back to NORMAL at the
 *   first statement in WAL mode, so the setting is made explicitly and checked after a statement has run.
 */
export function connect(
  file: string,
  { readonly = false, durability = 'disk' }: { readonly?: boolean; durability?: Durability } = {},
): Connection {
  // Only the owner may read the file, which contains secrets and message contents. SQLite gives its side files the same
  // mode. Only a missing file is opened here: closing an existing file would release this process's locks on its log.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const connection = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS })
  try {
    prepare(connection, durability)
    if (readonly) connection.pragma('query_only = ON')
  } catch (error) {
    connection.close()
    throw error
  }
  if (readonly || durability !== 'disk') return connection
  try {
    flushLog(connection, file)
  } catch (error) {
    // Closing makes a checkpoint, and a power cut in it would mix pages (see `flushLog`). The collection of garbage closes too.
    unflushed.push(connection)
    throw error
  }
  return connection
}

/** The connections whose log was not flushed stay open until the process ends. */
const unflushed: Connection[] = []

function prepare(connection: Connection, durability: Durability): void {
  enterWal(connection)
  connection.pragma(`synchronous = ${durability === 'disk' ? 'FULL' : 'OFF'}`)
  connection.pragma(`cache_size = -${CACHE_KIB}`)
  // Erased data must disappear from the file too, not only from the tables; the cost was too small to measure.
  connection.pragma('secure_delete = ON')
  connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  connection.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`)
  connection.function('bucket_of', { deterministic: true }, (text) =>
    Number.parseInt(hash('sha256', `${text}`, 'hex').slice(0, 4), 16),
  )
  connection.prepare('select count(*) from sqlite_schema').get()
  if (durability === 'disk') assertDurable(connection)
}

/**
 * While another process changes a new file to WAL, SQLite refuses the same change at once, because both processes would
 * wait for ever. So the change is tried again.
 */
function enterWal(connection: Connection): void {
  const until = Date.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      connection.pragma('journal_mode = WAL')
      return
    } catch (error) {
      const busy = (error as { code?: unknown }).code === 'SQLITE_BUSY'
      if (!busy || Date.now() > until) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

/** @throws Error unless a commit on this connection is on disk when it returns. */
export function assertDurable(connection: Connection): void {
  const synchronous = connection.pragma('synchronous', { simple: true })
  const journal = connection.pragma('journal_mode', { simple: true })
  if (synchronous !== SYNCHRONOUS_FULL || journal !== 'wal') {
    throw new Error(
      `SQLite would not flush commits to disk (synchronous=${synchronous}, journal_mode=${journal})`,
    )
  }
}

/**
 * better-sqlite3 13 needs Node-API 10. Node 20 has version 9 and crashes with a segmentation fault at the first
 * connection (WiseLibs/better-sqlite3#1514), so it uses version 12.
 *
 * Version 12 must not be used on later versions of Node: compiled with the headers of Node 24.19 or newer, it aborts
 * the process when a memory allocation of JavaScript code starts the garbage collection that finalizes a statement
 * (nodejs/node#65446).
 */
const NODE_API_NEEDED = 10

/** The package for this version of Node. */
export const DRIVER = driverFor(process.versions.napi)

export const Sqlite: typeof Database = loadDriver(DRIVER, createRequire(import.meta.url))

export function driverFor(node_api: string | undefined): 'better-sqlite3' | 'better-sqlite3-12' {
  return Number(node_api) < NODE_API_NEEDED ? 'better-sqlite3-12' : 'better-sqlite3'
}

/** @throws Error that names the package to install, if version 12 is needed and missing. */
export function loadDriver(
  name: ReturnType<typeof driverFor>,
  require: (name: string) => unknown,
): typeof Database {
  try {
    return require(name) as typeof Database
  } catch (error) {
    const isMissing = (error as { code?: unknown }).code === 'MODULE_NOT_FOUND'
    if (!isMissing || name === 'better-sqlite3') throw error
    throw new Error(
      `SQLite on Node 20 needs one more package: npm install ${name}@npm:better-sqlite3@12. Later versions of Node need nothing more.`,
      { cause: error },
    )
  }
}

const CHUNK_BYTES = 1024 * 1024

/**
 * Flushes the existing log to disk when a database is opened for writing.
 *
 * After a flush that failed, Linux keeps the pages in memory and marks them as written: the next process reads them,
 * and its own flushes skip them (source: wiki.postgresql.org/wiki/Fsync_Errors). Commits that are appended to such a
 * log are lost in a power cut, because recovery ends at the first missing frame. After the same bytes are written
 * again, the next flush writes them or reports an error. A checkpoint is not sufficient: it writes newer pages into the
 * database file while the log on disk still ends with older pages, and a power cut at that time mixes both.
 * @throws Error when the disk refuses the write, or when another process writes for longer than the connection waits.
 */
export function flushLog(connection: Database.Database, file: string): void {
  const log = `${realpathSync(file)}-wal`
  if (!statSync(log, { throwIfNoEntry: false })?.size) return
  // Blocks every process that would append to the log or restart it.
  connection.exec('begin immediate')
  try {
    writeAgain(log)
  } finally {
    connection.exec('rollback')
  }
}

function writeAgain(file: string): void {
  const handle = openSync(file, 'r+')
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    for (let at = 0; ; ) {
      const length = readSync(handle, chunk, 0, chunk.length, at)
      if (length === 0) break
      for (let done = 0; done < length; ) {
        done += writeSync(handle, chunk, done, length - done, at + done)
      }
      at += length
    }
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Locks a small file and creates it if it is missing. The lock ends when it is closed. When the process ends in any
 * way, the operating system ends the lock.
 * @throws Error with the code `SQLITE_BUSY` when another process has the lock.
 */
export function takeFileLock(path: string): Connection {
  const lock = new Sqlite(path, { timeout: 0 })
  try {
    lock.pragma('locking_mode = EXCLUSIVE')
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Takes the right to dispatch on a database file: an exclusive lock on a small file beside it, until the lock is closed
 * or the process ends.
 * @throws Error when another process has the lock.
 */
export function takeDispatchLock(file: string): Connection {
  try {
    return takeFileLock(`${file}-dispatch`)
  } catch (cause) {
    throw new Error(`another svc process already serves ${file}`, { cause })
  }
}

/**
 * Brings the database to the program's schema, or to the first `count` of its steps: one transaction under the write
 * lock, so that two starting processes cannot race. Returns the names of the steps that ran.
 * @throws Error when the database was made by a newer version.
 */
export function migrate(connection: Connection, count?: number): string[] {
  const apply = connection.transaction(() => {
    const all = migrationsOf('sqlite')
    const wanted = new Set(all.slice(0, count))
    const missing = pending(all, appliedIn(connection)).filter((each) => wanted.has(each))
    if (missing.length === 0) return []
    prepareTable(connection)
    const note = connection.prepare(
      'insert into svc_migrations (hash, applied_at, name, is_compatible) values (?, ?, ?, ?)',
    )
    for (const { sql, hash, folderMillis, name, is_compatible } of missing) {
      for (const statement of sql) connection.exec(statement)
      note.run(hash, folderMillis, name, Number(is_compatible))
    }
    return missing.map(({ name }) => name)
  })
  return apply.immediate()
}

/**
 * As `migrate`, for a file on which a server may run.
 * @throws Error also when a step is missing that a running server would not survive.
 */
export function migrateFile(connection: Connection, file: string): void {
  const applied = appliedIn(connection)
  const missing = pending(migrationsOf('sqlite'), applied)
  const breaking = missing.find(({ is_compatible }) => !is_compatible)
  const lock = applied.size > 0 && breaking ? takeLockFor(breaking.name, file) : null
  try {
    migrate(connection)
  } finally {
    lock?.close()
  }
}

function takeLockFor(step: string, file: string): Connection {
  try {
    return takeDispatchLock(file)
  } catch (error) {
    const { message, cause } = error as Error
    throw new Error(`${message}, and would not survive ${step}: stop it first`, { cause })
  }
}

function prepareTable(connection: Connection): void {
  connection.exec(
    'create table if not exists svc_migrations (hash text primary key, applied_at integer not null) strict',
  )
  if (migrationColumns(connection).has('name')) return
  connection.exec('alter table svc_migrations add column name text')
  connection.exec('alter table svc_migrations add column is_compatible integer not null default 0')
}

function migrationColumns(connection: Connection): Set<string> {
  const names = connection.prepare("select name from pragma_table_info('svc_migrations')")
  return new Set(names.pluck().all() as string[])
}

/** The steps of a database; none for a new database. */
export function appliedIn(connection: Connection): Map<string, AppliedStep> {
  const columns = migrationColumns(connection)
  if (columns.size === 0) return new Map()
  const rows = connection
    .prepare(
      columns.has('name')
        ? 'select hash, name, is_compatible from svc_migrations'
        : 'select hash, null as name, 0 as is_compatible from svc_migrations',
    )
    .all() as { hash: string; name: string | null; is_compatible: number }[]
  return new Map(
    rows.map((row) => [
      row.hash,
      { ...row, is_compatible: row.is_compatible === 1, indexes_missing: [] },
    ]),
  )
}
