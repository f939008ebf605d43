import { join, resolve } from 'node:path'
import { readSetting } from './readers.ts'
import type { Read } from './variables.ts'

/** The backups that the server makes by itself. */
export interface BackupSettings {
  /** The folder of the backups. */
  dir: string
  every_ms: number
  /** The number of backups to keep. */
  keep: number
}

const VARIABLES = ['SVC_BACKUP_DIR', 'SVC_BACKUP_EVERY', 'SVC_BACKUP_KEEP'] as const

/**
 * The settings of backups that have no effect, because the database is PostgreSQL. A server that moves to it keeps its
 * configuration, so they must not prevent its start.
 */
export function unusedBackupSettings(
  read: Read,
  { database_url }: { database_url: string },
): string[] {
  if (database_url.startsWith('file:')) return []
  return VARIABLES.filter((name) => read(name) !== undefined)
}

/**
 * Reads the settings of backups; null if the server makes none, and with PostgreSQL, which has its own tools.
 * @throws ConfigError for a wrong setting.
 */
export function readBackups(
  read: Read,
  { data_dir, database_url }: { data_dir: string; database_url: string },
): BackupSettings | null {
  if (!database_url.startsWith('file:')) return null
  const keep = readSetting('SVC_BACKUP_KEEP', read('SVC_BACKUP_KEEP'))
  const every_ms = readSetting('SVC_BACKUP_EVERY', read('SVC_BACKUP_EVERY'))
  if (every_ms === null) return null
  const dir = resolve(read('SVC_BACKUP_DIR') ?? join(data_dir, 'backups'))
  return { dir, every_ms, keep }
}
