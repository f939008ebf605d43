import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'

/** The generated migrations of an engine, oldest first. */
export function migrationsOf(engine: 'sqlite' | 'postgres'): MigrationMeta[] {
  // Bundled code lies one folder deep in dist, sources two deep in src: the package root is where migrations/ is.
  for (const up of ['..', '../..', '../../..']) {
    const folder = fileURLToPath(new URL(`${up}/migrations/${engine}`, import.meta.url))
    if (existsSync(folder)) return readMigrationFiles({ migrationsFolder: folder })
  }
  throw new Error(`the package is incomplete: migrations/${engine} is missing`)
}

/**
 * Which migrations a database still needs, given the hashes it has.
 * @throws Error when the database knows one that this program does not: it was made by a newer version.
 */
export function pending(
  all: readonly MigrationMeta[],
  applied: ReadonlySet<string>,
): MigrationMeta[] {
  const known = new Set(all.map((migration) => migration.hash))
  for (const hash of applied) {
    if (known.has(hash)) continue
    throw new Error(
      'the database was made by a newer version of svc; install that version, or restore an older backup',
    )
  }
  return all.filter((migration) => !applied.has(migration.hash))
}
