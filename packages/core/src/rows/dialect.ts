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
 * The words in which the two engines differ. PostgreSQL gives the types, because its builders have no SQLite-only
 * calls; SQLite is made to fit by one cast. Both yield the same rows: Date, boolean, parsed JSON, number, string.
 */
const postgres = {
  table: pgTable,
  index,
  uniqueIndex,
  primaryKey,
  check,
  text: () => text(),
  int: () => integer(),
  /** May pass 2^31, never 2^53. */
  long: () => bigint({ mode: 'number' }),
  /** Whole micro-credits. */
  units: () => bigint({ mode: 'number' }).$type<Units>(),
  boolean: () => boolean(),
  time: () => timestamp({ withTimezone: true, precision: 3 }),
  /** As text: a binary form would forget the order of the keys. */
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

/** What the shared stores query through, on either engine. */
export type Db = PgDatabase<PgQueryResultHKT>

/** `count(*)` as a JavaScript number on both engines. */
export const rowCount = sql<number>`cast(count(*) as integer)`
