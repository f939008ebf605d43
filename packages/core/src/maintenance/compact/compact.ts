import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import { refusal } from '../refusal.ts'

/** The sizes of a database file before and after it was compacted. */
export interface CompactReport {
  before_bytes: number
  after_bytes: number
  duration_ms: number
}

/** The steps of `compactDatabase`: reading what is in use, and writing it back over the old pages. */
export type CompactStep = 'rewrite' | 'shorten'

/**
 * Gives the free space of a SQLite file back to the file system (`VACUUM`), while no server runs on it. It needs free space
 * of twice the size of the rest. A crash at any time leaves the complete database. Blocks the calling thread.
 * @throws Error in one line, with a `code`; nothing was changed then: `not_found`, `foreign` for a file that is no database
 *   of svc, `in_use` while a server runs on it or another program reads it, `no_space`.
 */
export async function compactDatabase(
  file: string,
  onStep: (step: CompactStep, bytes: number) => void = () => {},
): Promise<CompactReport> {
  if (!existsSync(file)) throw refusal('not_found', `there is no database at ${file}`)
  // PostgreSQL needs no driver of SQLite.
  const { appliedIn, connect, takeDispatchLock } = await import(
    '../../storage/sqlite/engine/connection.ts'
  )
  const { look } = await import('../snapshot/sqlite.ts')
  const began = performance.now()
  const looked = look(file)
  try {
    if (statusOf(migrationsOf('sqlite'), appliedIn(looked)).applied.length === 0) {
      throw refusal('foreign', `${file} is not a database of svc`)
    }
  } finally {
    looked.close()
  }
  const lock = held(() => takeDispatchLock(file), `a server runs on ${file}`)
  try {
    const connection = held(() => connect(file), `another program has ${file} open`)
    try {
      const before_bytes = statSync(file).size
      const [pages = 0, free = 0, size = 0] = ['page_count', 'freelist_count', 'page_size'].map(
        (name) => connection.pragma(name, { simple: true }) as number,
      )
      const used = (pages - free) * size
      assertSpace(file, 2 * used)
      onStep('rewrite', used)
      held(() => connection.exec('vacuum'), `another program has ${file} open`)
      onStep('shorten', used)
      const [{ busy } = { busy: 0 }] = connection.pragma('wal_checkpoint(TRUNCATE)') as {
        busy: number
      }[]
      // The pages are in the log then, and the next server shortens the file.
      if (busy !== 0) throw refusal('in_use', `another program reads ${file}`)
      const duration_ms = Math.round(performance.now() - began)
      return { before_bytes, after_bytes: statSync(file).size, duration_ms }
    } finally {
      connection.close()
    }
  } finally {
    lock.close()
  }
}

/** Runs `work`; turns SQLite's errors about locks and space into refusals. */
function held<T>(work: () => T, message: string): T {
  try {
    return work()
  } catch (error) {
    const failed = error as { code?: string; cause?: { code?: string } }
    const code = failed.code ?? failed.cause?.code
    if (code?.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED') {
      throw refusal('in_use', message, error)
    }
    if (code === 'SQLITE_FULL') throw refusal('no_space', 'the disk is full', error)
    throw error
  }
}

function assertSpace(file: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize >= bytes) return
  const [need, free] = [bytes, bavail * bsize].map((size) => Math.ceil(size / 1e6))
  throw refusal('no_space', `the disk has ${free} MB left, and ${need} MB are needed`)
}
