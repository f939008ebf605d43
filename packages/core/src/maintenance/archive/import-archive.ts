import { addAbortSignal, type Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { migrationsOf } from '../../storage/migrations.ts'
import { refusal } from '../refusal.ts'
import { createChecksum } from './checksum.ts'
import type { ArchiveDatabase, TableReader, TableWriter } from './database.ts'
import type { MoveReport, OnProgress, TableSum } from './format.ts'
import { openArchiveDatabase } from './open.ts'
import { type Archive, type ArchivedTable, readArchive } from './read-archive.ts'
import { archiveTables } from './tables.ts'

/** Options of an import. */
export interface ImportOptions {
  database_url: string
  /** The archive, from its first byte. */
  from: Readable
  signal?: AbortSignal | undefined
  onProgress?: OnProgress | undefined
}

/**
 * Fills an empty database from an archive; creates and migrates the database first. An archive of an older schema is
 * imported at that schema and then migrated. The archive is verified while it is read. Before the commit, the checksums
 * are computed again from the database. After a failure nothing is written.
 * @throws Error with a message of one line and a `code`: `foreign`, `truncated`, `altered`, `newer`, `not_empty`, `in_use`, or
 *   `not_equal` if the database did not keep the imported values.
 */
export async function importArchive(options: ImportOptions): Promise<MoveReport> {
  const { database_url, from, signal, onProgress = () => {} } = options
  // A stop does not wait for the other end of a pipe.
  if (signal) addAbortSignal(signal, from)
  try {
    const database = await openArchiveDatabase(database_url)
    const archive = await readArchive(from)
    return await fillFrom(archive, database, { signal, onProgress })
  } finally {
    from.destroy()
  }
}

async function fillFrom(
  archive: Archive,
  database: ArchiveDatabase,
  watch: Watch,
): Promise<MoveReport> {
  const { made_by, created_at, migrations } = archive.header
  const isCurrent = assertKnown(migrations, migrationsOf(database.engine))
  const tables = await database.fill(migrations.length, async (writer) => {
    if (isCurrent) for (const table of archiveTables()) assertEmpty(table, await writer.take(table))
    const found: ArchivedTable[] = []
    for await (const table of archive.tables()) {
      assertExpected(table, found.length, isCurrent)
      assertEmpty(table, await writer.take(table))
      await fillTable(writer, table, watch)
      found.push(table)
    }
    if (isCurrent && found.length !== archiveTables().length) throw otherTables()
    for (const table of found) await verifyTable(writer, table, watch)
    return found.map((table) => table.sum())
  })
  return { made_by, created_at, tables }
}

/** Whether the archive has exactly the program's schema, not an older one. */
function assertKnown(has: readonly string[], all: readonly { name: string }[]): boolean {
  const isKnown = has.every((name, i) => all[i]?.name === name)
  if (!isKnown) throw refusal('newer', 'the archive was made by a newer version of svc')
  return has.length === all.length
}

/** Names of columns become part of statements. An archive of the current schema must have exactly its columns. */
function assertExpected({ table, columns }: ArchivedTable, i: number, isCurrent: boolean): void {
  const known = archiveTables()
  const expected = isCurrent ? known[i] : known.find((each) => each.table === table)
  const isExpected = isCurrent ? isDeepStrictEqual({ table, columns }, expected) : expected
  if (!isExpected) throw otherTables()
}

function otherTables(): Error {
  return refusal('altered', 'the archive was altered or damaged: its tables are not those of svc')
}

function assertEmpty({ table }: { table: string }, isEmpty: boolean): void {
  if (isEmpty) return
  throw refusal('not_empty', `the database is not empty: there are rows in ${table}`)
}

interface Watch {
  signal: AbortSignal | undefined
  onProgress: OnProgress
}

async function fillTable(
  writer: TableWriter,
  archived: ArchivedTable,
  { signal, onProgress }: Watch,
): Promise<void> {
  const { table, rows_total } = archived
  let rows = 0
  onProgress({ step: 'import', table, rows, rows_total })
  for await (const batch of archived.rows()) {
    signal?.throwIfAborted()
    await writer.insert(archived, batch).catch((error) => explained(error, table))
    rows += batch.length
    onProgress({ step: 'import', table, rows, rows_total })
  }
}

/** The archive was altered if a row violates a constraint of its table: no export contains such a row. */
function explained(error: unknown, table: string): never {
  const { code } = error as { code?: string }
  if (!/^(SQLITE_CONSTRAINT|23)/.test(code ?? '')) throw error
  throw refusal('altered', `the archive was altered or damaged: ${table} takes no such row`, error)
}

async function verifyTable(
  reader: TableReader,
  archived: ArchivedTable,
  { signal, onProgress }: Watch,
): Promise<void> {
  const { table, rows_total } = archived
  const found = createChecksum()
  const showProgress = () => onProgress({ step: 'verify', table, rows: found.rows(), rows_total })
  showProgress()
  for await (const batch of reader.rows(archived)) {
    signal?.throwIfAborted()
    for (const row of batch) found.add(JSON.stringify(row))
    showProgress()
  }
  const sum: TableSum = archived.sum()
  if (found.rows() === sum.rows && found.sha256() === sum.sha256) return
  throw refusal('not_equal', `the database did not keep the rows of ${table} as they were`)
}
