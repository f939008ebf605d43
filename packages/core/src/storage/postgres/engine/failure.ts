import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { SvcError } from '../../../contract/errors.ts'

/** Serialization failure, deadlock, lock timeout: nothing was written. */
const CONTENTION = new Set(['40001', '40P01', '55P03'])

/**
 * SQLSTATEs and system codes: the connection or the server is lost or takes no writes, the session was idle too long,
 * or no connection was free.
 */
const GONE =
  /^(08...|25006|25P0[34]|53300|57P0[1-3]|ECONN(RESET|REFUSED|ABORTED)|E(PIPE|NOTCONN|TIMEDOUT|NOENT|HOSTUNREACH|NETUNREACH|AI_AGAIN))$/
/** The driver's messages for errors without a code. */
const TERMINATED =
  /^(Connection terminated|Client has encountered a connection error|timeout expired|Query read timeout)/

const RETRY_AFTER_S = 5

const AWAY = 'DatabaseAway'
const COMMIT_UNKNOWN = 'commit_unknown'

/** Whether the same work can succeed when it is repeated, because it only conflicted with other transactions. */
export function isContention(error: unknown): boolean {
  return CONTENTION.has(codeOf(error))
}

/** Whether an error means that the disk takes no writes: it is full, it failed, or its data is damaged. */
export function refusesWrites(error: unknown): boolean {
  return /^(53100|58...|XX00[12])$/.test(codeOf(error))
}

/** Whether a statement does not fit the tables: a table or a column is missing, or a column has another type. */
export function isMisfit(error: unknown): boolean {
  return /^(42703|42P01|42804|42883|42P10)$/.test(codeOf(error))
}

/** Whether the connection is lost. */
export function isGone(error: unknown): boolean {
  return GONE.test(codeOf(error)) || TERMINATED.test(textOf(causeOf(error)))
}

/**
 * Whether PostgreSQL itself ended the session and said so: it runs the statements of a session in order, so it ran none
 * after the one that failed with this. A pooler's own error proves nothing, because the server may have gone on. Only
 * PostgreSQL names the routine (PostgreSQL documentation, 55.8 "Error and Notice Message Fields").
 */
export function isEndedByServer(error: unknown): boolean {
  const { routine } = (causeOf(error) ?? {}) as { routine?: unknown }
  return /^57P0[1-3]$/.test(codeOf(error)) && routine !== undefined
}

/**
 * The error for work whose connection was lost. The work was not done; but if its commit had been sent, the outcome is
 * unknown, and only idempotent work may be repeated.
 */
export function away(error: unknown, { commit_sent }: { commit_sent: boolean }): Error {
  const fate = commit_sent ? 'it is unknown whether this was committed' : 'this was not done'
  const text = textOf(causeOf(error))
  return Object.assign(new Error(`the database went away, and ${fate}: ${text}`), {
    name: AWAY,
    code: commit_sent ? COMMIT_UNKNOWN : 'not_done',
  })
}

/** Whether the connection was lost after the commit was sent. */
export function isCommitUnknown(error: unknown): boolean {
  return codeOf(error) === COMMIT_UNKNOWN
}

/**
 * Whether the failure is common to all callers: the database is unreachable, or the queue is full. Trying each caller
 * alone would only make them wait one after the other.
 */
export function isCommon(error: unknown): boolean {
  if (error instanceof SvcError) return error.code === 'rate_limit_exceeded'
  return error instanceof Error && error.name === AWAY
}

/** The error for callers that would wait too long: nothing was done. */
export function tooBusy(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: RETRY_AFTER_S,
  })
}

/** The error for the log: without the values of the failed statement and of its rows, which are personal data. */
export function withoutData(error: unknown): unknown {
  const cause = causeOf(error)
  if (!(cause instanceof pg.DatabaseError)) return cause
  const { code, table, constraint } = cause
  return Object.assign(new Error(cause.message), {
    name: 'PostgresError',
    code,
    ...(table && { table }),
    ...(constraint && { constraint }),
  })
}

/** The cause of a drizzle error; drizzle's own text quotes the statement and its values. */
function causeOf(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}

function codeOf(error: unknown): string {
  return String((causeOf(error) as { code?: unknown }).code ?? '')
}

/** The error in one line; a refused connection to several addresses has no message. */
export function textOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return String(message || code || error)
}

/** The text without the password. Any program may have written the text. */
export function withoutPassword(text: string, password: string | null | undefined): string {
  if (!password) return text
  return text.replaceAll(password, '***').replaceAll(encodeURIComponent(password), '***')
}
