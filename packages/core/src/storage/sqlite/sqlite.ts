import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Runtime } from '../../runtime.ts'
import { dialects } from '../dialect.ts'
import type { Storage } from '../storage.ts'
import { openStores, type StoreDialect } from '../stores/stores.ts'
import { tables } from '../tables.ts'
import { connect } from './connection.ts'
import { openEngine } from './engine.ts'
import { dbOver, queryOver } from './query.ts'

/** SQLite has one writer, which holds every row. */
const dialect: StoreDialect = { locked: (query) => query }

/**
 * Opens a SQLite file as storage, creating and migrating it as needed. All in this thread: writing in one of its own was
 * tried, and on two cores handing the work over cost more than the wait for the disk (1,258 messages a second from send
 * to webhook, against 1,738).
 */
export function openSqlite(
  file: string,
  runtime: Pick<Runtime, 'id' | 'random'>,
  { onFailure = () => {} }: { onFailure?: (error: Error) => void } = {},
): Storage {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const context = { newId: runtime.id, random: runtime.random }
  const engine = openEngine(file, context, { onFailure })
  const connection = connect(file, { readonly: true })
  const t = tables(dialects.sqlite)
  const { findApiKey, accept, claimMessages, settle, claimDeliveries, recordDeliveries } = engine
  return {
    read: openStores(dbOver(queryOver(connection)), t, dialect),
    write: (work) => engine.transaction((query) => work(openStores(dbOver(query), t, dialect))),
    hot: {
      findApiKey,
      accept,
      claimMessages,
      settle,
      claimDeliveries,
      recordDeliveries,
    },
    async startDispatch() {
      await engine.takeDispatch()
      return { release: engine.releaseDispatch }
    },
    async ping() {
      connection.prepare('select 1').get()
    },
    async close() {
      connection.close()
      await engine.close()
    },
  }
}
