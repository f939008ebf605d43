import type pg from 'pg'
import { backoffMs } from '../../backoff.ts'
import { isContention, isGone, withoutData } from './failure.ts'

/** Sends a statement at once; statements run in the order in which they were sent. */
export type Ask = (query: string | pg.QueryConfig, values?: unknown[]) => Promise<pg.QueryResult>

const TRIES_MAX = 6
const PAUSE = { base_ms: 20, cap_ms: 500 }

/** What became of one try: once its commit was sent, a lost connection leaves open whether it happened. */
export interface Try {
  commit_sent: boolean
}

/**
 * Does work again that met somebody else's lock, or lost its connection before the commit was sent: nothing of it had
 * happened. Errors come out without the values they are about.
 */
export function retrying({ random }: { random: () => number }) {
  return async <T>(attempt: (fate: Try) => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      const fate: Try = { commit_sent: false }
      try {
        return await attempt(fate)
      } catch (error) {
        const may = isContention(error) || (isGone(error) && !fate.commit_sent)
        if (!may || tries === TRIES_MAX) throw withoutData(error)
        const wait_ms = PAUSE.base_ms + backoffMs(tries, PAUSE, random)
        await new Promise((resolve) => setTimeout(resolve, wait_ms))
      }
    }
  }
}

/** Runs `work` in a transaction and resolves after its commit is durable. If anything fails, nothing happened. */
export async function transact<T>(
  pool: pg.Pool,
  work: (ask: Ask) => Promise<T>,
  fate: Try = { commit_sent: false },
): Promise<T> {
  const client = await pool.connect()
  let fault: Error | undefined
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
    return result
  } catch (error) {
    await client.query('rollback').catch((lost: Error) => {
      fault = lost
    })
    throw error
  } finally {
    client.release(fault)
  }
}
