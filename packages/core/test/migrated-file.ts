import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../src/storage/sqlite/sqlite.ts'
import { testRuntime } from './fixtures.ts'

/** One for all test files of a process. */
let migrated: Promise<string> | undefined

/** The file that is copied. */
export function migratedOnce(): Promise<string> {
  migrated ??= migrateOne()
  return migrated
}

/** Makes an empty database file with all migrations. A copy costs a third of the CPU of a migration, or less. */
export async function makeMigratedFile(file: string): Promise<void> {
  copyFileSync(await migratedOnce(), file)
}

/** A new temporary folder with such a file, `svc.db`. */
export async function migratedFolder(prefix: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  await makeMigratedFile(join(folder, 'svc.db'))
  return folder
}

async function migrateOne(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrated-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'svc.db')
  await openSqlite(file, testRuntime('migrated')).close()
  return file
}
