import { closeSync, existsSync, openSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { Sqlite } from './driver.ts'
import { flushLog } from './flush-log.ts'

export type Connection = Database.Database

const SYNCHRONOUS_FULL = 2

/** How long a statement waits for another process that writes, such as an operator's command. */
const BUSY_TIMEOUT_MS = 5_000

/** The log is written back when it has this many pages (32 MiB); the default writes each page back 8 times as often. */
const CHECKPOINT_PAGES = 8_000

/** What a log that has grown, as beside a backup, is cut to when it is begun anew. */
const LOG_KEPT_BYTES = 64 * 1024 * 1024

/**
 * Opens one connection in WAL mode that flushes every commit to disk. One that writes first brings to disk what it finds
 * in the log.
 * @throws Error when the durable setting does not hold: better-sqlite3 is compiled to fall back to NORMAL at the first
 *   statement in WAL mode, so the setting is made explicitly and checked after a statement has run.
 */
export function connect(file: string, { readonly = false } = {}): Connection {
  // Holds secrets and what messages say: for the owner alone. SQLite gives its side files the same mode. Only one that is
  // missing is opened here: closing it would give back the locks by which this process keeps others from its log.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const connection = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS })
  try {
    prepare(connection)
    if (readonly) connection.pragma('query_only = ON')
    else flushLog(connection, file)
  } catch (error) {
    connection.close()
    throw error
  }
  return connection
}

function prepare(connection: Connection): void {
  enterWal(connection)
  connection.pragma('synchronous = FULL')
  connection.pragma('cache_size = -65536')
  // What is erased is to be gone from the file, not only from the tables; the cost was too small to measure.
  connection.pragma('secure_delete = ON')
  connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  connection.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`)
  connection.prepare('select count(*) from sqlite_schema').get()
  assertDurable(connection)
}

/**
 * Changing a new file to WAL is refused at once, whatever the time-out, while another process does the same: two that
 * wait for each other would wait for ever. So it is asked again.
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
