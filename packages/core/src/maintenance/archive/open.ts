import { readDatabaseUrl } from '../../storage/database-url.ts'
import type { MigrationStatus } from '../../storage/migrations.ts'
import type { ArchiveDatabase, MigrateDatabaseOptions } from './database.ts'

/**
 * The database of a URL as the source or target of a move; loads only the engine of the URL.
 * @throws Error for a URL of an unknown engine.
 */
export async function openArchiveDatabase(url: string): Promise<ArchiveDatabase> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    const { sqliteArchive } = await import('./sqlite.ts')
    return sqliteArchive(named.file)
  }
  const { postgresArchive } = await import('./postgres.ts')
  return postgresArchive(named.url)
}

/**
 * The state of a database's schema. Changes nothing: a missing SQLite file is not created.
 * @throws Error when a server cannot be reached.
 */
export async function migrationStatus(url: string): Promise<MigrationStatus> {
  return (await openArchiveDatabase(url)).status()
}

/**
 * Brings a database to this program's schema, creating a missing SQLite file. Returns the steps that ran. A killed
 * migration continues with the next call.
 * @throws Error when a newer version made it; `in_use` when steps are missing and a server runs on the SQLite file;
 *   `older_servers` without `force` when a step needs that the servers of older versions on PostgreSQL are stopped.
 */
export async function migrateDatabase(
  url: string,
  options: MigrateDatabaseOptions = {},
): Promise<string[]> {
  return (await openArchiveDatabase(url)).migrate(options)
}
