import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import type { Runtime } from '../../runtime.ts'
import { type Db, dialects } from '../dialect.ts'
import { gather } from '../gather.ts'
import type { HotDoor, Storage } from '../storage.ts'
import { openStores, type StoreDialect } from '../stores/stores.ts'
import { type Tables, tables } from '../tables.ts'
import { prepareAccept } from './accept.ts'
import { prepareClaimDeliveries } from './claim-deliveries.ts'
import { prepareClaimMessages } from './claim-messages.ts'
import { type Connection, connect } from './connection.ts'
import { migrate } from './migrate.ts'
import { prepareRecordDeliveries } from './record-deliveries.ts'
import { namesOf, selectFrom } from './rows.ts'
import { prepareSettle } from './settle.ts'
import { createWriter, type Writer } from './writer.ts'

/** How many items share one batch at the most: bounds how long a commit holds the event loop. */
const BATCH_MAX = 512

/** SQLite has one writer, which holds every row. */
const dialect: StoreDialect = { locked: (query) => query }

/** Opens a SQLite file as storage, creating and migrating it as needed. */
export function openSqlite(
  file: string,
  runtime: Pick<Runtime, 'id' | 'random' | 'log'>,
  { onFailure = () => {} }: { onFailure?: (error: Error) => void } = {},
): Storage {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const writing = connect(file)
  migrate(writing)
  const reading = connect(file, { readonly: true })
  const writer = createWriter(writing, { onFailure })
  const t = tables(dialects.sqlite)
  const writes = openStores(handle(writing), t, dialect)
  return {
    read: openStores(handle(reading), t, dialect),
    write: (work) => writer.run(() => work(writes)),
    hot: hotDoor({ writing, writer, t, runtime }),
    startDispatch: () => startDispatch(file, writer, writing),
    async ping() {
      reading.prepare('select 1').get()
    },
    async close() {
      await writer.idle()
      writing.pragma('wal_checkpoint(TRUNCATE)')
      reading.close()
      writing.close()
    },
  }
}

function hotDoor(parts: {
  writing: Connection
  writer: Writer
  t: Tables
  runtime: Pick<Runtime, 'id' | 'random'>
}): HotDoor {
  const { writing, writer, t, runtime } = parts
  // On the writer's connection: a reader's cache is thrown away by every commit of another connection.
  const findKey = selectFrom(writing, t.api_keys, namesOf(t.api_keys), 'key_hash = ?')
  const context = { newId: runtime.id, random: runtime.random }
  const bounds = { batch_max: BATCH_MAX, onJoin: writer.grew }
  const claimMessages = prepareClaimMessages(writing, t)
  const claimDeliveries = prepareClaimDeliveries(writing)
  return {
    findApiKey: async (keyHash) => findKey(keyHash)[0] ?? null,
    accept: gather(prepareAccept(writing, t), writer.run, bounds),
    claimMessages: (claim) => writer.run(() => claimMessages(claim)),
    settle: gather(prepareSettle(writing, t, context), writer.run, bounds),
    claimDeliveries: (claim) => writer.run(() => claimDeliveries(claim)),
    recordDeliveries: gather(prepareRecordDeliveries(writing, t, context), writer.run, bounds),
  }
}

/** drizzle over a connection, asynchronous like PostgreSQL's, so that one set of stores serves both. */
function handle(connection: Connection): Db {
  const statements = new Map<string, Database.Statement>()
  const prepared = (text: string) => {
    const known = statements.get(text)
    if (known) return known
    const statement = connection.prepare(text)
    if (statement.reader) statement.raw()
    statements.set(text, statement)
    return statement
  }
  return drizzle(async (text, parameters, method) => {
    const statement = prepared(text)
    if (!statement.reader) {
      statement.run(...parameters)
      return { rows: [] }
    }
    if (method === 'get') return { rows: statement.get(...parameters) as unknown[] }
    return { rows: statement.all(...parameters) }
  }) as unknown as Db
}

/**
 * Takes the right to dispatch: an exclusive lock on a small file beside the database, which the operating system gives
 * back however the process ends. Whoever gets it is alone, so every lease still standing is a dead process's.
 */
async function startDispatch(file: string, writer: Writer, writing: Connection) {
  const lock = new Database(`${file}-dispatch`, { timeout: 0 })
  try {
    lock.pragma('locking_mode = EXCLUSIVE')
    lock.exec('begin exclusive')
  } catch (cause) {
    lock.close()
    throw new Error(`another svc process already serves ${file}`, { cause })
  }
  await writer.run(() => {
    writing.exec('update message_queue set due_at = 0 where token is not null')
    writing.exec('update delivery_queue set due_at = 0, token = null where token is not null')
  })
  return {
    async release() {
      lock.close()
    },
  }
}
