import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Runtime } from '../../runtime.ts'
import { dialects } from '../dialect.ts'
import type { Storage } from '../storage.ts'
import { openStores, type StoreDialect } from '../stores/stores.ts'
import { tables } from '../tables.ts'
import { connect } from './connection.ts'
import { type Engine, openEngine } from './engine.ts'
import { startEngine } from './engine-client.ts'
import { dbOver, queryOver } from './query.ts'
import { namesOf, selectFrom } from './rows.ts'

/** SQLite has one writer, which holds every row. */
const dialect: StoreDialect = { locked: (query) => query }

/** Opens a SQLite file as storage, creating and migrating it as needed; everything runs in this thread. */
export function openSqlite(
  file: string,
  runtime: Pick<Runtime, 'id' | 'random'>,
  { onFailure = () => {} }: { onFailure?: (error: Error) => void } = {},
): Storage {
  makeFolder(file)
  const context = { newId: runtime.id, random: runtime.random }
  return storageOver(file, openEngine(file, context, { onFailure }))
}

/**
 * As `openSqlite`, with all writing in a thread of its own: a flush to disk then holds up nobody who asks for something
 * else. It makes its own ids and chances.
 */
export async function openSqliteInThread(
  file: string,
  { onFailure = () => {} }: { onFailure?: (error: Error) => void } = {},
): Promise<Storage> {
  makeFolder(file)
  return storageOver(file, await startEngine(file, { onFailure }))
}

function makeFolder(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
}

function storageOver(file: string, engine: Engine): Storage {
  const connection = connect(file, { readonly: true })
  const t = tables(dialects.sqlite)
  const findKey = selectFrom(connection, t.api_keys, namesOf(t.api_keys), 'key_hash = ?')
  const { accept, claimMessages, settle, claimDeliveries, recordDeliveries } = engine
  return {
    read: openStores(dbOver(queryOver(connection)), t, dialect),
    write: (work) => engine.transaction((query) => work(openStores(dbOver(query), t, dialect))),
    hot: {
      findApiKey: async (keyHash) => findKey(keyHash)[0] ?? null,
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
