import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../../runtime/make-folder.ts'
import {
  type Connection,
  flushLog,
  migrate,
  Sqlite,
  takeDispatchLock,
} from '../../storage/sqlite/engine/connection.ts'

import { verifyLedger } from '../ledger/verify-ledger.ts'
import { refusal } from '../refusal.ts'
import { pauseIn } from './backup-seal.ts'
import { type CheckOptions, checkBackup } from './check-backup.ts'
import { explainFullDisk, flushToDisk, shareOwner } from './make-backup.ts'
import type { BackupCheck } from './report.ts'

/** What is restored, and where to. */
export interface RestoreOptions extends CheckOptions {
  backup: string
  /** The file of the database. An existing database is kept in the same folder. */
  database: string
  /** Accepts a copy without a mark, although no checksum proves its bytes. */
  unsealed?: boolean | undefined
  now?: (() => Date) | undefined
}

/** The result of a restore. */
export interface RestoreReport extends BackupCheck {
  database: string
  restored_at: Date
  /** The new place of the previous database; null if there was none. */
  kept: string | null
  migrated: string[]
}

/** The files that SQLite keeps beside a database: they belong to that database, and would damage another database. */
const SIDES = ['-wal', '-shm', '-journal']

/**
 * Replaces a database by a backup, which is copied, verified, brought to the program's schema and marked. A server that
 * starts on it sends nothing until an operator resumes it. After any failure or crash, either the complete previous
 * database or the complete restored database is in place.
 * @throws Error in one line, with a `code`: the codes of `checkBackup`; `in_use` while a server runs on the database;
 *   `unsealed` for a copy without a mark.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { backup, database, now = () => new Date() } = options
  const check = await checkBackup(backup, { ...options, verify: 'none' })
  if (check.as_of_from === 'rows' && !options.unsealed) {
    throw refusal('unsealed', `${backup} was not made by svc backup, and bears no checksum`)
  }
  if (existsSync(database) && realpathSync(database) === realpathSync(backup)) {
    throw refusal('exists', `${backup} is the database itself`)
  }
  makeFolder(dirname(database))
  const lock = takeLock(database)
  // If the name is a link, the target of the link is replaced, on the target's disk.
  const place = existsSync(database) ? realpathSync(database) : database
  const copy = `${place}.restoring`
  try {
    shareOwner(existsSync(place) ? place : dirname(place), `${database}-dispatch`)
    removeAll(copy)
    await copyFile(backup, copy, constants.COPYFILE_EXCL)
    options.signal?.throwIfAborted()
    chmodSync(copy, 0o600)
    shareOwner(`${database}-dispatch`, copy)
    const verified = await checkBackup(copy, options)
    const restored_at = now()
    const migrated = await prepare(copy, { as_of: check.as_of, at: restored_at }, options)
    const kept = replace(place, copy, restored_at)
    return { ...verified, file: backup, database, restored_at, kept, migrated }
  } catch (error) {
    throw explainFullDisk(error, dirname(place))
  } finally {
    removeAll(copy)
    lock.close()
  }
}

/** Prepares the copy for a server. */
async function prepare(
  copy: string,
  pause: { as_of: Date; at: Date },
  { verify, signal, onProgress }: CheckOptions,
): Promise<string[]> {
  const connection = new Sqlite(copy)
  let migrated: string[]
  try {
    connection.pragma('synchronous = FULL')
    connection.pragma('journal_mode = DELETE')
    migrated = migrate(connection)
    connection.transaction(() => {
      pauseIn(connection, pause)
      connection.exec('drop table if exists svc_backup')
    })()
  } finally {
    connection.close()
  }
  if (migrated.length > 0 && verify !== 'none') {
    const fast = verify === 'fast'
    const report = await verifyLedger(`file:${copy}`, { fast, signal, onProgress })
    if (!report.ok) throw refusal('damaged', 'the books of the backup do not add up')
  }
  flushToDisk(copy, 'r+')
  return migrated
}

/**
 * The database changes in one moment, by a rename. Before the rename, all commits are written into the previous file,
 * which gets a second name. No other process can use this file until the rename is done, so that no process leaves a
 * log under the name of the restored database.
 */
function replace(database: string, copy: string, at: Date): string | null {
  const kept = `${database}.before-${at.toISOString().replace(/[:.]/g, '-')}`
  if (!existsSync(database)) {
    putWhereNoneIs(database, copy, kept)
    return null
  }
  const held = holdWhole(database, kept)
  try {
    linkSync(database, kept)
    if (!held) for (const side of sidesOf(database)) rmSync(`${database}${side}`)
    flushToDisk(dirname(database))
    renameSync(copy, database)
    flushToDisk(dirname(database))
  } finally {
    held?.close()
  }
  return kept
}

/** Creates a link, because a rename would replace a file that a server has just made. */
function putWhereNoneIs(database: string, copy: string, kept: string): void {
  // A log without its database may contain the only remaining data.
  for (const side of sidesOf(database)) renameSync(`${database}${side}`, `${kept}${side}`)
  try {
    linkSync(copy, database)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    throw refusal('in_use', `another program has made ${database} just now`, error)
  }
  flushToDisk(dirname(database))
}

/** The database, locked for this process; null if it cannot be read. Its log is then copied and kept with it. */
function holdWhole(database: string, kept: string): Connection | null {
  // Opening an unreadable database may remove its log, which may contain the only remaining data.
  const sides = sidesOf(database)
  for (const side of sides) copyFileSync(`${database}${side}`, `${kept}${side}`)
  let isWhole = true
  try {
    const held = holdAlone(database)
    isWhole = held !== null
    return held
  } finally {
    if (isWhole) for (const side of sides) rmSync(`${kept}${side}`)
  }
}

/**
 * Writes a database's log into its file, which is then complete, and keeps other processes from it until it is closed.
 * If a process opened the file earlier and waits, SQLite refuses it after another file has got the name. Returns null
 * for a file that cannot be read.
 * @throws Error `in_use` when another process has the file open.
 */
function holdAlone(database: string): Connection | null {
  const connection = new Sqlite(database, { timeout: 1_000 })
  try {
    flushLog(connection, database)
    connection.pragma('journal_mode = DELETE')
    connection.exec('begin exclusive')
    if (connection.pragma('journal_mode', { simple: true }) === 'delete') return connection
    throw refusal('in_use', `another program has ${database} open`)
  } catch (error) {
    connection.close()
    const { code = '' } = error as { code?: string }
    if (/^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(code)) return null
    if (!code.startsWith('SQLITE_BUSY')) throw error
    throw refusal('in_use', `another program has ${database} open`, error)
  }
}

function sidesOf(database: string): string[] {
  return SIDES.filter((side) => existsSync(`${database}${side}`))
}

function takeLock(database: string): Connection {
  try {
    return takeDispatchLock(database)
  } catch (error) {
    const { cause } = error as { cause: { code?: string } }
    const { code } = cause
    if (!code?.startsWith('SQLITE_BUSY')) {
      throw refusal('no_folder', `${dirname(database)} cannot be written to (${code})`, cause)
    }
    throw refusal('in_use', `a server runs on ${database}`, error)
  }
}

function removeAll(file: string): void {
  for (const suffix of ['', ...SIDES]) rmSync(`${file}${suffix}`, { force: true })
}
