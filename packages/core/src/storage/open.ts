import type { Runtime } from '../runtime/runtime.ts'
import { readDatabaseUrl } from './database-url.ts'
import type { Storage } from './ports/storage.ts'

export interface StorageOptions {
  /** Told when the database failed in a way that only a restart mends. */
  onFailure?: ((error: Error) => void) | undefined
  /** `given` only under a simulated clock: several servers otherwise go by the clock of their database. */
  clock?: 'server' | 'given'
  /** How long PostgreSQL may take to do one thing before whoever asked is told that it failed; 10 s unless told. */
  answer_max_ms?: number | undefined
  /** Threads in which SQLite reads what may take long; 0, unless told, reads in this thread. */
  reading_threads?: number
}

/**
 * Opens the storage that a URL names, loading only that engine.
 * @throws Error for a URL of no known engine.
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
