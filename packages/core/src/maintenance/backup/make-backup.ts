import {
  chownSync,
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import {
  appliedIn,
  type Connection,
  Sqlite,
  takeFileLock,
} from '../../storage/sqlite/engine/connection.ts'

import { refusal } from '../refusal.ts'
import { createPace } from './backup-pace.ts'
import { sealBackup } from './backup-seal.ts'
import { checkBackup } from './check-backup.ts'
import { backupName, PARTIAL, removeOldest, removePartial } from './names.ts'
import type { BackupReport, OnStep, Verification } from './report.ts'

/** What is backed up, and where to. */
export interface MakeOptions {
  database: string
  /** An existing folder, in which the backup's name contains its time; or the name of a new file. */
  to: string
  /** The number of backups kept in the folder, this one included; null keeps all. With a file name, none is removed. */
  keep: number | null
  verify: Verification
  /** The program that makes the backup, and its version. */
  made_by: string
}

/** The size of a copy step. */
const STEP_BYTES = 1024 * 1024

/**
 * Copies a consistent snapshot of a database that may be in use, verifies the copy, and then gives it its name. After a
 * failure no file has that name. This process is blocked meanwhile.
 * @throws Error in one line, with a `code`.
 */
export async function makeBackup(
  { database, to, keep, verify, made_by }: MakeOptions,
  onProgress: OnStep,
): Promise<BackupReport> {
  const began = performance.now()
  if (!existsSync(database)) throw refusal('not_found', `there is no database at ${database}`)
  const isFolder = existsSync(to) && statSync(to).isDirectory()
  const folder = isFolder ? to : dirname(to)
  assertTarget(to, { database, folder, isFolder })
  return withLock(folder, async () => {
    if (isFolder) removePartial(folder)
    const name = backupName(new Date())
    const file = isFolder ? join(folder, name) : to
    const partial = `${file}${PARTIAL}`
    try {
      removeCopy(partial)
      const as_of = await copyTo(partial, database, onProgress)
      await sealBackup(partial, { as_of, made_by })
      const check = await checkBackup(partial, { verify, onProgress })
      renameSync(partial, file)
      flushToDisk(folder)
      const isKept = keep !== null && isFolder
      const removed = isKept ? removeOldest(folder, keep, name) : []
      return { ...check, file, removed, duration_ms: Math.round(performance.now() - began) }
    } catch (error) {
      removeCopy(partial)
      throw explainFullDisk(error, folder)
    }
  })
}

/** @throws Error unless the folder of the file exists and the file does not exist. */
function assertTarget(
  to: string,
  { database, folder, isFolder }: { database: string; folder: string; isFolder: boolean },
): void {
  if (!existsSync(folder)) throw refusal('no_folder', `there is no folder ${folder}`)
  if (isFolder || !existsSync(to)) return
  const [target, source] = [statSync(to), statSync(database)]
  const isItself = target.ino === source.ino && target.dev === source.dev
  throw refusal('exists', isItself ? `${to} is the database itself` : `${to} is there already`)
}

/** Returns the moment of the copy. */
async function copyTo(partial: string, database: string, onProgress: OnStep): Promise<Date> {
  const source = new Sqlite(database, { readonly: true, fileMustExist: true })
  try {
    // One transaction covers all steps: without it, every commit of the server would restart the copy.
    source.exec('begin')
    const { applied, is_newer } = statusOf(migrationsOf('sqlite'), appliedIn(source))
    // The time is taken after the first read, which fixes the moment of the copy. So no message in the copy is newer; a
    // restore would treat a newer message as accepted after the backup.
    const as_of = new Date()
    if (applied.length === 0) throw refusal('foreign', `${database} is not a database of svc`)
    if (is_newer) throw refusal('newer', `${database} was made by a newer version of svc`)
    assertSpace(partial, sizeOf(source))
    // The file contains secrets and message contents, so only its owner may read it.
    const target = openSync(partial, 'wx', 0o600)
    try {
      shareOwner(dirname(partial), partial)
      await copyInSteps(source, { partial, target, pace: createPace(database), onProgress })
    } finally {
      closeSync(target)
    }
    return as_of
  } finally {
    source.close()
  }
}

/**
 * Each step is flushed to disk and followed by a rest, so that commits of the server wait only for a short time. The
 * backup can be cancelled after any step. `vacuum into` has neither property.
 */
async function copyInSteps(
  source: Connection,
  {
    partial,
    target,
    pace,
    onProgress,
  }: { partial: string; target: number; pace: ReturnType<typeof createPace>; onProgress: OnStep },
): Promise<void> {
  const page_size = source.pragma('page_size', { simple: true }) as number
  const pages = Math.ceil(STEP_BYTES / page_size)
  const rest = new Int32Array(new SharedArrayBuffer(4))
  let began = performance.now()
  await source.backup(partial, {
    progress({ totalPages, remainingPages }) {
      const done = (totalPages - remainingPages) * page_size
      onProgress({ name: 'copy', done, total: totalPages * page_size })
      fdatasyncSync(target)
      Atomics.wait(rest, 0, 0, pace(performance.now() - began, new Date()))
      began = performance.now()
      return pages
    },
  })
}

/** @throws Error `no_space` unless the disk has this number of free bytes. */
function assertSpace(partial: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(partial))
  if (bavail * bsize >= bytes) return
  const [need, free] = [bytes, bavail * bsize].map((size) => Math.ceil(size / 1e6))
  throw refusal('no_space', `the disk has ${free} MB left, and ${need} MB are needed`)
}

function sizeOf(source: Connection): number {
  const [pages, size] = ['page_count', 'page_size'].map(
    (name) => source.pragma(name, { simple: true }) as number,
  )
  return (pages ?? 0) * (size ?? 0)
}

/**
 * Runs `work` while no other backup runs in the folder.
 * @throws Error `in_use` at once while another one runs.
 */
async function withLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  let lock: Connection
  try {
    const file = join(folder, '.svc-backup.lock')
    lock = takeFileLock(file)
    shareOwner(folder, file)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code.startsWith('SQLITE_BUSY')) {
      throw refusal('in_use', `another backup is being made in ${folder}`, error)
    }
    const explained = explainFullDisk(error, folder)
    if (explained !== error) throw explained
    throw refusal('no_folder', `${folder} cannot be written to (${code})`, error)
  }
  try {
    return await work()
  } finally {
    lock.close()
  }
}

function removeCopy(partial: string): void {
  for (const suffix of ['', '-journal']) rmSync(`${partial}${suffix}`, { force: true })
}

/** Flushes a file, or the names in a folder, to disk. */
export function flushToDisk(path: string, flags: 'r' | 'r+' = 'r'): void {
  const handle = openSync(path, flags)
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Explains a full disk; returns any other error unchanged. */
export function explainFullDisk(error: unknown, folder: string): unknown {
  const { code } = error as { code?: string }
  if (code === 'ENOSPC' || code === 'SQLITE_FULL' || code === 'EDQUOT') {
    return refusal('no_space', `the disk of ${folder} is full; nothing was changed`, error)
  }
  return error
}

/**
 * Gives a file that root has made to the owner of `model`: the server runs as that user and could not open the file
 * otherwise. Files that another user makes keep their owner.
 */
export function shareOwner(model: string, made: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(model)
  chownSync(made, uid, gid)
}
