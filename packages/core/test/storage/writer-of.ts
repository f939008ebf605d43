import type Database from 'better-sqlite3'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { migratedOnce } from '../migrated-file.ts'

/** What `open` opens, and the connection by which it writes to its SQLite file: the first of those that it opens. */
export async function writerOf<T>(
  open: () => T | Promise<T>,
): Promise<{ opened: T; writer: Database.Database }> {
  // The file that the new one is a copy of is opened before.
  await migratedOnce()
  const { prototype } = Sqlite
  const { pragma } = prototype
  let writer: Database.Database | undefined
  prototype.pragma = function (this: Database.Database, ...args: Parameters<typeof pragma>) {
    writer ??= this
    return pragma.apply(this, args)
  }
  try {
    const opened = await open()
    if (!writer) throw new Error('no SQLite file was opened')
    return { opened, writer }
  } finally {
    prototype.pragma = pragma
  }
}
