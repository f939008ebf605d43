import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'drizzle-orm'
import { dialects } from '../../rows/dialect.ts'
import { tables } from '../../rows/tables.ts'
import { makeFolder } from '../../runtime/make-folder.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { createListeners } from '../after-commit.ts'
import type { Durability } from '../database-url.ts'
import { placedReads, withErrors } from '../placed-reads.ts'
import type { Storage } from '../ports/storage.ts'
import type { StoreDialect } from '../stores/queries.ts'
import { inTransaction, openReads, openWrites } from '../stores/stores.ts'
import { connect } from './engine/connection.ts'
import { contentOf } from './engine/contents.ts'
import { dbOver } from './engine/db.ts'
import { openEngine } from './engine/engine.ts'
import { type Query, queryOver } from './engine/query.ts'
import { openReaders } from './engine/readers.ts'
import { prepareCount } from './verbs/shared-rows.ts'

/** SQLite has one writer, so rows need no lock. */
const dialect: StoreDialect = {
  locked: (query) => query,
  kept: (query) => query,
  alone: async () => {},
  hold: async () => {},
  mayFold: async () => true,
  present: (at) => at,
  bucketOf: (text) => sql<number>`bucket_of(${text})`,
  messageContent: sql.raw(contentOf('messages.content')) as StoreDialect['messageContent'],
  messagesByBulk: sql.raw('"messages" indexed by messages_bulk'),
}

/** Options of a SQLite storage. */
export interface SqliteOptions {
  onFailure?: (error: Error) => void
  /** The number of threads for long queries and checkpoints; default: 0, both run in this thread. */
  reading_threads?: number
  /** Whether commits are flushed to disk; default `disk`. */
  durability?: Durability
}

/**
 * Opens a SQLite file as storage, creating and migrating it as needed. Long queries and checkpoints run in reader
 * threads, everything else runs in this thread. A writer thread was slower on two cores, because the handover cost more
 * than the wait for the disk (1,258 messages a second from send to webhook, against 1,738).
 */
export function openSqlite(
  file: string,
  runtime: Pick<Runtime, 'id' | 'random' | 'log' | 'telemetry'>,
  { onFailure = () => {}, reading_threads = 0, durability = 'disk' }: SqliteOptions = {},
): Storage {
  makeFolder(dirname(file))
  const context = { newId: runtime.id, random: runtime.random }
  const { log, telemetry } = runtime
  const logged = createListeners()
  const readers = reading_threads > 0 ? openReaders(file, { threads: reading_threads, log }) : null
  const engine = openEngine(file, context, {
    onFailure,
    telemetry,
    log,
    durability,
    onLogged: logged.call,
    writeBack: readers
      ? () => readers.query('pragma wal_checkpoint(PASSIVE)', [], 'all')
      : undefined,
  })
  const connection = connect(file, { readonly: true })
  const t = tables(dialects.sqlite)
  const {
    findApiKey,
    keysVersion,
    accept,
    requested,
    claimMessages,
    settle,
    cancel,
    checkCodes,
    reschedule,
    claimDeliveries,
    recordDeliveries,
    setLanes,
  } = engine
  const reads = (query: Query) => openReads(dbOver(query), t, dialect)
  const near = reads(queryOver(connection))
  // drizzle's error around the thread's own quotes the values of the query.
  const causeOf = (error: unknown) => (error as { cause?: unknown }).cause ?? error
  const far = readers && withErrors(reads(readers.query), causeOf)
  return {
    read: far ? placedReads({ near, primary: far, replica: far }) : near,
    async write(work) {
      const { result, has_logged } = await engine.transaction((query) =>
        inTransaction(openWrites(dbOver(query), t, dialect), work),
      )
      if (has_logged) logged.call()
      return result
    },
    onEvents: logged.add,
    hot: {
      findApiKey,
      keysVersion,
      accept,
      requested,
      claimMessages,
      settle,
      cancel,
      checkCodes,
      reschedule,
      claimDeliveries,
      recordDeliveries,
      setLanes,
      count: prepareCount(),
    },
    async startDispatch() {
      await engine.takeDispatch()
      return { release: engine.releaseDispatch }
    },
    mayOtherDispatch: engine.isTaken,
    async ping() {
      connection.prepare('select 1').get()
      await engine.checkWrites()
    },
    fault: engine.fault,
    async close() {
      await readers?.close()
      connection.close()
      await engine.close()
    },
  }
}

/**
 * Opens an empty database that exists until it is closed or the process ends. It is a file without flushes in the folder
 * of the system for temporary files, because threads cannot read a database in the memory of another connection.
 */
export function openTemporary(
  runtime: Pick<Runtime, 'id' | 'random' | 'log' | 'telemetry'>,
  options: Omit<SqliteOptions, 'durability'>,
): Storage {
  const folder = mkdtempSync(join(tmpdir(), 'svc-memory-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const storage = openSqlite(join(folder, 'svc.db'), runtime, { ...options, durability: 'none' })
  return {
    ...storage,
    async close() {
      await storage.close()
      process.off('exit', remove)
      remove()
    },
  }
}
