import { existsSync } from 'node:fs'
import type { Config } from '@svc/server'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

/** So much later than planned, a backup is late: one may take its time, and one may have failed. */
const LATE = 2

/** Whether there is a backup that is young enough, where the service makes them itself. */
export async function checkBackups(
  { backups, database_url }: Pick<Config, 'backups' | 'database_url'>,
  now: Date,
): Promise<Finding[]> {
  const is = findingsOf('backups')
  if (!database_url.startsWith('file:')) {
    return [is.ok('are made by the tools of PostgreSQL: docs/operating/backup.md')]
  }
  if (!backups) {
    return [
      is.warning(
        'the service makes none by itself',
        'set SVC_BACKUP_EVERY=24h (and SVC_BACKUP_DIR, best on another disk), or run svc backup by a timer',
      ),
    ]
  }
  const { backupsIn } = await import('@svc/core/operate')
  const advice = 'the log of svc serve says why; svc backup makes one now'
  let newest: ReturnType<typeof backupsIn>[number] | undefined
  try {
    newest = existsSync(backups.dir) ? backupsIn(backups.dir)[0] : undefined
  } catch (error) {
    return [
      is.error(reasonOf(error), 'set SVC_BACKUP_DIR to a folder that the service may write to'),
    ]
  }
  if (!newest) {
    const hint =
      'a server makes the first when it starts: where there is still none, its log says why'
    return [is.warning(`there is none yet in ${backups.dir}`, hint)]
  }
  const age_ms = now.getTime() - newest.at.getTime()
  const text = `the last is of ${newest.at.toISOString()}, in ${backups.dir}`
  return [age_ms > LATE * backups.every_ms ? is.error(`${text}: too old`, advice) : is.ok(text)]
}
