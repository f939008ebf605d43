import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const PREFIX = 'svc-tests-'
const NEEDED_BYTES = 4 * 1024 ** 3

/**
 * A `globalSetup` of vitest, before all others: the temporary files of tests, those of PostgreSQL included, are in memory
 * where Linux has 4 GiB for them. Flushes of the tests' databases are then free; that they are made, tests check otherwise.
 * A TMPDIR in the environment is kept.
 */
export function setup(): (() => void) | undefined {
  if (process.env.TMPDIR || !hasMemory()) return undefined
  removeLeftovers()
  const folder = mkdtempSync(join(MEMORY, `${PREFIX}${process.pid}-`))
  // PostgreSQL runs as another account if this one is root.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true })
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES
}

/** Of runs that were killed. */
function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = Number(/^svc-tests-(\d+)-/.exec(name)?.[1])
    if (pid && !existsSync(`/proc/${pid}`)) {
      rmSync(join(MEMORY, name), { recursive: true, force: true })
    }
  }
}
