import { refusal } from '../archive/refusal.ts'
import type { MigrationStatus } from '../migrations.ts'

/** A value in a statement, by its name: `:workspace`. */
export type NamedValues = Readonly<Record<string, string | number | Date | null>>

/** What a column holds. */
export type ValueType = 'text' | 'json' | 'number' | 'boolean' | 'time'

/** A database as it stands at one moment. Nothing can be changed through it. */
export interface Snapshot {
  /**
   * The rows of one statement, whose values stand as `:name`; times are given as `Date`. What stands `indexed by` is for
   * SQLite, which has no statistics here and reads a whole workspace rather than look a reference up in its index.
   */
  rows<Row>(text: string, values?: NamedValues): Promise<Row[]>
  /** SQL: whether a value that is not null is none of the type. */
  isNo(type: ValueType, column: string): string
  /** SQL for what stands in a column, as text; of contents only how much it is. */
  shown(type: ValueType, column: string, options: { isContent: boolean }): string
  /** A table, where a `with` has its name. */
  base(table: string): string
  /** SQL for a whole number from 1 to 2^30 by which two texts are told from each other, mostly. */
  markOf(column: string): string
}

/** @throws Error unless the database has the program's schema. */
export function assertReadable({ applied, pending, is_newer }: MigrationStatus): void {
  if (is_newer) throw refusal('newer', 'the database was made by a newer version of svc')
  if (applied.length === 0) {
    throw refusal('not_found', 'the database is none of svc: it has no tables')
  }
  const [next] = pending
  if (next) {
    throw refusal('behind', `the database is not at the schema of this program: ${next} is missing`)
  }
}
