import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'

/** One step of the schema. Both engines have the same steps under the same names. */
export interface Migration extends MigrationMeta {
  name: string
}

/** The state of a database's schema. */
export interface MigrationStatus {
  /** The applied steps, oldest first. */
  applied: string[]
  /** The steps that this program would add. */
  pending: string[]
  /** Whether the database has steps that this program does not know. */
  is_newer: boolean
}

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
    const folder = fileURLToPath(new URL(`${up}/migrations/${engine}`, import.meta.url))
    if (!existsSync(folder)) continue
    const journal = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as {
      entries: { tag: string }[]
    }
    const files = readMigrationFiles({ migrationsFolder: folder })
    return files.map((file, i) => ({ ...file, name: journal.entries[i]?.tag ?? '' }))
  }
  throw new Error(`the package is incomplete: migrations/${engine} is missing`)
}

/**
 * The migrations that a database with the hashes `applied` still needs.
 * @throws Error when the database has a migration that this program does not know: a newer version made it.
 */
export function pending(all: readonly Migration[], applied: ReadonlySet<string>): Migration[] {
  if (isNewer(all, applied)) {
    throw new Error(
      'the database was made by a newer version of svc; install that version, or restore an older backup',
    )
  }
  return all.filter((migration) => !applied.has(migration.hash))
}

/** The state of a database that has these hashes. */
export function statusOf(all: readonly Migration[], applied: ReadonlySet<string>): MigrationStatus {
  const names = (isApplied: boolean) =>
    all.filter(({ hash }) => applied.has(hash) === isApplied).map(({ name }) => name)
  return { applied: names(true), pending: names(false), is_newer: isNewer(all, applied) }
}

function isNewer(all: readonly Migration[], applied: ReadonlySet<string>): boolean {
  const known = new Set(all.map(({ hash }) => hash))
  return [...applied].some((hash) => !known.has(hash))
}
