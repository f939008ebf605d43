import type { Runtime } from '../runtime/runtime.ts'
import { type Durability, MEMORY_URL, readDatabaseUrl } from './database-url.ts'
import type { Storage } from './ports/storage.ts'

export interface StorageOptions {
  /** Called when the database failed in a way that only a restart repairs. */
  onFailure?: ((error: Error) => void) | undefined
  /** `caller` is only for a simulated clock: otherwise all servers use the clock of their database. */
  clock?: 'server' | 'caller'
  /** The URL of the same PostgreSQL database without a pooler. */
  direct_url?: string | undefined
  /** The URLs of standbys of the PostgreSQL database, for reads. */
  replica_urls?: readonly string[] | undefined
  /** How far behind such a standby may be, and how long a read waits for it; default: 250 ms. */
  replica_max_lag_ms?: number | undefined
  /** The time limit of one operation on PostgreSQL; default: 10 s. */
  answer_max_ms?: number | undefined
  /** The number of SQLite's reader threads for long queries; default: 0, all reads run in this thread. */
  reading_threads?: number
  /** Default `disk`. `none` is for SQLite only. */
  durability?: Durability | undefined
}

/**
 * Opens the storage that a URL names. Loads only the engine of the URL.
 * @throws Error for a URL of an unknown engine, and for a durability that the engine does not have.
 */
export async function openStorage(
  url: string,
  runtime: Runtime,
  {
    onFailure = () => {},
    clock = 'server',
    direct_url,
    replica_urls,
    replica_max_lag_ms,
    answer_max_ms,
    reading_threads = 0,
    durability = 'disk',
  }: StorageOptions = {},
): Promise<Storage> {
  if (durability !== 'disk' && durability !== 'none') {
    throw new RangeError(`durability: "${durability}" must be "disk" or "none"`)
  }
  if (url === MEMORY_URL && durability === 'none') {
    const { openTemporary } = await import('./sqlite/sqlite.ts')
    return openTemporary(runtime, { onFailure, reading_threads })
  }
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    if (direct_url !== undefined) throw new RangeError('database_direct_url is only for PostgreSQL')
    if (replica_urls?.length) {
      throw new RangeError('database_replica_urls is only for PostgreSQL')
    }
    const { openSqlite } = await import('./sqlite/sqlite.ts')
    return openSqlite(named.file, runtime, { onFailure, reading_threads, durability })
  }
  if (durability !== 'disk') {
    throw new RangeError(
      "durability: 'none' is only for SQLite; the settings fsync and synchronous_commit belong to the PostgreSQL server",
    )
  }
  if (direct_url !== undefined && readDatabaseUrl(direct_url).engine !== 'postgres') {
    throw new RangeError('database_direct_url must begin with postgres:')
  }
  if (replica_urls?.some((each) => readDatabaseUrl(each).engine !== 'postgres')) {
    throw new RangeError('database_replica_urls must begin with postgres:')
  }
  const { openPostgres } = await import('./postgres/postgres.ts')
  return openPostgres(named.url, runtime, {
    clock,
    answer_max_ms,
    direct_url,
    replica_urls,
    replica_max_lag_ms,
  })
}
