import { readDatabaseUrl } from '../../storage/database-url.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Opens a consistent snapshot of a database for reading; loads only the engine of the URL, and changes nothing.
 * @throws Error in one line, with a `code`: `not_found`; `behind` or `newer` if the schema is not this program's.
 */
export async function withSnapshot<T>(
  url: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    const { onSqliteSnapshot } = await import('./sqlite.ts')
    return onSqliteSnapshot(named.file, work)
  }
  const { onPostgresSnapshot } = await import('./postgres.ts')
  return onPostgresSnapshot(named.url, work)
}
