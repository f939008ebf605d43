import { fileURLToPath } from 'node:url'
import { assertInstalled } from '../runtime/optional-packages.ts'

/** Whether commits are flushed to disk. */
export type Durability = 'disk' | 'none'

/** The URL of an empty database that exists until it is closed. */
export const MEMORY_URL = ':memory:'

/** The database of a URL: a file, or a server. */
export type DatabaseUrl = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }

/**
 * Reads a database's URL: `file:relative/path`, `file:/absolute` and `file:///absolute`, or `postgres://…`.
 * @throws Error for a URL of an unknown engine; with `code` `package_missing`, if the package of the engine is not installed.
 */
export function readDatabaseUrl(url: string): DatabaseUrl {
  if (url.startsWith('file://')) return { engine: 'sqlite', file: fileURLToPath(url) }
  if (url.startsWith('file:')) return { engine: 'sqlite', file: url.slice('file:'.length) }
  if (/^postgres(ql)?:/.test(url)) {
    assertInstalled('database_url: PostgreSQL', ['pg'])
    return { engine: 'postgres', url }
  }
  if (url === MEMORY_URL) {
    throw new Error(
      "database_url: ':memory:' keeps nothing after a stop: write createCore({ database_url: ':memory:', durability: 'none' }), for tests only",
    )
  }
  throw new Error(`database_url must begin with file: or postgres:, not ${url.split(':')[0]}:`)
}

/**
 * The URLs of the single servers of a PostgreSQL URL that names several, as libpq reads it: `postgres://a:5432,b/svc`. Source:
 * PostgreSQL documentation, 32.1.1.3 "Specifying Multiple Hosts".
 */
export function serversOf(url: string): string[] {
  const { scheme = '', user = '', hosts = '', rest = '' } = url.match(SERVERS)?.groups ?? {}
  if (!hosts.includes(',')) return [url]
  return hosts.split(',').map((host) => `${scheme}${user}${host}${rest}`)
}

const SERVERS = /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^@/?#]*@)?(?<hosts>[^/?#]*)(?<rest>.*)$/s
