import type pg from 'pg'
import { backoffMs } from '../../../runtime/backoff.ts'
import { away, isContention, isEndedByServer, isGone, tooBusy, withoutData } from './failure.ts'

/** Sends a statement at once; statements run in the order in which they were sent. */
export type Run = (query: string | pg.QueryConfig, values?: unknown[]) => Promise<pg.QueryResult>

const TRIES_MAX = 6
const PAUSE = { base_ms: 20, cap_ms: 500 }

/** The maximum number of callers that wait for a connection of a pool; further callers are refused at once. */
const WAITING_MAX = 1_000

/** The connections of a pool. */
export interface Pool extends pg.Pool {
  /**
   * Only behind a pooler of transactions, where a connection keeps a session no longer than a transaction: the statements that open
   * a transaction and set what it needs.
   */
  readonly begin?: readonly string[] | undefined
}

/** The state of one try. */
export interface Try {
  /** Whether the commit was sent and may have run: a connection lost after that leaves the outcome unknown. */
  commit_sent: boolean
  /** The time of `performance.now()` at which the caller's time is over. */
  until: number
}

/** The bounds of the work on a pool. */
export interface Bounds {
  random: () => number
  /** The time limit of all tries together. */
  answer_max_ms: number
  onCommit?: OnCommit | undefined
  /** Called for each error, also for errors after which the work is repeated. */
  onError?: ((error: unknown) => void) | undefined
}

/** Work on a pool, repeated as `retrying` says. */
export function worker(pool: Pool, { onCommit, ...bounds }: Bounds) {
  const again = retrying(bounds)
  return {
    /** Sends statements together. They run again after a lost connection, even if they may have run. */
    together: <Send, T>(
      open: (client: pg.ClientBase) => Sender<Send>,
      work: (send: Send) => Promise<T>,
      max_ms?: number,
    ): Promise<T> => again(({ until }) => inTime(pool, open, work, until), max_ms),
    /** Runs `work` in a transaction, which `open` sends. */
    transact: <Send, T>(
      open: (client: pg.ClientBase) => Sender<Send>,
      work: (send: Send) => Promise<T>,
    ): Promise<T> => again((fate) => transact(pool, open, work, fate, onCommit)),
  }
}

/**
 * Repeats work that conflicted with another transaction, or lost its connection before the commit was sent: such work
 * had no effect. All tries together take at most `answer_max_ms`. Errors do not contain the values of rows.
 */
export function retrying({ random, answer_max_ms, onError = () => {} }: Omit<Bounds, 'onCommit'>) {
  return async <T>(attempt: (fate: Try) => Promise<T>, max_ms = answer_max_ms): Promise<T> => {
    const until = performance.now() + max_ms
    for (let tries = 1; ; tries++) {
      const fate: Try = { commit_sent: false, until }
      try {
        return await attempt(fate)
      } catch (error) {
        onError(error)
        const may = isContention(error) || (isGone(error) && !fate.commit_sent)
        const wait_ms = PAUSE.base_ms + backoffMs(tries, PAUSE, random)
        if (!may || tries === TRIES_MAX || performance.now() + wait_ms >= until) {
          throw isGone(error) ? away(error, fate) : withoutData(error)
        }
        await new Promise((resolve) => setTimeout(resolve, wait_ms))
      }
    }
  }
}

/** Called for each commit; the duration excludes the wait for a connection. */
type OnCommit = (jobs: number, duration_ms: number) => void

/** How the statements of a transaction are sent. */
export interface Sender<Send> {
  send: Send
  command(text: string): void
  /** Resolves when all statements so far have succeeded; rejects with the first error. */
  succeeded(): Promise<unknown>
  /** Resolves when all statements so far have ended. */
  ended(): Promise<unknown>
  /** Whether the server certainly did not run the last statement: it ended the session at an earlier one. */
  lastSkipped(): boolean
}

/** Sends each statement on its own. */
export function eachAlone(client: pg.ClientBase): Sender<Run> {
  const answers: Promise<unknown>[] = []
  let ended_at = Number.POSITIVE_INFINITY
  const run: Run = (query, values) => {
    const answer = client.query(query as string, values)
    const place = answers.push(answer)
    // The answer is checked with the commit; until then a rejection must not count as unhandled.
    answer.catch((error) => {
      if (isEndedByServer(error)) ended_at = Math.min(ended_at, place)
    })
    return answer
  }
  return {
    send: run,
    command: run,
    succeeded: () => Promise.all(answers),
    ended: () => Promise.allSettled(answers),
    lastSkipped: () => ended_at < answers.length,
  }
}

