import { existsSync, statSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../settings/config.ts'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

const MB = 1024 * 1024
const FREE_MIN = 200 * MB
const FREE_ADVISED = 1024 * MB

/** The permissions of users other than the owner. */
const OTHERS = 0o077

/** Network file systems, where locks and flushes are not reliable. The key is the type of statfs(2). */
const NETWORK: Record<number, string> = {
  26985: 'NFS',
  4283649346: 'SMB',
  4266872130: 'SMB',
  20859: 'SMB',
  1397113167: 'AFS',
}
const IN_MEMORY: Record<number, string> = { 16914836: 'tmpfs', 2240043254: 'ramfs' }

/** Checks that the folder of a SQLite file is on a disk with free space, and that only its owner can read it. */
export async function checkFolder(file: string): Promise<Finding[]> {
  const is = findingsOf('disk')
  const folder = dirname(file)
  if (!existsSync(folder)) {
    return [
      is.error(`${folder} does not exist`, 'start svc dev or svc serve once, or set SVC_DATA_DIR'),
    ]
  }
  const findings: Finding[] = []
  const { type, bavail, bsize } = await statfs(folder)
  const kind = type >>> 0
  if (NETWORK[kind]) {
    findings.push(
      is.error(
        `${folder} is on ${NETWORK[kind]}, where locks and flushes of SQLite are not reliable`,
        'move the database to a local disk, or use PostgreSQL',
      ),
    )
  }
  if (IN_MEMORY[kind]) {
    findings.push(
      is.warning(
        `${folder} is on ${IN_MEMORY[kind]}: nothing survives a restart of the machine`,
        'set SVC_DATA_DIR to a folder on a disk',
      ),
    )
  }
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const free = bavail * bsize
  // A backup or a migration may need as much free space as the database has now.
  if (free < FREE_MIN + size) {
    findings.push(
      is.error(
        `${mb(free)} are free in ${folder}, and the database has ${mb(size)}`,
        'free space, or move the folder: with a full disk every request is refused',
      ),
    )
  } else if (free < FREE_ADVISED + 2 * size) {
    findings.push(
      is.warning(
        `${mb(free)} are free in ${folder}, and the database has ${mb(size)}`,
        'free space soon',
      ),
    )
  }
  const open = [folder, file, `${file}-wal`].filter(
    (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS) !== 0,
  )
  if (open.length > 0 && process.platform !== 'win32') {
    findings.push(
      is.warning(
        `other users of this machine can read ${open.join(', ')}`,
        `chmod go-rwx ${open.join(' ')}`,
      ),
    )
  }
  const isWritable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  )
  if (!isWritable) {
    findings.push(
      is.error(
        `this user cannot write to ${folder}`,
        'run as the user of the service, or change its owner',
      ),
    )
  }
  return findings.length > 0 ? findings : [is.ok(`${mb(free)} free in ${folder}`)]
}

function mb(bytes: number): string {
  return `${Math.floor(bytes / MB).toLocaleString('en')} MB`
}

/** Major versions without fixes, with the end of their support. Source: the release schedule of Node.js. */
const ENDED: Record<number, string> = {
  20: 'April 2026',
  21: 'June 2024',
  23: 'June 2025',
  25: 'June 2026',
}

const SUPPORTED = '20.19, 22.14, 24 or 26'

/** Checks that this version of Node is supported. */
export function checkProgram(version: string): Finding[] {
  const is = findingsOf('node')
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 14) || major >= 24
  if (!isSupported) {
    return [is.error(`Node ${version} is not supported`, `install ${SUPPORTED}, or newer`)]
  }
  const ended = ENDED[major]
  if (ended === undefined) return [is.ok(`Node ${version}`)]
  return [
    is.warning(
      `Node ${version} has had no security fixes since ${ended}`,
      'install Node 26 (or 24); the database needs no change',
    ),
  ]
}

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
