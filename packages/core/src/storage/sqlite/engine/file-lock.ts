import type { Connection } from './connection.ts'
import { Sqlite } from './driver.ts'

/**
 * Locks a small file, created where it is missing. The lock ends when it is closed or, by the operating system, when
 * the process ends in any way.
 * @throws Error with the code `SQLITE_BUSY` when another process has it.
 */
export function takeFileLock(path: string): Connection {
  const lock = new Sqlite(path, { timeout: 0 })
  try {
    lock.pragma('locking_mode = EXCLUSIVE')
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Takes the right to dispatch on a database file: an exclusive lock on a small file beside it, until it is closed or
 * the process ends.
 * @throws Error when another process has it.
 */
export function takeDispatchLock(file: string): Connection {
  try {
    return takeFileLock(`${file}-dispatch`)
  } catch (cause) {
    throw new Error(`another svc process already serves ${file}`, { cause })
  }
}
