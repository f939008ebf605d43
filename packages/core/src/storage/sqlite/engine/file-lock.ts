import type { Connection } from './connection.ts'
import { Sqlite } from './driver.ts'

/**
 * Locks a small file, which is made where it is missing. The operating system gives the lock back however the process
 * ends; closing it gives it back.
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
 * Takes the right to dispatch on a database file: an exclusive lock on a small file beside it, which the operating
 * system gives back however the process ends. Closing it gives it back.
 * @throws Error when another process has it.
 */
export function takeDispatchLock(file: string): Connection {
  try {
    return takeFileLock(`${file}-dispatch`)
  } catch (cause) {
    throw new Error(`another svc process already serves ${file}`, { cause })
  }
}
