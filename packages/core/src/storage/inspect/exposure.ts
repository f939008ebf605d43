import { readDatabaseUrl } from '../database-url.ts'

/**
 * Whether what is said to the database crosses a network unencrypted: its server is on another host, and the URL (or
 * PGSSLMODE) asks for no TLS. Nothing is connected to.
 * @throws Error for a URL that no engine can read.
 */
export async function isDatabaseExposed(url: string): Promise<boolean> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') return false
  const { isExposed } = await import('../postgres/engine/connection.ts')
  return isExposed(named.url)
}
