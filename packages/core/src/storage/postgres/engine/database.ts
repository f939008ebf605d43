import pg from 'pg'
import type { HandOver } from '../../queueing.ts'
import { isCommitUnknown, isEndedByServer } from './failure.ts'
import { type Bounds, type Pool, type Sender, worker } from './transaction.ts'

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
  /** Hands over this work, for which room is reserved, once the transaction is durable. */
  hold(handOver: HandOver): void
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
export function databaseOn(pool: Pool, bounds: Bounds): Database {
  const { together: sendTogether, transact } = worker(pool, bounds)
  const pipelined = (client: pg.ClientBase) => senderOn(client, pool)
  const together = (...statements: readonly (readonly [Statement, ...unknown[]])[]) =>
    sendTogether(pipelined, (run) =>
      Promise.all(statements.map(([statement, ...values]) => run(statement, values))),
    )
  return {
    rows: async <Row>(...statement: [Statement<Row>, ...unknown[]]) =>
      (await together(statement))[0] as Row[],
    together,
    async transact(work) {
      const held: HandOver[] = []
      try {
        const done = await transact(pipelined, (run) => {
          // The transaction may be a repetition.
          for (const before of held.splice(0)) before.release()
          return work(transactionOf(run, held))
        })
        for (const each of held) each.handOver()
        return done
      } catch (error) {
        for (const each of held) {
          if (isCommitUnknown(error)) each.giveBack()
          else each.release()
        }
        throw error
      }
    },
  }
}

/** Sends the statements of one turn together. */
function senderOn(client: pg.ClientBase, { begin }: Pool): Sender<Pipeline['run']> {
  const { run, ...pipeline } = pipelineOn(client, begin ? null : sessionOf(client))
  return { send: run, command: (text) => void run({ name: text, text }), ...pipeline }
}

function transactionOf(run: Pipeline['run'], held: HandOver[]): Transaction {
  return {
    rows: <Row>(statement: Statement<Row>, ...values: unknown[]) =>
      run(statement, values) as Promise<Row[]>,
    write(statement, rows, ...values) {
      if (rows.length === 0) return
      for (const batch of statement.batchesOf(rows)) void run(statement, [...batch, ...values])
    },
    hold: (handOver) => held.push(handOver),
  }
}

const { builtins } = pg.types

/** The parser for each type. The values get the types of the stores' rows. */
export const parsers: pg.CustomTypesConfig = {
  getTypeParser(type: number, format?: 'text' | 'binary') {
    if (format === 'binary') return pg.types.getTypeParser(type, format)
    if (type === builtins.INT8) return parseLong
    if (type === builtins.TIMESTAMPTZ) return parseTime
    return pg.types.getTypeParser(type, 'text')
  },
}

/**
 * A 64-bit number as a JavaScript number.
 * @throws RangeError when the result is not exact.
 */