/** Sends statements together, once. @throws Error when that is not done at the time `until` of `performance.now()`. */
export function inTime<Send, T>(
  pool: Pool,
  open: (client: pg.ClientBase) => Sender<Send>,
  work: (send: Send) => Promise<T>,
  until: number,
): Promise<T> {
  return using(pool, until, (client, spoil) =>
    pool.begin
      ? inOwnTransaction(pool.begin, client, open(client), work, spoil)
      : work(open(client).send),
  )
}

/** Sends the statements and the commit at once. */
async function inOwnTransaction<Send, T>(
  begin: readonly string[],
  client: pg.ClientBase,
  { send, command, succeeded, ended }: Sender<Send>,
  work: (send: Send) => Promise<T>,
  spoil: (fault: Error) => void,
): Promise<T> {
  try {
    for (const text of begin) command(text)
    const result = work(send)
    command('commit')
    const [answer] = await Promise.all([result, succeeded()])
    return answer
  } catch (error) {
    await ended()
    await client.query('rollback').catch(spoil)
    throw error
  }
}

/** Runs `work` in a transaction and resolves after its commit is durable. If anything fails, nothing is written. */
export function transact<Send, T>(
  pool: Pool,
  open: (client: pg.ClientBase) => Sender<Send>,
  work: (send: Send) => Promise<T>,
  fate: Try = { commit_sent: false, until: Number.POSITIVE_INFINITY },
  onCommit?: OnCommit,
): Promise<T> {
  return using(pool, fate.until, async (client, spoil) => {
    const began = performance.now()
    const sender = open(client)
    try {
      for (const text of pool.begin ?? ['begin']) sender.command(text)
      const result = await work(sender.send)
      fate.commit_sent = true
      sender.command('commit')
      await sender.succeeded()
      onCommit?.(1, performance.now() - began)
      return result
    } catch (error) {
      // A rollback that travels with a statement that fails would be skipped.
      await sender.ended()
      if (sender.lastSkipped()) fate.commit_sent = false
      await client.query('rollback').catch(spoil)
      throw error
    }
  })
}

/** The connections with a commit that the synchronous standby has not confirmed. */
const unreplicated = new WeakSet<pg.ClientBase>()

/** What to do when another server may be the primary now. */
const doubts = new WeakMap<pg.ClientBase, () => void>()

/**
 * Calls `then` when another server may be the primary now:
 * - No answer came in time, as from a primary that waits for a standby which was promoted.
 * - A commit is only on the disk of one server, so a failover would lose it. PostgreSQL reports such a commit as a success with a warning,
 *   when an operator cancels its wait for the synchronous standby (`pg_cancel_backend`). The routine identifies the warning in any
 *   language. Source: PostgreSQL, syncrep.c.
 */
export function onDoubt(client: pg.ClientBase, then: () => void): void {
  doubts.set(client, then)
  client.on('notice', ({ routine }) => {
    if (routine !== 'SyncRepWaitForLSN') return
    unreplicated.add(client)
    then()
  })
}

/** The outcome of a commit is unknown (SQLSTATE 08007) until the standby has it. */
function assertReplicated(client: pg.ClientBase): void {
  if (!unreplicated.has(client)) return
  const message = 'no synchronous standby confirmed the commit in time'
  throw Object.assign(new Error(message), { code: '08007' })
}

/**
 * Lends a connection. When the time is over, the connection is cut and not used again, so that every pending response
 * fails.
 */
async function using<T>(
  pool: pg.Pool,
  until: number,
  use: (client: pg.PoolClient, spoil: (fault: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await acquire(pool, until)
  let fault: Error | undefined
  const spoil = (error: Error) => {
    fault = error
  }
  const cut = at(until, () => {
    spoil(new Error('it took too long'))
    doubts.get(client)?.()
    client.connection.stream.destroy()
  })
  try {
    const result = await use(client, spoil)
    assertReplicated(client)
    return result
  } catch (error) {
    if (isGone(error)) spoil(error as Error)
    throw error
  } finally {
    clearTimeout(cut)
    client.release(fault)
  }
}

/** @throws SvcError `rate_limit_exceeded` when too many callers wait, or no connection became free in time. */
async function acquire(pool: pg.Pool, until: number): Promise<pg.PoolClient> {
  if (pool.waitingCount >= WAITING_MAX) throw tooBusy()
  const coming = pool.connect()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = at(until, () => {
      coming.then((client) => client.release()).catch(() => {})
      reject(tooBusy())
    })
  })
  try {
    return await Promise.race([coming, late])
  } catch (error) {
    throw (error as Error).message === NONE_FREE ? tooBusy() : error
  } finally {
    clearTimeout(timer)
  }
}

/** The pool's message when no connection is free. */
const NONE_FREE = 'timeout exceeded when trying to connect'

/** Calls back at that moment; never for infinity. */
function at(moment: number, callback: () => void): NodeJS.Timeout | undefined {
  if (moment === Number.POSITIVE_INFINITY) return
  return setTimeout(callback, Math.max(0, moment - performance.now()))
}
