import type { Connection } from './connection.ts'
import { takeFileLock } from './file-lock.ts'

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
