import { readDatabaseUrl } from '../database-url.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Opens a database for reading as of one moment; loads only that engine, and changes nothing.
 * @throws Error in one line, with a `code`: `not_found`, or `behind` and `newer` for another schema.
 */
export async function withSnapshot<T>(
  url: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    const { onSqliteSnapshot } = await import('../sqlite/operate/snapshot.ts')
    return onSqliteSnapshot(named.file, work)
  }
  const { onPostgresSnapshot } = await import('../postgres/operate/snapshot.ts')
  return onPostgresSnapshot(named.url, work)
}
