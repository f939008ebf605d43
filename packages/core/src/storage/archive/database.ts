import type { MigrationStatus } from '../migrations.ts'
import type { ArchiveTable } from './tables.ts'

/** A value in an archive. Times are milliseconds since 1970, JSON is its text as `JSON.stringify` writes it. */
export type Value = string | number | boolean | null

/** The values of a row, in the order of its table's columns. The same on every engine. */
export type Row = Value[]

/** The tables of one consistent snapshot. */
export interface TableReader {
  count(table: ArchiveTable): Promise<number>
  /** Every row, in batches of a bounded size. */
  rows(table: ArchiveTable): AsyncIterable<Row[]>
}

/** Tables that are being filled; reads include the inserted rows. */
export interface TableWriter extends TableReader {
  /** Blocks other writers of a table; returns whether it has no row. */
  take(table: ArchiveTable): Promise<boolean>
  insert(table: ArchiveTable, rows: readonly Row[]): Promise<void>
}

/**
 * The functions of an engine that move a whole database. Nothing stays open between two calls, and nothing is
 * dispatched.
 */
export interface ArchiveDatabase {
  readonly engine: 'sqlite' | 'postgres'
  /** The state of its schema. Changes nothing. */
  status(): Promise<MigrationStatus>
  /**
   * Brings it to the program's schema; returns the names of the steps that ran.
   * @throws Error when it was made by a newer version.
   */
  migrate(): Promise<string[]>
  /**
   * One consistent snapshot, in constant memory. With `alone` no server may run on it, and none can start to dispatch
   * meanwhile, so that nothing is accepted after the snapshot.
   * @throws Error `in_use` where a server runs.
   */
  read<T>(options: { alone: boolean }, work: (reader: TableReader) => Promise<T>): Promise<T>
  /**
   * Brings it to the first `steps` of the schema, lets `work` fill it, and brings it to the whole schema: one
   * transaction. If anything fails, nothing is written.
   * @throws Error `in_use` when a server runs on it; `not_empty` when its schema is past those steps already.
   */
  fill<T>(steps: number, work: (writer: TableWriter) => Promise<T>): Promise<T>
}

/** The maximum number of rows of a batch. */
export const BATCH_ROWS_MAX = 256
/** The number of characters that end a batch before that. */
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
