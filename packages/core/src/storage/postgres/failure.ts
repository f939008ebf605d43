import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'

/** Serialization failure, deadlock, a lock that was not given in time: nothing was written. */
const CONTENTION = new Set(['40001', '40P01', '55P03'])

/** The connection or the server went away, or the session stood still too long: by SQLSTATE, or by the system's word. */
const GONE = /^(08...|25P03|57P0[1-3]|ECONN(RESET|REFUSED|ABORTED)|EPIPE|ENOTCONN)$/
/** What the driver says without a code. */
const TERMINATED = /^(Connection terminated|Client has encountered a connection error)/

/** Whether the same work, done again, can succeed because only somebody else was in the way. */
export function isContention(error: unknown): boolean {
  return CONTENTION.has(codeOf(error))
}

/** Whether the connection is lost. */
export function isGone(error: unknown): boolean {
  return GONE.test(codeOf(error)) || TERMINATED.test(textOf(causeOf(error)))
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
