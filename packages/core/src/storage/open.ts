import type { Runtime } from '../runtime/runtime.ts'
import { readDatabaseUrl } from './database-url.ts'
import type { Storage } from './ports/storage.ts'

export interface StorageOptions {
  /** Called when the database failed in a way that only a restart repairs. */
  onFailure?: ((error: Error) => void) | undefined
  /** `caller` is only for a simulated clock: otherwise all servers use the clock of their database. */
  clock?: 'server' | 'caller'
  /** The time limit of one operation on PostgreSQL; default: 10 s. */
  answer_max_ms?: number | undefined
  /** The number of SQLite's reader threads for long queries; default: 0, all reads run in this thread. */
  reading_threads?: number
}

/**
 * Opens the storage that a URL names. Loads only the engine of the URL.
 * @throws Error for a URL of an unknown engine.
 */
export async function openStorage(
  url: string,
  runtime: Runtime,
  {
    onFailure = () => {},
    clock = 'server',
    answer_max_ms,
    reading_threads = 0,
  }: StorageOptions = {},
): Promise<Storage> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    const { openSqlite } = await import('./sqlite/sqlite.ts')
    return openSqlite(named.file, runtime, { onFailure, reading_threads })
  }
  const { openPostgres } = await import('./postgres/postgres.ts')
  return openPostgres(named.url, runtime, { clock, answer_max_ms })
}
