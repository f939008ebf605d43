import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'

/** Somebody else was faster or in the way; the same work can succeed when it is done again. Nothing was written. */
const CONTENTION = new Set(['40001', '40P01', '55P03'])

/** The connection or the server went away: by SQLSTATE, or as the operating system says it. */
const GONE = /^(08...|57P0[1-3]|ECONN(RESET|REFUSED|ABORTED)|EPIPE|ENOTCONN)$/
/** What the driver says without a code. */
const TERMINATED = /^(Connection terminated|Client has encountered a connection error)/

export function isContention(error: unknown): boolean {
  return CONTENTION.has(codeOf(error))
}

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
