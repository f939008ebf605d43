import type pg from 'pg'
import { askOnce, type OnCommit, retrying, transact } from './transaction.ts'

/** A statement that each connection prepares once. */
export interface Statement<Row = unknown> {
  /** Unique among all statements. */
  readonly name: string
  readonly text: string
  /** For the compiler alone: what its rows look like. */
  readonly row?: Row
}

/** A statement whose first value is a batch of rows. */
export interface RowsStatement<Row> extends Statement {
  /** The rows as JSON, in as many texts as their size asks for; none for no rows. */
  textsOf(rows: readonly Row[]): string[]
}

/** Names a statement, and says what its rows look like. */
export function statement<Row>(name: string, text: string): Statement<Row> {
  return { name, text }
}

/** A transaction under way. Statements are sent at once and run in their order: whoever waits, waits once for all. */
export interface Transaction {
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>
  /** Sends a statement that takes rows, if there are any. If it fails, so does the transaction. */
  write<Row>(statement: RowsStatement<Row>, rows: readonly Row[], ...values: unknown[]): void
}

/** Prepared statements on a pool, alone or in transactions. */
export interface Database {
  /** A statement on its own. If its connection is lost it is done again, though it may have been done. */
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>
  /**
   * Runs `work` in a transaction and resolves after its commit is durable. It may be done again, and must have no
   * effect but its statements.
   */
  transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
}

/** A pool's prepared side. Errors come out without the values they are about. */
export function databaseOn(
  pool: pg.Pool,
  {
    onCommit,
    ...bounds
  }: {
    random: () => number
    answer_max_ms: number
    onCommit?: OnCommit | undefined
    onError?: ((error: unknown) => void) | undefined
  },
): Database {
  const again = retrying(bounds)
  return {
    rows: <Row>(asked: Statement<Row>, ...values: unknown[]) =>
      again(
        async (fate) =>
          (await askOnce(pool, configOf(asked, values), undefined, fate)).rows as Row[],
      ),
    transact: (work) =>
      again((fate) =>
        transact(
          pool,
          (ask) =>
            work({
              rows: async <Row>(asked: Statement<Row>, ...values: unknown[]) =>
                (await ask(configOf(asked, values))).rows as Row[],
              write(asked, rows, ...values) {
                for (const text of asked.textsOf(rows)) ask(configOf(asked, [text, ...values]))
              },
            }),
          fate,
          onCommit,
        ),
      ),
  }
}

function configOf({ name, text }: Statement, values: unknown[]): pg.QueryConfig {
  return { name, text, values }
}
