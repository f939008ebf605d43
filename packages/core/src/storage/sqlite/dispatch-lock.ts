import Database from 'better-sqlite3'
import type { Connection } from './connection.ts'

/**
 * Takes the right to dispatch on a database file: an exclusive lock on a small file beside it, which the operating
 * system gives back however the process ends. Closing it gives it back.
 * @throws Error when another process has it.
 */
export function takeDispatchLock(file: string): Connection {
  const lock = new Database(`${file}-dispatch`, { timeout: 0 })
  try {
    lock.pragma('locking_mode = EXCLUSIVE')
    lock.exec('begin exclusive')
    return lock
  } catch (cause) {
    lock.close()
    throw new Error(`another svc process already serves ${file}`, { cause })
  }
}
