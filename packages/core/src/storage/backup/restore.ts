import type { CheckOptions } from '../sqlite/backup/check-backup.ts'
import type { RestoreOptions, RestoreReport } from '../sqlite/backup/restore-backup.ts'
import type { BackupCheck } from './report.ts'

/**
 * Verifies a backup of a SQLite database and changes nothing: its checksum, its structure, its schema and its books.
 * @throws Error in one line; with a `code` (`not_found`, `foreign`, `damaged`, `newer`, `in_use`) where it is no good.
 */
export async function verifyBackup(file: string, options: CheckOptions): Promise<BackupCheck> {
  const { checkBackup } = await import('../sqlite/backup/check-backup.ts')
  return checkBackup(file, options)
}

/**
 * Puts a backup in the place of a SQLite database on which no server runs; what was there is kept beside it. A server that
 * is started on it sends and delivers nothing until an operator says so.
 * @throws Error in one line; with a `code` where it was refused. Nothing was changed then.
 */
export async function restoreDatabase(options: RestoreOptions): Promise<RestoreReport> {
  const { restoreBackup } = await import('../sqlite/backup/restore-backup.ts')
  return restoreBackup(options)
}
