import type { MigrationStatus } from '../migrations.ts'
import type { ArchiveTable } from './tables.ts'

/** A value as it travels. Times are milliseconds since 1970, JSON is its text as `JSON.stringify` writes it. */
export type Value = string | number | boolean | null

/** The values of a row, in the order of its table's columns. The same on every engine. */
export type Row = Value[]

/** Tables as they stand at one moment. */
export interface TableReader {
  count(table: ArchiveTable): Promise<number>
  /** Every row, in batches of a bounded size. */
  rows(table: ArchiveTable): AsyncIterable<Row[]>
}

/** Tables that are being filled; reads see what was inserted. */
export interface TableWriter extends TableReader {
  /** Keeps everybody else from writing to a table; answers whether it has no row. */
  take(table: ArchiveTable): Promise<boolean>
  insert(table: ArchiveTable, rows: readonly Row[]): Promise<void>
}

/** What an engine gives for moving a database as a whole. Nothing is open between two calls, and nothing dispatches. */
export interface ArchiveDatabase {
  readonly engine: 'sqlite' | 'postgres'
  /** How far its schema is. Changes nothing. */
  status(): Promise<MigrationStatus>
  /**
   * Brings it to the program's schema; answers the names of the steps that ran.
   * @throws Error when it was made by a newer version.
   */
  migrate(): Promise<string[]>
  /**
   * One consistent snapshot, with flat memory. With `alone` no server may run on it, and none begins to dispatch
   * meanwhile, so that nothing is accepted later than what is read.
   * @throws Error `in_use` where `alone` cannot be had.
   */
  read<T>(options: { alone: boolean }, work: (reader: TableReader) => Promise<T>): Promise<T>
  /**
   * Brings it to the first `steps` of the schema, lets `work` fill it, and brings it to the whole: one transaction. If
   * anything fails, nothing happened.
   * @throws Error `in_use` when a server runs on it; `not_empty` when its schema is past those steps already.
   */
  fill<T>(steps: number, work: (writer: TableWriter) => Promise<T>): Promise<T>
}

/** How many rows a batch has at the most. */
export const BATCH_ROWS_MAX = 256
/** How many characters of text end a batch before that. */
export const BATCH_TEXT = 1024 * 1024

/** Roughly what a row takes in memory, in characters. */
export function sizeOf(row: Row): number {
  let size = 0
  for (const value of row) size += typeof value === 'string' ? value.length : 8
  return size
}

/** A JSON text in the one form in which it travels, whichever way an engine spaced it. */
export function plainJson(text: string): string {
  return JSON.stringify(JSON.parse(text))
}
