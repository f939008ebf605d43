import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { MakeOptions } from '../sqlite/backup/make-backup.ts'
import type { BackupReport, OnStep } from './report.ts'

/** How a backup is made, and who is told how far it is. */
export interface BackupOptions extends MakeOptions {
  /** Ends it; nothing of it is left then. */
  signal?: AbortSignal | undefined
  onProgress?: OnStep | undefined
}

/** What the process that makes a backup tells. */
export type FromBackup =
  | { progress: Parameters<OnStep>[0] }
  | { report: BackupReport }
  | { failure: { name: string; message: string; code?: string | undefined } }

/**
 * Makes a backup of a SQLite database beside whoever uses it, in a process of its own with a low priority, and verifies
 * it. Whatever fails, the database is untouched and no file of the backup's name is there.
 * @throws Error in one line; with a `code` where it was refused.
 */
export async function backupDatabase(options: BackupOptions): Promise<BackupReport> {
  const { signal, onProgress = () => {}, ...wanted } = options
  signal?.throwIfAborted()
  // A loader that this process runs with is of no use to built code, and slow to start.
  const child = fork(processFile(), [], {
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const stop = () => void child.kill('SIGKILL')
  signal?.addEventListener('abort', stop)
  try {
    return await reportOf(child, wanted, onProgress)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** Resolves when the process has ended, its partial copy removed by it or left to the next backup. */
function reportOf(
  child: ChildProcess,
  wanted: MakeOptions,
  onProgress: OnStep,
): Promise<BackupReport> {
  return new Promise((resolve, reject) => {
    let errors = ''
    let ended: BackupReport | Error | undefined
    child.stderr?.on('data', (text: Buffer) => {
      errors = `${errors}${text}`.slice(-2_000)
    })
    child.on('message', (told: FromBackup) => {
      if ('progress' in told) onProgress(told.progress)
      if ('report' in told) ended = told.report
      if ('failure' in told) ended = Object.assign(new Error(told.failure.message), told.failure)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const cause = errors.trim().split('\n').at(-1)
      ended ??= new Error(`the backup was ended (${cause || signal || code})`)
      if (ended instanceof Error) reject(ended)
      else resolve(ended)
    })
    child.send(wanted)
  })
}

/** The built file. Node 20 cannot run a process from TypeScript, so sources use the build's too. */
function processFile(): string {
  const places = ['./backup-process.js', './storage/backup/backup-process.js']
  for (const place of [...places, '../../../dist/storage/backup/backup-process.js']) {
    const file = fileURLToPath(new URL(place, import.meta.url))
    if (existsSync(file)) return file
  }
  throw new Error('storage/backup/backup-process.js is missing: build @svc/core')
}