function parseLong(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is past 2^53`)
  return value
}

/** Sessions have the time zone UTC and the ISO style: `2026-05-04 09:00:00.5+00`. */
function parseTime(text: string): Date {
  return new Date(text)
}

/** A statement that each connection prepares once. */
interface Prepared {
  /** The name, which is unique among all statements. */
  readonly name: string
  readonly text: string
}

/** Sends statements in order. Statements of one turn of the event loop travel together. */
interface Pipeline extends Omit<Sender<unknown>, 'send' | 'command'> {
  run(statement: Prepared, values?: readonly unknown[]): Promise<unknown[]>
}

/**
 * The age at which the plans of a connection are made again. Plans that fit any parameters save the planning, which took
 * half of the database's time at a low load. But a plan made for an empty table can be wrong for a full one: a plan
 * that was made for an empty queue scanned all of its 600,000 rows for each row.
 */
const PLANS_MAX_MS = 2_000

const DISCARD_PLANS: Prepared = { name: 'discard_plans', text: 'discard plans' }

/** The columns of a statement's rows. */
interface Columns {
  names: string[]
  parsers: ((text: string) => unknown)[]
}

/** A connection's prepared statements. */
interface Session {
  prepared: Map<string, Columns>
  planned_ms: number
}

const sessions = new WeakMap<pg.ClientBase, Session>()

/** A pipeline on a connection. Without a session, nothing stays prepared. */
export function pipelineOn(
  client: pg.ClientBase,
  session: Session | null = sessionOf(client),
): Pipeline {
  const batches: Promise<unknown>[] = []
  let last: Batch | null = null
  let open: Batch | null = null
  return {
    run(statement, values = []) {
      if (!open) {
        const batch = new Batch(session)
        open = batch
        batch.after = last
        last = batch
        const ended = new Promise<unknown>((resolve, reject) => {
          batch.callback = (error) => (error ? reject(error) : resolve(null))
        })
        // The error is reported by `succeeded`; until then a rejection must not count as unhandled.
        ended.catch(() => {})
        batches.push(ended)
        process.nextTick(() => {
          open = null
          client.query(batch)
        })
      }
      return open.add(statement, values)
    },
    succeeded: () => Promise.all(batches),
    ended: () => Promise.allSettled(batches),
    lastSkipped: () => last?.isLastSkipped() ?? false,
  }
}

function sessionOf(client: pg.ClientBase): Session {
  const known = sessions.get(client)
  if (known) return known
  const session = { prepared: new Map(), planned_ms: performance.now() }
  sessions.set(client, session)
  return session
}

interface Sent {
  statement: Prepared
  /** The texts of the parameters. */
  values: (string | null)[]
  rows: unknown[]
  resolve: (rows: unknown[]) => void
  reject: (error: unknown) => void
}

/** The driver's connection, as far as its types lack it. */
interface Wire {
  stream: { cork(): void; uncork(): void }
  parse(query: Prepared): void
  bind(config: { statement: string; values: unknown[] }): void
  execute(config: null): void
  describe(message: { type: 'S'; name: string }): void
  close(message: { type: 'S'; name: string }): void
  sync(): void
}

/**
 * Statements that travel together and share one synchronization: one write, one response. Apart from the waiting, this saves
 * the description of the rows, a buffer, a timer and a promise of each statement. The driver accepts only its own
 * class of queries on a connection with a pipeline.
 */
class Batch extends pg.Query {
  readonly statements: Sent[] = []
  callback: (error?: unknown) => void = () => {}
  /** The batch before this one in the pipeline. */
  after: Batch | null = null
  /** The statements of which the server said that they are complete. */
  private next = 0
  private isEnded = false
  private described: Columns | null = null
  private failure: unknown
  private readonly session: Session | null

  constructor(session: Session | null) {
    super('')
    this.session = session
  }

  /** @throws RangeError for an invalid date, before anything is sent. */
  add(statement: Prepared, values: readonly unknown[]): Promise<unknown[]> {
    const texts = values.map(parameterOf)
    const result = new Promise<unknown[]>((resolve, reject) => {
      this.statements.push({ statement, values: texts, rows: [], resolve, reject })
    })
    result.catch(() => {})
    return result
  }

  override submit = (connection: unknown): void => {
    const wire = connection as Wire
    const { session, statements } = this
    if (session && performance.now() - session.planned_ms > PLANS_MAX_MS) {
      session.planned_ms = performance.now()
      const [resolve, reject] = [() => {}, () => {}]
      statements.unshift({ statement: DISCARD_PLANS, values: [], rows: [], resolve, reject })
    }
    wire.stream.cork()
    try {
      const parsed = new Set<string>()
      for (const { statement, values } of statements) {
        const { text } = statement
        const name = session ? statement.name : ''
        if (!session || !(session.prepared.has(name) || parsed.has(name))) {
          parsed.add(name)
          // An earlier batch that failed may have prepared it.
          if (session) wire.close({ type: 'S', name })
          wire.parse({ name, text })
          wire.describe({ type: 'S', name })
        }
        wire.bind({ statement: name, values })
        wire.execute(null)
      }
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
  }

  /** Called by the driver for a statement that is prepared now and returns rows. */
  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.described = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => parsers.getTypeParser(dataTypeID, 'text') as Parse),
    }
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const sent = this.statements[this.next]
    const columns = sent && (this.session?.prepared.get(sent.statement.name) ?? this.described)
    if (!columns) return
    try {
      sent.rows.push(rowOf(columns, fields))
    } catch (error) {
      this.failure ??= error
    }
  }

  handleCommandComplete(): void {
    const name = this.statements[this.next]?.statement.name
    if (name !== undefined && this.session && !this.session.prepared.has(name)) {
      this.session.prepared.set(name, this.described ?? NO_COLUMNS)
    }
    this.described = null
    this.next += 1
  }

  handleReadyForQuery(): void {
    if (this.failure) {
      this.handleError(this.failure)
      return
    }
    for (const { rows, resolve } of this.statements) resolve(rows)
    this.callback()
  }

  isLastSkipped(): boolean {
    for (let before = this.after; before; before = before.after) if (before.isEnded) return true
    return this.isEnded && this.next < this.statements.length - 1
  }

  handleError(error: unknown): void {
    this.isEnded = isEndedByServer(error)
    for (const { statement, reject } of this.statements) {
      // A batch that follows a failed one closes the statement, and cannot prepare it again in that transaction.
      this.session?.prepared.delete(statement.name)
      reject(error)
    }
    this.callback(error)
  }
}

type Parse = (text: string) => unknown

const NO_COLUMNS: Columns = { names: [], parsers: [] }

function rowOf({ names, parsers }: Columns, texts: readonly (string | null)[]): unknown {
  const row: Record<string, unknown> = {}
  for (let i = 0; i < names.length; i++) {
    const text = texts[i] ?? null
    row[names[i] as string] = text === null ? null : (parsers[i] as Parse)(text)
  }
  return row
}

/** A value as the text of a parameter. */
function parameterOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`
  if (value instanceof Date) return value.toISOString()
  return String(value)
}

