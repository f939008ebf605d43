import { assertReadable, type NamedValues, type Snapshot } from '../../ledger/snapshot.ts'
import { migrationsOf, statusOf } from '../../migrations.ts'
import { connect } from '../engine/connection.ts'
import { withoutData } from '../engine/failure.ts'
import { appliedIn } from '../engine/migrate.ts'
import type { Ask } from '../engine/transaction.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** One transaction that only reads, on a session of its own. */
export async function onPostgresSnapshot<T>(
  url: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  // Called otherwise than a server's sessions, so that these can be told from it.
  const named = `${url}${url.includes('?') ? '&' : '?'}application_name=svc_ledger`
  const connections = await connect(named, { log: silent })
  try {
    const client = await connections.slow.connect()
    try {
      const ask: Ask = (query, values) => client.query(query as string, values)
      await ask('begin isolation level repeatable read read only')
      await ask('set local idle_in_transaction_session_timeout = 0')
      await ask('set local statement_timeout = 0')
      assertReadable(statusOf(migrationsOf('postgres'), (await appliedIn(ask)) ?? new Set()))
      return await work(snapshotOn(ask))
    } finally {
      // Ends the session, and the transaction with it.
      client.release(true)
    }
  } catch (error) {
    throw withoutData(error)
  } finally {
    await connections.end()
  }
}

function snapshotOn(ask: Ask): Snapshot {
  return {
    markOf: (column) => `(cast(hashtext(${column}) & 1073741822 as bigint) + 1)`,
    // The server itself keeps to the types of columns.
    isNo: (type, column) => (type === 'time' ? `not isfinite(${column})` : 'false'),
    shown: (type, column, { isContent }) => {
      const text = isContent
        ? `'text of ' || length(cast(${column} as text)) || ' characters'`
        : type === 'text'
          ? `'"' || left(${column}, 40) || '"'`
          : `cast(${column} as text)`
      return `coalesce(${text}, 'NULL')`
    },
    base: (table) => table,
    async rows<Row>(text: string, values: NamedValues = {}) {
      const names: string[] = []
      const numbered = text
        .replace(/ indexed by \w+/g, '')
        .replace(/:(\w+)/g, (_, name: string) => {
          if (!names.includes(name)) names.push(name)
          return `$${names.indexOf(name) + 1}`
        })
      const { rows } = await ask(
        numbered,
        names.map((name) => values[name]),
      )
      return rows as Row[]
    },
  }
}
