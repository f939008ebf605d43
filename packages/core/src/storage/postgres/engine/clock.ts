/**
 * Whose clock says what is due and when a lease ends. `server` is the database's: several processes with clocks that
 * differ still agree, and no lease is taken for over early. `given` is the caller's `now`, for a simulated clock.
 */
export type ClockKind = 'server' | 'caller'

/** The first moment of all; a wait is sent as the time so long after it. */
const EPOCH = new Date(0)

/** What statements are given, so that one text of SQL serves both clocks. */
export interface Clock {
  /** The present, for `present`: null lets the server say it. */
  now(given: Date): Date | null
  /** `Runtime.elapsed` at this moment; at that of `given.now` where that is the present. */
  elapsed(given: { elapsed_ms: number }): number
  /** What every sent due time counts from, for `present`. */
  readonly origin: Date | null
  /** How something is sent that whoever planned it at `at` wants done at `due_at`: as the time after the origin. */
  sent(due_at: Date, at: Date): Date
}

/** The clock of that kind. */
export function clockOf(kind: ClockKind): Clock {
  if (kind === 'caller') {
    return {
      now: (given) => given,
      elapsed: ({ elapsed_ms }) => elapsed_ms,
      origin: EPOCH,
      sent: (due_at) => due_at,
    }
  }
  return {
    now: () => null,
    // The server's clock is a real one, whatever clock its caller goes by.
    elapsed: () => performance.now(),
    origin: null,
    sent: (due_at, at) => new Date(Math.max(0, due_at.getTime() - at.getTime())),
  }
}

/**
 * SQL: the parameter's time, or the server's. Never rounded up, so that what is due now is found by the next look; and
 * the same throughout a statement, or no index could be asked.
 */
export function present(parameter: string): string {
  return `coalesce(${parameter}::timestamptz, date_trunc('milliseconds', statement_timestamp()))`
}

/** SQL: when something is due that was sent as `column`, counted from the origin in `parameter`. */
export function dueAt(column: string, parameter: string): string {
  return `${present(parameter)} + (${column} - 'epoch'::timestamptz)`
}
