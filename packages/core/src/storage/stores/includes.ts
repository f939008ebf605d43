import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

/**
 * Whether a text has `part` in it, by its letters: no character of it is a wildcard. Both must be folded beforehand,
 * because the engines fold differently.
 */
export function includes(column: PgColumn, part: string): SQL {
  return sql`${column} like ${`%${part.replace(/[!%_]/g, '!$&')}%`} escape '!'`
}
