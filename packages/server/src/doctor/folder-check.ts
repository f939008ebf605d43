import { existsSync, statSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Finding, findingsOf } from './finding.ts'

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
