import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Storage } from '../ports/storage.ts'
import { openSqlite, type SqliteOptions } from './sqlite.ts'

/**
 * Opens an empty database that exists until it is closed or the process ends. It is a file without flushes in the folder
 * of the system for temporary files, because threads cannot read a database in the memory of another connection.
 */
export function openTemporary(
  runtime: Pick<Runtime, 'id' | 'random' | 'log' | 'telemetry'>,
  options: Omit<SqliteOptions, 'durability'>,
): Storage {
  const folder = mkdtempSync(join(tmpdir(), 'svc-memory-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const storage = openSqlite(join(folder, 'svc.db'), runtime, { ...options, durability: 'none' })
  return {
    ...storage,
    async close() {
      await storage.close()
      process.off('exit', remove)
      remove()
    },
  }
}
