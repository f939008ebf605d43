import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import pg from 'pg'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import type { TestRuntime } from '../fixtures.ts'
import { makeMigratedFile } from '../migrated-file.ts'
import { openMemory } from './memory-storage.ts'
import type { Rows } from './rows.ts'

/** What a history is played on. */
export interface Subject {
  storage: Storage
  clock: TestRuntime
  /** The rows of these workspaces, as another connection sees them. */
  rows(workspaceIds: readonly string[]): Promise<Rows>
  /** A number that changes with every commit; null where there is none. */
  version(): number | null
  close(): Promise<void>
}

const SHOWN = {
  accounts: 'credit_accounts',
  entries: 'ledger_entries',
  holds: 'credit_holds',
  lots: 'credit_lots',
  purchases: 'purchases',
  messages: 'messages',
} as const
/** Where reading all of them took most of the time. */
const COLUMNS: Record<string, string> = {
  messages: 'id, workspace_id, bulk_id, status, credits_used, credits_refunded',
}
const HIDDEN = [
  'message_queue',
  'idempotency_keys',
  'api_key_spending',
  'test_usage',
  'bulks',
  'message_counts',
]

/** The pure rules over tables in memory: new for each history. */
export function memorySubject(clock: TestRuntime): Subject {
  const storage = openMemory(clock)
  return {
    storage: storage as unknown as Storage,
    clock,
    rows: async () => storage.rows(),
    version: storage.version,
    close: async () => {},
  }
}

/** A file of its own below `folder`. */
export async function sqliteSubject(clock: TestRuntime, folder: string): Promise<Subject> {
  const own = await mkdtemp(join(folder, 'svc-ledger-'))
  const file = join(own, 'svc.db')
  await makeMigratedFile(file)
  const storage = openSqlite(file, clock)
  const reader = new Sqlite(file, { readonly: true })
  const selects = new Map<string, Database.Statement>()
  function select(table: string, ids: readonly string[]): unknown[] {
    const text = `select ${COLUMNS[table] ?? '*'} from ${table} where workspace_id in (${ids.map(() => '?').join(', ')})`
    const statement = selects.get(text) ?? reader.prepare(text)
    selects.set(text, statement)
    return statement.all(...ids)
  }
  return {
    storage,
    clock,
    rows: async (ids) => rowsFrom((table) => select(table, ids)),
    version: () => reader.pragma('data_version', { simple: true }) as number,
    async close() {
      reader.close()
      await storage.close()
      await rm(own, { recursive: true })
    },
  }
}

/** The database at `url`, which stays. */
export async function postgresSubject(clock: TestRuntime, url: string): Promise<Subject> {
  const storage = await openPostgres(url, clock, { clock: 'caller' })
  const reader = new pg.Client({ connectionString: url })
  await reader.connect()
  const tables = [...Object.values(SHOWN), ...HIDDEN]
  const parts = tables.map(
    (table) =>
      `'${table}', (select coalesce(json_agg(t order by t::text), '[]') from ${table} t where workspace_id = any($1))`,
  )
  const query = { name: 'rows', text: `select json_build_object(${parts.join(', ')}) as rows` }
  return {
    storage,
    clock,
    async rows(ids) {
      const { rows } = await reader.query({ ...query, values: [ids] })
      return rowsFrom((table) => rows[0].rows[table])
    },
    version: () => null,
    async close() {
      await reader.end()
      await storage.close()
    },
  }
}

function rowsFrom(select: (table: string) => unknown): Rows {
  const shown = Object.entries(SHOWN).map(([name, table]) => [name, select(table)])
  const hidden = JSON.stringify(HIDDEN.map(select))
  const rest = createHash('sha1').update(hidden).digest('hex')
  return { ...Object.fromEntries(shown), rest } as Rows
}
