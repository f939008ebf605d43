import { closeSync, existsSync, openSync } from 'node:fs'
import type Database from 'better-sqlite3'
import type { Durability } from '../../database-url.ts'
import { Sqlite } from './driver.ts'
import { flushLog } from './flush-log.ts'

export type Connection = Database.Database

const SYNCHRONOUS_FULL = 2

/** How long a statement waits for another writing process, such as an operator's command. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * The commit that reaches this number of pages (8 MiB) writes the log back, and callers wait for it. While a backlog
 * drained, this took at most 8 ms of CPU, and 30 to 90 ms with 8,000 pages, with which an accept takes 4 % less CPU.
 */
const CHECKPOINT_PAGES = 2_000

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
    else if (durability === 'disk') flushLog(connection, file)
  } catch (error) {
    connection.close()
    throw error
  }
  return connection
}

function prepare(connection: Connection, durability: Durability): void {
  enterWal(connection)
  connection.pragma(`synchronous = ${durability === 'disk' ? 'FULL' : 'OFF'}`)
  connection.pragma('cache_size = -65536')
  // Erased data must disappear from the file too, not only from the tables; the cost was too small to measure.
  connection.pragma('secure_delete = ON')
  connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  connection.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`)
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
