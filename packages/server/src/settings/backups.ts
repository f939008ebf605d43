import { join, resolve } from 'node:path'
import { readSetting } from './readers.ts'
import { ConfigError, type Read } from './variables.ts'

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
 * Reads the settings of backups; null if the server makes none.
 * @throws ConfigError for a wrong setting, and for any setting of backups with PostgreSQL, which has its own tools.
 */
export function readBackups(
  read: Read,
  { data_dir, database_url }: { data_dir: string; database_url: string },
): BackupSettings | null {
  if (!database_url.startsWith('file:')) {
    const name = VARIABLES.find((variable) => read(variable) !== undefined)
    if (name === undefined) return null
    throw new ConfigError(`${name} is for SQLite: back PostgreSQL up with pg_dump or pg_basebackup`)
  }
  const keep = readSetting('SVC_BACKUP_KEEP', read('SVC_BACKUP_KEEP'))
  const every_ms = readSetting('SVC_BACKUP_EVERY', read('SVC_BACKUP_EVERY'))
  if (every_ms === null) return null
  const dir = resolve(read('SVC_BACKUP_DIR') ?? join(data_dir, 'backups'))
  return { dir, every_ms, keep }
}