/** A value as an element of an array in a parameter. */
function elementOf(value: unknown): string {
  const text = parameterOf(value)
  return text === null ? 'NULL' : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/**
 * The maximum length of such a text, unless a single row is longer: a batch of e-mails can exceed the longest string.
 */
const TEXT_MAX = 8 * 1024 * 1024

/** The parameters `$1` and `$2` for these columns of the rows; `$1` is of a bounded size. */
export function batchesOf(
  columns: readonly string[],
): (rows: readonly object[]) => [string, string][] {
  return (rows) => {
    const [first, ...others] = rows as readonly Values[]
    if (!first) return []
    const isShared = (column: string) => others.every((row) => isSame(row[column], first[column]))
    const shared = columns.filter(isShared)
    const own = columns.filter((column) => !shared.includes(column))
    const sharedText = JSON.stringify(pick(first, shared))
    return textsOf([first, ...others], own).map((text) => [text, sharedText])
  }
}

type Values = Record<string, unknown>

/** The values of these columns, without nulls: an absent value is null. */
function pick(row: Values, columns: readonly string[]): Values {
  const picked: Values = {}
  for (const column of columns) {
    const value = row[column]
    if (value !== null) picked[column] = value
  }
  return picked
}

/** Whether two values are written alike, for sure: equal objects may count as different. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())
}

/** These columns of the rows as JSON arrays of a bounded size. */
function textsOf(rows: readonly Values[], columns: readonly string[]): string[] {
  const texts: string[] = []
  let size = 0
  let some: string[] = []
  const flush = () => {
    if (some.length > 0) texts.push(`[${some.join(',')}]`)
    some = []
    size = 0
  }
  for (const row of rows) {
    const text = JSON.stringify(pick(row, columns))
    if (size + text.length > TEXT_MAX) flush()
    some.push(text)
    size += text.length
  }
  flush()
  return texts
}
