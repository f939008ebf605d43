import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openStorage } from '../../src/storage/open.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'
import { borrowDatabase, type TestDatabase } from '../postgres-database.ts'
import type { Opened } from '../storage/bench.ts'

/** A database, and all that can be read of it from outside. */
export interface Engine {
  open(): Promise<Opened>
  /** Where the database is that was opened last. */
  url(): string
  /** Closes it, and reads every row, or every byte of it, as text; by default after a vacuum of SQLite. */
  dump(options?: { vacuum: boolean }): Promise<string>
  /** Lets time pass for what makes ids inside. */
  advance(ms: number): void
}

/** Both engines, each test with a database of its own. */
export const ENGINES: [string, () => Engine][] = [
  ['SQLite', sqlite],
  ['PostgreSQL', postgres],
]

function sqlite(): Engine {
  let folder = ''
  const service = serviceOn(() => url())
  const url = () => `file:${join(folder, 'svc.db')}`
  return {
    url,
    async open() {
      folder = await migratedFolder('svc-erasing-')
      return service.open(() => rmSync(folder, { recursive: true }))
    },
    advance: service.advance,
    async dump({ vacuum } = { vacuum: true }) {
      await service.close()
      const connection = new Sqlite(join(folder, 'svc.db'))
      connection.pragma('wal_checkpoint(TRUNCATE)')
      if (vacuum) connection.exec('vacuum')
      connection.pragma('wal_checkpoint(TRUNCATE)')
      connection.close()
      return readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), 'latin1'))
        .join('\n')
    },
  }
}

export function postgres(): Engine {
  let database: TestDatabase
  const url = () => database.url
  const service = serviceOn(url)
  return {
    url,
    async open() {
      database = await borrowDatabase()
      return service.open(database.drop)
    },
    advance: service.advance,
    async dump() {
      await service.close()
      const client = await database.connect()
      const { rows } = await client.query(
        "select tablename as name from pg_tables where schemaname = 'public' order by 1",
      )
      const texts: string[] = []
      for (const { name } of rows) {
        const all = await client.query(`select t::text as row from ${name} t order by 1`)
        texts.push(name, ...all.rows.map(({ row }) => row))
      }
      return texts.join('\n')
    },
  }
}

/** Its storage, closed once even after several calls. */
function serviceOn(url: () => string) {
  let runtime = testRuntime('erasing')
  let storage: Storage | null = null
  async function close(): Promise<void> {
    await storage?.close()
    storage = null
  }
  async function reopen(): Promise<Storage> {
    await close()
    storage = await openStorage(url(), runtime, { clock: 'caller' })
    return storage
  }
  return {
    close,
    async open(remove: () => Promise<void> | void): Promise<Opened> {
      runtime = testRuntime('erasing')
      return {
        storage: await reopen(),
        reopen,
        async close() {
          await close()
          await remove()
        },
      }
    },
    advance(ms: number) {
      runtime.advance(ms)
    },
  }
}
