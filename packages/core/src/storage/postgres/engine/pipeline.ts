import pg from 'pg'
import { isEndedByServer } from './failure.ts'
import { parsers } from './parsers.ts'

/** A statement that each connection prepares once. */
export interface Prepared {
  /** The name, which is unique among all statements. */
  readonly name: string
  readonly text: string
}

/** Sends statements in order. Statements of one turn of the event loop travel together. */
export interface Pipeline {
  run(statement: Prepared, values?: readonly unknown[]): Promise<unknown[]>
  /** Resolves when all statements so far have succeeded; rejects with the first error. */
  succeeded(): Promise<unknown>
  /** Resolves when all statements so far have ended. */
  ended(): Promise<unknown>
  /** Whether the server certainly did not run the last statement: it ended the session at an earlier one. */
  lastSkipped(): boolean
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

/** A pipeline on a connection. */
export function pipelineOn(client: pg.ClientBase): Pipeline {
  const batches: Promise<unknown>[] = []
  let last: Batch | null = null
  let open: Batch | null = null
  return {
    run(statement, values = []) {
      if (!open) {
        const batch = new Batch(sessionOf(client))
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
  private readonly session: Session

  constructor(session: Session) {
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
    if (performance.now() - session.planned_ms > PLANS_MAX_MS) {
      session.planned_ms = performance.now()
      const [resolve, reject] = [() => {}, () => {}]
      statements.unshift({ statement: DISCARD_PLANS, values: [], rows: [], resolve, reject })
    }
    wire.stream.cork()
    try {
      const parsed = new Set<string>()
      for (const { statement, values } of statements) {
        const { name, text } = statement
        if (!session.prepared.has(name) && !parsed.has(name)) {
          parsed.add(name)
          // An earlier batch that failed may have prepared it.
          wire.close({ type: 'S', name })
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
    const columns = sent && (this.session.prepared.get(sent.statement.name) ?? this.described)
    if (!columns) return
    try {
      sent.rows.push(rowOf(columns, fields))
    } catch (error) {
      this.failure ??= error
    }
  }

  handleCommandComplete(): void {
    const name = this.statements[this.next]?.statement.name
    if (name !== undefined && !this.session.prepared.has(name)) {
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
      this.session.prepared.delete(statement.name)
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
