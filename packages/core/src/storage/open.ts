import { fileURLToPath } from 'node:url'
import type { Runtime } from '../runtime.ts'
import type { Storage } from './storage.ts'

/**
 * Opens the storage that a URL names, loading only that engine.
 * @throws Error for a URL of no known engine.
 */
export async function openStorage(
  url: string,
  runtime: Runtime,
  { onFailure }: { onFailure?: ((error: Error) => void) | undefined } = {},
): Promise<Storage> {
  if (url.startsWith('file:')) {
    const { openSqlite } = await import('./sqlite/sqlite.ts')
    return openSqlite(fileOf(url), runtime, onFailure ? { onFailure } : {})
  }
  throw new Error(`SVC_DATABASE_URL must begin with file: — got ${url.split(':')[0]}:`)
}

/** `file:relative/path`, `file:/absolute` and `file:///absolute` alike. */
function fileOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
}
