import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  json,
  type PgDatabase,
  type PgQueryResultHKT,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import * as lite from 'drizzle-orm/sqlite-core'
import type { Units } from '../contract/fields/units.ts'

/**
 * The column types that differ between the engines. Their TypeScript types are PostgreSQL's, because its builders have
 * no SQLite-only calls; a cast adapts SQLite. Both return the same values: Date, boolean, parsed JSON, number, string.
 */
const postgres = {
  table: pgTable,
  index,
  uniqueIndex,
  primaryKey,
  check,
  text: () => text(),
  int: () => integer(),
  /** A whole number below 2^53. */
  long: () => bigint({ mode: 'number' }),
  /** An amount in whole micro-credits. */
  units: () => bigint({ mode: 'number' }).$type<Units>(),
  boolean: () => boolean(),
  time: () => timestamp({ withTimezone: true, precision: 3 }),
  /** JSON is stored as text: a binary form would lose the order of the keys. */
  json: <T>() => json().$type<T>(),
}

export type Dialect = typeof postgres

const sqlite = {
  table: lite.sqliteTable,
  index: lite.index,
  uniqueIndex: lite.uniqueIndex,
  primaryKey: lite.primaryKey,
  check: lite.check,
  text: () => lite.text(),
  int: () => lite.integer(),
  long: () => lite.integer(),
  units: () => lite.integer(),
  boolean: () => lite.integer({ mode: 'boolean' }),
  time: () => lite.integer({ mode: 'timestamp_ms' }),
  json: <T>() => lite.text({ mode: 'json' }).$type<T>(),
} as unknown as Dialect

export const dialects = { postgres, sqlite }

/** The shared stores' database handle, on either engine. */
export type Db = PgDatabase<PgQueryResultHKT>

/** `count(*)` as a JavaScript number on both engines. */
export const rowCount = sql<number>`cast(count(*) as integer)`
