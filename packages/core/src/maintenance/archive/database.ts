import type { Log } from '../../runtime/runtime.ts'
import type { MigrationStatus } from '../../storage/migrations.ts'
import type { ArchiveTable } from './tables.ts'

/** A value in an archive. A time is milliseconds since 1970, JSON is a text of `JSON.stringify`. */
export type Value = string | number | boolean | null

/** The values of a row, in the order of its table's columns. They are the same on every engine. */
export type Row = Value[]

/** The tables of one consistent snapshot. */
export interface TableReader {
  count(table: ArchiveTable): Promise<number>
  /** Every row, in batches of a bounded size. */
  rows(table: ArchiveTable): AsyncIterable<Row[]>
}

/** Tables that are being filled; reads include the inserted rows. */
export interface TableWriter extends TableReader {
  /** Blocks other writers of a table; returns whether the table is empty. */
  take(table: ArchiveTable): Promise<boolean>
  insert(table: ArchiveTable, rows: readonly Row[]): Promise<void>
}

/** What a migration of a database has to consider. */
export interface DatabaseLoad {
  /** The approximate number of rows of each table. */
  rows: ReadonlyMap<string, number>
  /** The sessions of servers of older versions on PostgreSQL; 1 while any server runs on a SQLite file. */
  older_sessions: number
}

/** Options of a migration. */
export interface MigrateDatabaseOptions {
  /** Receives what runs, in texts for operators. */
  log?: Pick<Log, 'info' | 'warn'> | undefined
  /** Runs steps that servers of older versions do not survive even while such servers are connected (PostgreSQL). */
  force?: boolean | undefined
}

/**
 * The functions of an engine that move a whole database. No connection stays open between two calls, and no work is
 * dispatched.
 */
export interface ArchiveDatabase {
  readonly engine: 'sqlite' | 'postgres'
  /** Returns the state of the schema. Changes nothing. */
  status(): Promise<MigrationStatus>
  /** Returns the sizes of tables as far as the engine knows them, and what runs on the database. */
  load(tables: readonly string[]): Promise<DatabaseLoad>
  /**
   * Migrates the database to the program's schema; returns the names of the steps that ran.
   * @throws Error when a newer version made the database, or servers run that would not survive a step.
   */
  migrate(options?: MigrateDatabaseOptions): Promise<string[]>
  /**
   * Reads one consistent snapshot, in constant memory. With `alone`, no server may run on the database and none can
   * start to dispatch meanwhile, so that no request is accepted after the snapshot.
   * @throws Error `in_use` with `alone`, when a server runs.
   */
  read<T>(options: { alone: boolean }, work: (reader: TableReader) => Promise<T>): Promise<T>
  /**
   * Applies the first `steps` migrations, lets `work` fill the tables, and applies the other migrations, in one
   * transaction. If anything fails, nothing is written.
   * @throws Error `in_use` when a server runs on it; `not_empty` when its schema already has more steps.
   */
  fill<T>(steps: number, work: (writer: TableWriter) => Promise<T>): Promise<T>
}

/** The maximum number of rows of a batch. */
export const BATCH_ROWS_MAX = 256
/** The number of characters after which a batch ends, even with fewer rows. */
export const BATCH_TEXT = 1024 * 1024

/** The approximate size of a row in memory, in characters. */
export function sizeOf(row: Row): number {
  let size = 0
  for (const value of row) size += typeof value === 'string' ? value.length : 8
  return size
}

/** A JSON text in its normal form, independent of an engine's white space. */
export function plainJson(text: string): string {
  return JSON.stringify(JSON.parse(text))
}
