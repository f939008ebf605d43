/**
 * The clock of due times and leases. `server` is the clock of the database: processes with different clocks agree, and
 * no lease is taken over early. `caller` is the caller's `now`, for a simulated clock.
 */
export type ClockKind = 'server' | 'caller'

/** A wait is sent as this time plus the wait. */
const EPOCH = new Date(0)

/** Parameters of the statements, so that one SQL text serves both clocks. */
export interface Clock {
  /** The current time, as the parameter of `present`: null means the time of the database server. */
  now(at: Date): Date | null
  /** The current value of `Runtime.elapsed`; with the caller's clock, the value of the claim. */
  elapsed(claim: { elapsed_ms: number }): number
  /** The origin of every sent due time, as the parameter of `present`. */
  readonly origin: Date | null
  /** The due time to send for work that was planned at `at`: a time after the origin. */
  sent(due_at: Date, at: Date): Date
}

/** The clock of that kind. */
export function clockOf(kind: ClockKind): Clock {
  if (kind === 'caller') {
    return {
      now: (at) => at,
      elapsed: ({ elapsed_ms }) => elapsed_ms,
      origin: EPOCH,
      sent: (due_at) => due_at,
    }
  }
  return {
    now: () => null,
    // The server's clock is a real clock, even with a simulated clock in the caller.
    elapsed: () => performance.now(),
    origin: null,
    sent: (due_at, at) => new Date(Math.max(0, due_at.getTime() - at.getTime())),
  }
}

/**
 * SQL: the time in the parameter, or the server's time. It is never rounded up, so that the next claim finds rows that
 * are due now. It is constant within a statement, so that an index can serve it.
 */
export function present(parameter: string): string {
  return `coalesce(${parameter}::timestamptz, date_trunc('milliseconds', statement_timestamp()))`
}

/** SQL: the due time that was sent as `column`, counted from the origin in `parameter`. */
export function dueAt(column: string, parameter: string): string {
  return `${present(parameter)} + (${column} - 'epoch'::timestamptz)`
}
