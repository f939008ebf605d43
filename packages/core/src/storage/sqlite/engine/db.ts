import { drizzle } from 'drizzle-orm/sqlite-proxy'
import type { Db } from '../../../rows/dialect.ts'
import type { Query } from './query.ts'

/**
 * A drizzle handle that is asynchronous, as on PostgreSQL, so that both engines use the same stores. Not beside `Query`,
 * because a reader thread that loads drizzle takes a third more CPU to start.
 */
export function dbOver(query: Query): Db {
  return drizzle(query as Parameters<typeof drizzle>[0]) as unknown as Db
}
