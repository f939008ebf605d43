import { existsSync, statSync } from 'node:fs'
import { getTableName } from 'drizzle-orm'
import { dialects } from '../../rows/dialect.ts'
import { tables } from '../../rows/tables.ts'
import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import { appliedIn, type Connection, Sqlite } from '../../storage/sqlite/engine/connection.ts'
import { dbOver } from '../../storage/sqlite/engine/db.ts'

import { queryOver } from '../../storage/sqlite/engine/query.ts'
import { sealedValueStore } from '../../storage/stores/secrets.ts'
import { verifyLedger } from '../ledger/verify-ledger.ts'
import { refusal } from '../refusal.ts'
import { assertSqlite, markOf, verifySeal } from './backup-seal.ts'
import type { BackupCheck, OnStep, Verification } from './report.ts'

/** How a backup is checked. */
export interface CheckOptions {
  verify: Verification
  onProgress?: OnStep | undefined
  signal?: AbortSignal | undefined
}

/** The columns whose newest value is the time at which the database was last used. */
const TIMES: Readonly<Record<string, string>> = {
  messages: 'updated_at',
  ledger_entries: 'created_at',
  events: 'created_at',
  workspaces: 'updated_at',
}

/**
 * Verifies a copy of a database: its seal, its SQLite structure, its schema and its books. Changes nothing.
 * @throws Error in one line, with a `code`: `not_found`, `foreign`, `damaged`, `newer`, `in_use` for a file with a log
 *   beside it: a database in use, not a copy.
 */
export async function checkBackup(file: string, options: CheckOptions): Promise<BackupCheck> {
  const { verify, onProgress, signal } = options
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw refusal('not_found', `there is no file ${file}`)
  }
  assertSqlite(file)
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0) {
    throw refusal('in_use', `${file} is a database in use, with a log beside it, and no backup`)
  }
  return explainDamage(file, async () => {
    const copy = new Sqlite(file, { readonly: true, fileMustExist: true })
    try {
      assertTables(file, copy)
      const sha256 = await verifySeal(file, copy, signal)
      const { applied, pending, is_newer } = statusOf(migrationsOf('sqlite'), appliedIn(copy))
      if (applied.length === 0) throw refusal('foreign', `${file} is not a database of svc`)
      if (is_newer) throw refusal('newer', `${file} was made by a newer version of svc`)
      onProgress?.({ name: 'structure', done: 0, total: 1 })
      if (verify !== 'none') assertSound(file, copy, verify)
      onProgress?.({ name: 'structure', done: 1, total: 1 })
      const mark = markOf(copy)
      return {
        file,
        bytes: statSync(file).size,
        sha256,
        as_of: mark?.as_of ?? newestIn(copy),
        as_of_from: mark ? ('mark' as const) : ('rows' as const),
        made_by: mark?.made_by ?? null,
        migrations_missing: pending,
        verified: verify,
        ledger: pending.length > 0 || verify === 'none' ? null : await booksOf(file, options),
        secrets_keys: pending.length > 0 ? null : await keysOf(copy),
      }
    } finally {
      copy.close()
    }
  })
}

/** The ids of the keys that encrypted the secrets of the copy. */
async function keysOf(copy: Connection): Promise<string[]> {
  const db = dbOver(queryOver(copy))
  const forms = await sealedValueStore(db, tables(dialects.sqlite), {
    locked: (rows) => rows,
  }).reads.forms()
  return forms.flatMap(({ key_id }) => key_id ?? []).sort()
}

/** @throws Error `foreign` where a view has the name of a table: reading such a view might never end. */
function assertTables(file: string, copy: Connection): void {
  const views = copy.prepare("select name from sqlite_schema where type = 'view'").pluck().all()
  const ours = new Set([
    'svc_migrations',
    ...Object.values(tables(dialects.sqlite)).map(getTableName),
  ])
  const found = (views as string[]).find((name) => ours.has(name.toLowerCase()))
  if (found) throw refusal('foreign', `${file} is not a database of svc: its ${found} is a view`)
}

/** @throws Error `damaged` unless SQLite finds every page, row and index correct. */
function assertSound(file: string, copy: Connection, verify: Verification): void {
  const check = verify === 'full' ? 'integrity_check(1)' : 'quick_check(1)'
  const found = copy.pragma(check, { simple: true }) as string
  if (found !== 'ok') throw refusal('damaged', `${file} is damaged: ${found.split('\n')[0]}`)
}

async function booksOf(
  file: string,
  { verify, onProgress, signal }: CheckOptions,
): Promise<BackupCheck['ledger']> {
  const report = await verifyLedger(`file:${file}`, { fast: verify === 'fast', onProgress, signal })
  const [first] = report.differences
  if (first) {
    const { check, workspace_id, stands, should } = first
    throw refusal(
      'damaged',
      `the books of ${file} do not add up: ${check} of ${workspace_id} is ${stands}, and should be ${should}`,
    )
  }
  const { workspaces, entries, messages } = report
  return { workspaces, entries, messages }
}

/** The time of the newest row; 1970 in an empty database. */
function newestIn(copy: Connection): Date {
  const there = copy.prepare('select 1 from pragma_table_info(?) where name = ?')
  const times = Object.entries(TIMES).map(([table, column]) =>
    there.get(table, column) === undefined
      ? 0
      : (copy.prepare(`select max("${column}") from "${table}"`).pluck().get() as number | null),
  )
  return new Date(Math.max(0, ...times.map((time) => time ?? 0)))
}

/** Explains SQLite's errors about a file that it cannot read. */
async function explainDamage<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string }
    if (!/^SQLITE_(CORRUPT|NOTADB|ERROR|IOERR)/.test(code)) throw error
    throw refusal('damaged', `${file} is damaged: ${message}`, error)
  }
}
