import { fileURLToPath } from 'node:url'
import type { Runtime } from '../runtime.ts'
import type { Storage } from './storage.ts'

export interface StorageOptions {
  /** Told when the database failed in a way that only a restart mends. */
  onFailure?: ((error: Error) => void) | undefined
  /** `given` only under a simulated clock: several servers otherwise go by the clock of their database. */
  clock?: 'server' | 'given'
}

/**
 * Opens the storage that a URL names, loading only that engine.
 * @throws Error for a URL of no known engine.
 */
export async function openStorage(
  url: string,
  runtime: Runtime,
  { onFailure = () => {}, clock = 'server' }: StorageOptions = {},
): Promise<Storage> {
  if (url.startsWith('file:')) {
    const { openSqlite } = await import('./sqlite/sqlite.ts')
    return openSqlite(fileOf(url), runtime, { onFailure })
  }
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import('./postgres/postgres.ts')
    return openPostgres(url, runtime, { clock })
  }
  throw new Error(`SVC_DATABASE_URL must begin with file: or postgres: — got ${url.split(':')[0]}:`)
}

/** `file:relative/path`, `file:/absolute` and `file:///absolute` alike. */
function fileOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
}
