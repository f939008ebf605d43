import { connect } from '../../storage/postgres/engine/connection.ts'
import { withoutData } from '../../storage/postgres/engine/failure.ts'
import type { Pool, Run } from '../../storage/postgres/engine/transaction.ts'

const NO_LOCKS =
  'a pooler keeps no session for a connection: name PostgreSQL itself, with --database or SVC_DATABASE_DIRECT_URL'

/** A log without lines. */
export const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Connects with another application name than the servers use, so that the servers' sessions can be counted. */
export async function onPool<T>(
  url: string,
  application: string,
  work: (pool: Pool, other: Pool) => Promise<T>,
): Promise<T> {
  const named = `${url}${url.includes('?') ? '&' : '?'}application_name=${application}`
  const connections = await connect(named, { log: silent })
  try {
    return await work(connections.slow, connections.cold)
  } catch (error) {
    throw withoutData(error)
  } finally {
    await connections.end()
  }
}

/**
 * Lends one session, which ends with `work`, together with its locks and its transaction. Behind a pooler of transactions
 * each transaction has another session.
 * @throws Error there, if `work` takes locks outside a transaction.
 */
export function onSession<T>(
  url: string,
  application: string,
  work: (run: Run) => Promise<T>,
  { locks = false }: { locks?: boolean } = {},
): Promise<T> {
  return onPool(url, application, async (pool) => {
    if (locks && pool.begin) throw new Error(NO_LOCKS)
    const client = await pool.connect()
    try {
      return await work((query, values) => client.query(query as string, values))
    } finally {
      client.release(true)
    }
  })
}
