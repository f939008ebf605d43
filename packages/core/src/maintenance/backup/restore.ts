import type { CheckOptions } from './check-backup.ts'
import type { BackupCheck } from './report.ts'
import type { RestoreOptions, RestoreReport } from './restore-backup.ts'

/**
 * Verifies a backup of a SQLite database and changes nothing: its checksum, its structure, its schema and its books.
 * @throws Error in one line, with a `code` for an invalid backup: `not_found`, `foreign`, `damaged`, `newer` or
 *   `in_use`.
 */
export async function verifyBackup(file: string, options: CheckOptions): Promise<BackupCheck> {
  const { checkBackup } = await import('./check-backup.ts')
  return checkBackup(file, options)
}

/**
 * Replaces a SQLite database, on which no server runs, by a backup; the previous database is kept in the same folder. A
 * server that starts on the restored database sends and delivers nothing until an operator resumes it.
 * @throws Error in one line; with a `code` if the restore was refused. Nothing was changed then.
 */
export async function restoreDatabase(options: RestoreOptions): Promise<RestoreReport> {
  const { restoreBackup } = await import('./restore-backup.ts')
  return restoreBackup(options)
}
