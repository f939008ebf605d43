import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { SvcError } from '../../../contract/errors.ts'

/** Serialization failure, deadlock, a lock that was not given in time: nothing was written. */
const CONTENTION = new Set(['40001', '40P01', '55P03'])

/**
 * The connection or the server went away or takes no writes any more, the session stood still too long, or there was no
 * room for one more: by SQLSTATE, or by the system's word.
 */
const GONE =
  /^(08...|25006|25P0[34]|53300|57P0[1-3]|ECONN(RESET|REFUSED|ABORTED)|E(PIPE|NOTCONN|TIMEDOUT|NOENT|HOSTUNREACH|NETUNREACH|AI_AGAIN))$/
/** What the driver says without a code. */
const TERMINATED =
  /^(Connection terminated|Client has encountered a connection error|timeout expired|Query read timeout)/

const RETRY_AFTER_S = 5

const AWAY = 'DatabaseAway'

/** Whether the same work, done again, can succeed because only somebody else was in the way. */
export function isContention(error: unknown): boolean {
  return CONTENTION.has(codeOf(error))
}

/** Whether an error means that the disk takes no writes: it is full, it failed, or its data is damaged. */
export function refusesWrites(error: unknown): boolean {
  return /^(53100|58...|XX00[12])$/.test(codeOf(error))
}

/** Whether the connection is lost. */
export function isGone(error: unknown): boolean {
  return GONE.test(codeOf(error)) || TERMINATED.test(textOf(causeOf(error)))
}

/**
 * What is told of work that the lost connection took with it. It was not done; or, if its commit had been sent, nobody
 * knows, and whoever does it again must be sure that twice is once.
 */
export function away(error: unknown, { commit_sent }: { commit_sent: boolean }): Error {
  const fate = commit_sent ? 'nobody knows whether this was committed' : 'this was not done'
  const text = textOf(causeOf(error))
  return Object.assign(new Error(`the database went away, and ${fate}: ${text}`), {
    name: AWAY,
    code: commit_sent ? 'commit_unknown' : 'not_done',
  })
}

/**
 * Whether the error is everybody's, not that of whoever met it: the database is away, or the line too long. To try each
 * caller on his own would only make them wait, one behind the other.
 */
export function isCommon(error: unknown): boolean {
  if (error instanceof SvcError) return error.code === 'rate_limit_exceeded'
  return error instanceof Error && error.name === AWAY
}

/** The answer to whoever would have to wait too long: nothing was done. */
export function tooBusy(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: RETRY_AFTER_S,
  })
}

/**
 * The error as it may be logged: without the values of the statement that failed and of the rows it was about. They
 * are people's data, and errors end in logs.
 */
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

/** What drizzle wraps into an error that quotes the statement and its values. */
function causeOf(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}

function codeOf(error: unknown): string {
  return String((causeOf(error) as { code?: unknown }).code ?? '')
}

/** One line that says what went wrong; a refused connection to several addresses has no message of its own. */
export function textOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return String(message || code || error)
}

/** A text that cannot show the password, whoever worded it. */
export function withoutPassword(text: string, password: string | null | undefined): string {
  if (!password) return text
  return text.replaceAll(password, '***').replaceAll(encodeURIComponent(password), '***')
}
