import { existsSync } from 'node:fs'
import type { Config } from '../settings/config.ts'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

/** A backup is late after this number of intervals, because one backup may be slow or may have failed. */
const LATE = 2

/** Checks that the service makes backups, and that the newest one is recent. */
export async function checkBackups(
  {
    backups,
    database_url,
    unused_backup_settings: unused,
  }: Pick<Config, 'backups' | 'database_url' | 'unused_backup_settings'>,
  now: Date,
): Promise<Finding[]> {
  const is = findingsOf('backups')
  if (unused.length > 0) {
    return [
      is.warning(
        `${unused.join(', ')}: no effect with PostgreSQL`,
        'remove it from the settings, and back PostgreSQL up with its own tools: pg_dump, or pg_basebackup and the archived log',
      ),
    ]
  }
  if (!database_url.startsWith('file:')) {
    return [is.ok('PostgreSQL is backed up with its own tools, which this check does not see')]
  }
  if (!backups) {
    return [
      is.warning(
        'the service makes no backups',
        'set SVC_BACKUP_EVERY=24h (and SVC_BACKUP_DIR, preferably on another disk), or run svc backup from a timer',
      ),
    ]
  }
  const { backupsIn } = await import('@svc/core/operate')
  const advice = 'the log of svc serve has the reason; svc backup makes one now'
  let newest: ReturnType<typeof backupsIn>[number] | undefined
  try {
    newest = existsSync(backups.dir) ? backupsIn(backups.dir)[0] : undefined
  } catch (error) {
    return [
      is.error(reasonOf(error), 'set SVC_BACKUP_DIR to a folder that the service can write to'),
    ]
  }
  if (!newest) {
    const hint =
      'the server makes the first one at its start; if it is missing, the log has the reason'
    return [is.warning(`there is no backup yet in ${backups.dir}`, hint)]
  }
  const age_ms = now.getTime() - newest.at.getTime()
  const text = `the newest is from ${newest.at.toISOString()}, in ${backups.dir}`
  return [age_ms > LATE * backups.every_ms ? is.error(`${text}: too old`, advice) : is.ok(text)]
}
