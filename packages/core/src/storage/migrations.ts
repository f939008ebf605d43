import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'

/** One step of the schema. Both engines have the same steps under the same names. */
export interface Migration extends MigrationMeta {
  name: string
  /** What it does, in one line. */
  does: string
  /** Whether a program that does not know the step may use a database that has it. */
  is_compatible: boolean
}

/** A step that a database has. */
export interface AppliedStep {
  hash: string
  /** Null if an older version applied it. */
  name: string | null
  /** Whether a program that does not know the step may use the database. */
  is_compatible: boolean
  /** The numbers of the statements that create indexes which are not complete; on PostgreSQL only. */
  indexes_missing: number[]
}

/** The steps of a database by their hashes. */
export type AppliedSteps = ReadonlyMap<string, AppliedStep>

/** The state of a database's schema. */
export interface MigrationStatus {
  /** The applied steps that this program knows, oldest first. */
  applied: string[]
  /** The steps that this program would add. */
  pending: string[]
  /** The steps of a newer version; this program can use the database unless `is_newer`. */
  later: string[]
  /** Whether the database has steps of a newer version with which this program cannot use it. */
  is_newer: boolean
}

type OlderServers = 'may_run' | 'must_stop'

/** What `migrations/kinds.json` declares of each step, for both engines or for each. */
type Kinds = Record<
  string,
  | { does: string; older_servers: OlderServers | Record<'sqlite' | 'postgres', OlderServers> }
  | undefined
>

/** They are read once: each opening of a storage compares them with the database. */
const known: { sqlite?: Migration[]; postgres?: Migration[] } = {}

/** The generated migrations of an engine, oldest first. */
export function migrationsOf(engine: 'sqlite' | 'postgres'): readonly Migration[] {
  known[engine] ??= readMigrations(engine)
  return known[engine]
}

function readMigrations(engine: 'sqlite' | 'postgres'): Migration[] {
  // The package root contains migrations/. Bundled code is one folder below the root, the sources are two below it.
  for (const up of ['..', '../..', '../../..']) {
    const root = fileURLToPath(new URL(`${up}/migrations`, import.meta.url))
    const folder = join(root, engine)
    if (!existsSync(folder)) continue
    const journal = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as {
      entries: { tag: string }[]
    }
    const kinds = JSON.parse(readFileSync(join(root, 'kinds.json'), 'utf8')) as Kinds
    return readMigrationFiles({ migrationsFolder: folder }).map((file, i) => {
      const name = journal.entries[i]?.tag ?? ''
      const kind = kinds[name]
      const declared = kind?.older_servers
      const older_servers = typeof declared === 'object' ? declared[engine] : declared
      return {
        ...file,
        name,
        does: kind?.does ?? name,
        is_compatible: older_servers === 'may_run',
      }
    })
  }
  throw new Error(`the package is incomplete: migrations/${engine} is missing`)
}

/**
 * The migrations that a database still needs.
 * @throws Error when the database has a migration of a newer version with which this program cannot use it.
 */
export function pending(all: readonly Migration[], applied: AppliedSteps): Migration[] {
  if (unknownIn(all, applied).some(({ is_compatible }) => !is_compatible)) {
    throw new Error(
      'the database was made by a newer version of svc; install that version, or restore an older backup',
    )
  }
  return all.filter((migration) => !applied.has(migration.hash))
}

/** The state of a database that has these steps. */
export function statusOf(all: readonly Migration[], applied: AppliedSteps): MigrationStatus {
  const names = (isApplied: boolean) =>
    all.filter(({ hash }) => applied.has(hash) === isApplied).map(({ name }) => name)
  const unknown = unknownIn(all, applied)
  return {
    applied: names(true),
    pending: names(false),
    later: unknown.map(({ name, hash }) => name ?? hash),
    is_newer: unknown.some(({ is_compatible }) => !is_compatible),
  }
}

function unknownIn(all: readonly Migration[], applied: AppliedSteps): AppliedStep[] {
  const known = new Set(all.map(({ hash }) => hash))
  return [...applied.values()].filter(({ hash }) => !known.has(hash))
}
