import { join, resolve } from 'node:path'
import { ConfigError } from './config-error.ts'

/** Which backups the server makes by itself. */
export interface BackupSettings {
  /** The folder they are in. */
  dir: string
  every_ms: number
  /** How many stay. */
  keep: number
}

const MINUTE_MS = 60_000
const UNITS_MS: Readonly<Record<string, number>> = {
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: 24 * 60 * MINUTE_MS,
}
const EVERY_MAX_MS = 31 * 24 * 60 * MINUTE_MS
const KEEP = 7
const KEEP_MAX = 10_000

/**
 * Reads when backups are made, and where; null where none are.
 * @throws ConfigError for a setting that cannot be meant, and for any with PostgreSQL, which has tools of its own.
 */
export function readBackups(
  read: (name: string) => string | undefined,
  { data_dir, database_url }: { data_dir: string; database_url: string },
): BackupSettings | null {
  const dir = read('SVC_BACKUP_DIR')
  const every = read('SVC_BACKUP_EVERY')
  const keep = read('SVC_BACKUP_KEEP')
  if (!database_url.startsWith('file:')) {
    const given = { SVC_BACKUP_DIR: dir, SVC_BACKUP_EVERY: every, SVC_BACKUP_KEEP: keep }
    const [name] = Object.entries(given).find(([, text]) => text !== undefined) ?? []
    if (name === undefined) return null
    throw new ConfigError(`${name} is for SQLite: back PostgreSQL up with pg_dump or pg_basebackup`)
  }
  const kept = keep === undefined ? KEEP : readKeep(keep)
  if (every === undefined) return null
  return { dir: resolve(dir ?? join(data_dir, 'backups')), every_ms: readEvery(every), keep: kept }
}

function readEvery(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  const every_ms = Number(amount) * (UNITS_MS[unit] ?? Number.NaN)
  if (every_ms >= MINUTE_MS && every_ms <= EVERY_MAX_MS) return every_ms
  throw new ConfigError(`SVC_BACKUP_EVERY must be 1m to 31d, for example 24h, got "${text}"`)
}

function readKeep(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= KEEP_MAX) return Number(text)
  throw new ConfigError(
    `SVC_BACKUP_KEEP must be a whole number from 1 to ${KEEP_MAX}, got "${text}"`,
  )
}
