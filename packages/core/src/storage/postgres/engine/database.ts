import type pg from 'pg'
import { type Pipeline, type Prepared, pipelineOn } from './pipeline.ts'
import { type OnCommit, retrying, type Sender, transact, using } from './transaction.ts'

/** A prepared statement with the type of its rows. */
export interface Statement<Row = unknown> extends Prepared {
  /** The type of the statement's rows, only for the compiler. */
  readonly row?: Row
}

/** A statement whose first two values are a batch of rows. */
export interface RowsStatement<Row> extends Statement {
  /** These values for the rows, which are split by size; an empty array for no rows. */
  batchesOf(rows: readonly Row[]): [string, string][]
}

/** Names a statement, and declares the type of its rows. */
export function statement<Row>(name: string, text: string): Statement<Row> {
  return { name, text }
}

/** A transaction in progress. Statements of one turn travel together and run in order, so one wait covers all of them. */
export interface Transaction {
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>
  /** Sends a statement for these rows, if there are any. If the statement fails, the transaction fails. */
  write<Row>(statement: RowsStatement<Row>, rows: readonly Row[], ...values: unknown[]): void
}

/** Prepared statements on a pool, alone or in transactions. */
export interface Database {
  /** Runs one statement. After a lost connection it runs again, even if it may have run. */
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>
  /**
   * Sends these statements together, as one transaction; returns the rows of each. After a lost connection they run
   * again, even if they may have run.
   */
  together(...statements: readonly (readonly [Statement, ...unknown[]])[]): Promise<unknown[][]>
  /**
   * Runs `work` in a transaction and resolves after its commit is durable. It may run again, and must have no effect
   * except its statements.
   */
  transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
}

/** The prepared statements of a pool. Errors do not contain the values of rows. */
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
  const sendTogether = (statements: readonly (readonly [Statement, ...unknown[]])[]) =>
    again(({ until }) =>
      using(pool, until, (client) => {
        const { run } = pipelineOn(client)
        return Promise.all(statements.map(([statement, ...values]) => run(statement, values)))
      }),
    )
  return {
    rows: async <Row>(...statement: [Statement<Row>, ...unknown[]]) =>
      (await sendTogether([statement]))[0] as Row[],
    together: (...statements) => sendTogether(statements),
    transact: (work) =>
      again((fate) =>
        transact(pool, together, (send) => work(transactionOf(send)), fate, onCommit),
      ),
  }
}

/** Sends the statements of one turn together. */
function together(client: pg.ClientBase): Sender<Pipeline['run']> {
  const { run, ...pipeline } = pipelineOn(client)
  return { send: run, command: (text) => void run({ name: text, text }), ...pipeline }
}

function transactionOf(run: Pipeline['run']): Transaction {
  return {
    rows: <Row>(statement: Statement<Row>, ...values: unknown[]) =>
      run(statement, values) as Promise<Row[]>,
    write(statement, rows, ...values) {
      for (const batch of statement.batchesOf(rows)) void run(statement, [...batch, ...values])
    },
  }
}
