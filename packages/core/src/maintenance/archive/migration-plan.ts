import { changesOf, ONLINE_FROM_ROWS, type SchemaChange } from '../../storage/migration-changes.ts'
import { migrationsOf } from '../../storage/migrations.ts'
import type { DatabaseLoad } from './database.ts'
import { openArchiveDatabase } from './open.ts'

/** Assumed, not measured: the estimate tells seconds from hours. */
const ROWS_A_SECOND = { index: 400_000, read: 300_000, rewrite: 100_000 }

/** The work of a migration on one table. */
export interface TableWork {
  table: string
  /** The approximate number of its rows. */
  rows: number
  /** What is done with each row. */
  work: 'index' | 'read' | 'rewrite'
  /** What waits meanwhile. An index of a large table of PostgreSQL blocks nothing. */
  blocks: 'nothing' | 'writes' | 'everything'
  /** The approximate duration in seconds. */
  estimate_s: number
}

/** A migration that a database needs. */
export interface PlannedMigration {
  name: string
  /** What it does, in one line. */
  does: string
  /** Whether servers of the version before can run on during the migration and after it. */
  older_servers: 'may_run' | 'must_stop'
  /** The tables with rows that it reads or changes. */
  tables: TableWork[]
}

/** The migrations that a database needs, oldest first. */
export interface MigrationPlan {
  pending: PlannedMigration[]
  /** Whether the servers of older versions must be stopped before the first of them. */
  needs_stop: boolean
  /** The sessions of servers of older versions on PostgreSQL; 1 while any server runs on a SQLite file. */
  older_sessions: number
  /** The migrations of a newer version, with which this program can use the database unless `is_newer`. */
  later: string[]
  /** Whether the database has migrations of a newer version with which this program cannot use it. */
  is_newer: boolean
}

/**
 * What a migration of a database would do. Changes nothing.
 * @throws Error when a server cannot be reached.
 */
export async function planMigrations(url: string): Promise<MigrationPlan> {
  const database = await openArchiveDatabase(url)
  const { applied, pending, later, is_newer } = await database.status()
  const isNew = applied.length === 0
  const missing = migrationsOf(database.engine).filter(({ name }) => pending.includes(name))
  const changes = missing.map(({ sql }) => changesOf(sql))
  const named = new Set(isNew ? [] : changes.flat().flatMap(({ tables }) => tables))
  const load = await database.load([...named])
  return {
    pending: missing.map(({ name, does, is_compatible }, i) => ({
      name,
      does,
      older_servers: is_compatible ? 'may_run' : 'must_stop',
      tables: (changes[i] ?? []).flatMap((change) => workOf(change, load, database.engine)),
    })),
    needs_stop: !isNew && missing.some(({ is_compatible }) => !is_compatible),
    older_sessions: load.older_sessions,
    later,
    is_newer,
  }
}

function workOf(
  { tables, work }: SchemaChange,
  { rows }: DatabaseLoad,
  engine: 'sqlite' | 'postgres',
): TableWork[] {
  if (work === 'none') return []
  return tables.flatMap((table) => {
    const count = rows.get(table) ?? 0
    if (count === 0) return []
    const estimate_s = Math.ceil(count / ROWS_A_SECOND[work])
    return [{ table, rows: count, work, blocks: blockedBy(work, count, engine), estimate_s }]
  })
}

function blockedBy(
  work: TableWork['work'],
  rows: number,
  engine: 'sqlite' | 'postgres',
): TableWork['blocks'] {
  if (engine === 'sqlite') return 'writes'
  if (work === 'rewrite') return 'everything'
  return work === 'index' && rows >= ONLINE_FROM_ROWS ? 'nothing' : 'writes'
}
