import type pg from 'pg'
import { connect } from '../../storage/postgres/engine/connection.ts'
import { withoutData } from '../../storage/postgres/engine/failure.ts'
import type { Run } from '../../storage/postgres/engine/transaction.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Connects with another application name than the servers use, so that the servers' sessions can be counted. */
export async function onPool<T>(
  url: string,
  application: string,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  const named = `${url}${url.includes('?') ? '&' : '?'}application_name=${application}`
  const connections = await connect(named, { log: silent })
  try {
    return await work(connections.slow)
  } catch (error) {
    throw withoutData(error)
  } finally {
    await connections.end()
  }
}

/** Lends one session, which ends with `work`, together with its locks and its transaction. */
export function onSession<T>(
  url: string,
  application: string,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  return onPool(url, application, async (pool) => {
    const client = await pool.connect()
    try {
      return await work((query, values) => client.query(query as string, values))
    } finally {
      client.release(true)
    }
  })
}
