import type { CountUnit } from '../../rows/messages.ts'
import type { MigrationStatus } from '../../storage/migrations.ts'
import { refusal } from '../refusal.ts'

/** The values of a statement's named parameters, such as `:workspace`. */
export type NamedValues = Readonly<Record<string, string | number | Date | null>>

/** The type of a column. */
export type ValueType = 'text' | 'json' | 'number' | 'boolean' | 'time'

/** A consistent snapshot of a database, for reading only. */
export interface Snapshot {
  /**
   * Runs one statement with `:name` parameters; times are `Date`. A text may contain `indexed by` for SQLite, which has
   * no statistics here and would scan a whole workspace instead of the index of references.
   */
  rows<Row>(text: string, values?: NamedValues): Promise<Row[]>
  /** SQL: whether a value, which is not null, has another type. */
  isNo(type: ValueType, column: string): string
  /** SQL for the value of a column as text; for contents only their length. */
  shown(type: ValueType, column: string, options: { isContent: boolean }): string
  /** The name of the table itself, where a `with` clause has the same name. */
  base(table: string): string
  /** SQL: the start of the period (UTC) of a time, as in `message_counts`. */
  startOf(unit: CountUnit, column: string): string
  /** The months of history that were removed and whose totals by day and hour are still there; null means from the beginning. */
  leavingMonths(): Promise<{ from: Date | null; until: Date }[]>
  /** SQL for a whole number from 1 to 2^30 that differs for most pairs of texts. */
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
