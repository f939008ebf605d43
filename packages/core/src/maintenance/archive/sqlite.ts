import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { makeFolder } from '../../runtime/make-folder.ts'
import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import {
  appliedIn,
  type Connection,
  connect,
  migrate,
  takeDispatchLock,
} from '../../storage/sqlite/engine/connection.ts'
import { contentOf } from '../../storage/sqlite/engine/contents.ts'

import { refusal } from '../refusal.ts'
import { look } from '../snapshot/sqlite.ts'
import {
  type ArchiveDatabase,
  BATCH_ROWS_MAX,
  BATCH_TEXT,
  plainJson,
  type Row,
  sizeOf,
  type TableReader,
  type TableWriter,
  type Value,
} from './database.ts'
import type { ArchiveTable, ColumnKind } from './tables.ts'

/** A SQLite file as the source or target of a move. */
export function sqliteArchive(file: string): ArchiveDatabase {
  const status = (connection: Connection) => statusOf(migrationsOf('sqlite'), appliedIn(connection))
  return {
    engine: 'sqlite',
    async status() {
      if (!existsSync(file)) return statusOf(migrationsOf('sqlite'), new Map())
      return using(look(file), async (connection) => status(connection))
    },
    async load(tables) {
      const rows = new Map<string, number>()
      if (!existsSync(file)) return { rows, older_sessions: 0 }
      return using(look(file), async (connection) => {
        const known = connection.prepare('select 1 from sqlite_schema where name = ?')
        for (const table of tables) {
          if (known.get(table) === undefined) continue
          const count = connection.prepare(`select count(*) from "${table}"`).pluck().get()
          rows.set(table, count as number)
        }
        return { rows, older_sessions: isServed(file) ? 1 : 0 }
      })
    },
    async migrate() {
      const { pending, is_newer } = await this.status()
      if (pending.length === 0 && !is_newer) return []
      return changing(file, async (connection) => migrate(connection))
    },
    async read({ alone }, work) {
      assertThere(file)
      const lock = alone ? takeLock(file) : null
      try {
        return await using(look(file), async (connection) => {
          connection.exec('begin')
          return work(readerOn(connection))
        })
      } finally {
        lock?.close()
      }
    },
    fill: (steps, work) =>
      changing(file, async (connection) => {
        migrate(connection, steps)
        if (status(connection).applied.length > steps) {
          throw refusal('not_empty', 'the database is past the schema of the archive already')
        }
        const result = await work(writerOn(connection))
        migrate(connection)
        return result
      }),
  }
}

/** Changes a file in one transaction while no server runs on it. If the change fails, a new file is removed. */
async function changing<T>(file: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const isNew = !existsSync(file)
  makeFolder(dirname(file))
  const lock = takeLock(file)
  let isDone = false
  try {
    const result = await using(connect(file), async (connection) => {
      connection.exec('begin immediate')
      try {
        const result = await work(connection)
        connection.exec('commit')
        connection.pragma('wal_checkpoint(TRUNCATE)')
        return result
      } finally {
        if (connection.inTransaction) connection.exec('rollback')
      }
    })
    isDone = true
    return result
  } finally {
    if (isNew && !isDone) {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    }
    lock.close()
    if (isNew && !isDone) rmSync(`${file}-dispatch`, { force: true })
  }
}

async function using<T>(
  connection: Connection,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}

function assertThere(file: string): void {
  if (!existsSync(file)) throw refusal('not_found', `there is no database at ${file}`)
}

function isServed(file: string): boolean {
  if (!existsSync(`${file}-dispatch`)) return false
  try {
    takeLock(file).close()
    return false
  } catch (error) {
    if ((error as { code?: string }).code === 'in_use') return true
    throw error
  }
}

function takeLock(file: string): Connection {
  try {
    return takeDispatchLock(file)
  } catch (error) {
    const { code } = (error as { cause: { code?: string } }).cause
    if (!code?.startsWith('SQLITE_BUSY')) throw (error as Error).cause
    throw refusal('in_use', `a server runs on ${file}`, error)
  }
}

function readerOn(connection: Connection): TableReader {
  const known = connection.prepare("select 1 from sqlite_schema where name = 'message_contents'")
  /** SQL: the values of a table's columns. An older schema has no long contents. */
  function valuesOf(table: ArchiveTable): string {
    if (table.table !== 'messages' || known.get() === undefined) return namesOf(table)
    const content = contentOf('messages.content')
    return namesOf(table).replace('"content"', content)
  }
  return {
    async count({ table }) {
      return connection.prepare(`select count(*) from "${table}"`).pluck().get() as number
    },
    async *rows(table) {
      const plain = toPlain(table)
      const statement = connection.prepare(`select ${valuesOf(table)} from "${table.table}"`)
      let batch: Row[] = []
      let size = 0
      for (const values of statement.raw().iterate() as IterableIterator<unknown[]>) {
        const row = plain(values)
        batch.push(row)
        size += sizeOf(row)
        if (batch.length < BATCH_ROWS_MAX && size < BATCH_TEXT) continue
        yield batch
        batch = []
        size = 0
        // This turn of the event loop lets a stop signal take effect.
        await setImmediate()
      }
      if (batch.length > 0) yield batch
    },
  }
}

function writerOn(connection: Connection): TableWriter {
  const inserts = new Map<string, Database.Statement>()
  return {
    ...readerOn(connection),
    async take({ table }) {
      return connection.prepare(`select 1 from "${table}" limit 1`).get() === undefined
    },
    async insert(table, rows) {
      const places = table.columns.map(() => '?').join(', ')
      const text = `insert into "${table.table}" (${namesOf(table)}) values (${places})`
      const statement = inserts.get(text) ?? connection.prepare(text)
      inserts.set(text, statement)
      for (const row of rows) {
        statement.run(row.map((value) => (typeof value === 'boolean' ? Number(value) : value)))
      }
    },
  }
}

function namesOf({ columns }: ArchiveTable): string {
  return columns.map(({ name }) => `"${name}"`).join(', ')
}

/** SQLite's values in the form of the archive. */
function toPlain({ table, columns }: ArchiveTable): (values: unknown[]) => Row {
  const plain: Record<ColumnKind, (value: unknown) => Value> = {
    text: (value) => value as string,
    int: exact,
    boolean: (value) => value === 1,
    time: exact,
    json: (value) => plainJson(value as string),
  }
  function exact(value: unknown): number {
    if (Number.isSafeInteger(value)) return value as number
    throw new RangeError(`a number of ${table} is past 2^53`)
  }
  const kinds = columns.map(({ kind }) => plain[kind])
  return (values) => values.map((value, i) => (value === null ? null : (kinds[i]?.(value) ?? null)))
}
