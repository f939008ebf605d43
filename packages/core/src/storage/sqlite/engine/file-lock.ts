import type { Connection } from './connection.ts'
import { Sqlite } from './driver.ts'

/**
 * Locks a small file and creates it if it is missing. The lock ends when it is closed. When the process ends in any
 * way, the operating system ends the lock.
 * @throws Error with the code `SQLITE_BUSY` when another process has the lock.
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
 * Takes the right to dispatch on a database file: an exclusive lock on a small file beside it, until the lock is closed
 * or the process ends.
 * @throws Error when another process has the lock.
 */
export function takeDispatchLock(file: string): Connection {
  try {
    return takeFileLock(`${file}-dispatch`)
  } catch (cause) {
    throw new Error(`another svc process already serves ${file}`, { cause })
  }
}
