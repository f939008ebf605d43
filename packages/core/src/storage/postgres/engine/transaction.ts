import type pg from 'pg'
import { backoffMs } from '../../../runtime/backoff.ts'
import { away, isContention, isGone, tooBusy, withoutData } from './failure.ts'

/** Sends a statement at once; statements run in the order in which they were sent. */
export type Ask = (query: string | pg.QueryConfig, values?: unknown[]) => Promise<pg.QueryResult>

const TRIES_MAX = 6
const PAUSE = { base_ms: 20, cap_ms: 500 }

/** So many may wait for a connection of a pool; whoever comes then is refused at once. */
const WAITING_MAX = 1_000

/** One try, and what became of it. */
export interface Try {
  /** From then on a lost connection leaves open whether the commit happened. */
  commit_sent: boolean
  /** When whoever asked gives up, as `performance.now()` counts. */
  until: number
}

/**
 * Does work again that met somebody else's lock, or lost its connection before the commit was sent: nothing of it had
 * happened. All tries together take `answer_max_ms` at the most. Errors come out without the values they are about.
 */
export function retrying({
  random,
  answer_max_ms,
  onError = () => {},
}: {
  random: () => number
  answer_max_ms: number
  /** Told of each error, also of those after which the work is done again. */
  onError?: ((error: unknown) => void) | undefined
}) {
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

/** Runs one statement on its own. */
export function askOnce(
  pool: pg.Pool,
  query: string | pg.QueryConfig,
  values: unknown[] | undefined,
  { until }: Pick<Try, 'until'>,
): Promise<pg.QueryResult> {
  return using(pool, until, (client) => client.query(query as string, values))
}

/** Told of each commit, the waiting for a connection left out. */
export type OnCommit = (jobs: number, duration_ms: number) => void

/** Runs `work` in a transaction and resolves after its commit is durable. If anything fails, nothing happened. */
export function transact<T>(
  pool: pg.Pool,
  work: (ask: Ask) => Promise<T>,
  fate: Try = { commit_sent: false, until: Number.POSITIVE_INFINITY },
  onCommit: OnCommit = () => {},
): Promise<T> {
  return using(pool, fate.until, async (client, spoil) => {
    const began = performance.now()
    const answers: Promise<unknown>[] = []
    const ask: Ask = (query, values) => {
      const answer = client.query(query as string, values)
      // Looked at with the commit; until then a failure is nobody's.
      answer.catch(() => {})
      answers.push(answer)
      return answer
    }
    try {
      ask('begin')
      const result = await work(ask)
      fate.commit_sent = true
      ask('commit')
      await Promise.all(answers)
      onCommit(1, performance.now() - began)
      return result
    } catch (error) {
      await client.query('rollback').catch(spoil)
      throw error
    }
  })
}

/**
 * Lends a connection. Whoever has not ended when the time is up loses it: it is cut, so that every answer still awaited
 * fails, and is not used again.
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
  const cancel = at(until, () => {
    spoil(new Error('it took too long'))
    client.connection.stream.destroy()
  })
  try {
    return await use(client, spoil)
  } catch (error) {
    if (isGone(error)) spoil(error as Error)
    throw error
  } finally {
    cancel()
    client.release(fault)
  }
}

/** @throws SvcError `rate_limit_exceeded` when too many wait already, or none became free in time. */
async function acquire(pool: pg.Pool, until: number): Promise<pg.PoolClient> {
  if (pool.waitingCount >= WAITING_MAX) throw tooBusy()
  const coming = pool.connect()
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    cancel = at(until, () => {
      coming.then((client) => client.release()).catch(() => {})
      reject(tooBusy())
    })
  })
  try {
    return await Promise.race([coming, late])
  } catch (error) {
    throw (error as Error).message === NONE_FREE ? tooBusy() : error
  } finally {
    cancel()
  }
}

/** The pool's words for it. */
const NONE_FREE = 'timeout exceeded when trying to connect'

/** Calls back at that moment; answers how to cancel it. */
function at(moment: number, callback: () => void): () => void {
  if (moment === Number.POSITIVE_INFINITY) return () => {}
  const timer = setTimeout(callback, Math.max(0, moment - performance.now()))
  return () => clearTimeout(timer)
}
