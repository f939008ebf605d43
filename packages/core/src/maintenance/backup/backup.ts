import { type ChildProcess, fork } from 'node:child_process'
import { builtFile } from '../../runtime/built-file.ts'
import type { MakeOptions } from './make-backup.ts'
import type { BackupReport, OnStep } from './report.ts'

/** Options of a backup, and the receiver of its progress. */
export interface BackupOptions extends MakeOptions {
  /** Cancels the backup, which then leaves no file. */
  signal?: AbortSignal | undefined
  onProgress?: OnStep | undefined
}

/** The messages of the process that makes a backup. */
export type FromBackup =
  | { progress: Parameters<OnStep>[0] }
  | { report: BackupReport }
  | { failure: { name: string; message: string; code?: string | undefined } }

/**
 * Makes a backup of a SQLite database that is in use, in its own process with a low priority, and verifies it. After a
 * failure the database is unchanged and no file with the backup's name exists.
 * @throws Error in one line; with a `code` if the backup was refused.
 */
export async function backupDatabase(options: BackupOptions): Promise<BackupReport> {
  const { signal, onProgress = () => {}, ...makeOptions } = options
  signal?.throwIfAborted()
  // The built code does not need this process's loader; a loader would start slowly.
  const child = fork(
    builtFile(import.meta.url, 'maintenance/backup/backup-process.js', 'build @svc/core'),
    [],
    {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    },
  )
  const stop = () => void child.kill('SIGKILL')
  signal?.addEventListener('abort', stop)
  try {
    return await reportOf(child, makeOptions, onProgress)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** Resolves when the process has ended. If it left a partial copy, the next backup removes the copy. */
function reportOf(
  child: ChildProcess,
  makeOptions: MakeOptions,
  onProgress: OnStep,
): Promise<BackupReport> {
  return new Promise((resolve, reject) => {
    let errors = ''
    let ended: BackupReport | Error | undefined
    child.stderr?.on('data', (text: Buffer) => {
      errors = `${errors}${text}`.slice(-2_000)
    })
    child.on('message', (message: FromBackup) => {
      if ('progress' in message) onProgress(message.progress)
      if ('report' in message) ended = message.report
      if ('failure' in message)
        ended = Object.assign(new Error(message.failure.message), message.failure)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const cause = errors.trim().split('\n').at(-1)
      ended ??= new Error(`the backup was ended (${cause || signal || code})`)
      if (ended instanceof Error) reject(ended)
      else resolve(ended)
    })
    child.send(makeOptions)
  })
}
