import { createHash } from 'node:crypto'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { refusal } from '../refusal.ts'
import { createChecksum } from './checksum.ts'
import type { ArchiveDatabase, TableReader } from './database.ts'
import { FORMAT, FORMAT_VERSION, type Header, type MoveReport, type OnProgress } from './format.ts'
import { openArchiveDatabase } from './open.ts'
import { archiveTables } from './tables.ts'

/** Options of an export. */
export interface ExportOptions {
  database_url: string
  /** Receives the archive. The stream is not ended. After a failure its content is not a valid archive. */
  to: Writable
  /** The program and its version, for the header. */
  made_by: string
  /** Whether a server may run during the export. Requests that it accepts after the snapshot are not included. */
  snapshot?: boolean | undefined
  now?: (() => Date) | undefined
  signal?: AbortSignal | undefined
  onProgress?: OnProgress | undefined
}

/**
 * Writes the whole content of a database as one archive, secrets included. Reads one consistent snapshot, in constant
 * memory. The database is not changed.
 * @throws Error with a message of one line and a `code`: `not_found`, `in_use`, or `behind` or `newer` if the schema is not this
 *   program's.
 */
export async function exportArchive(options: ExportOptions): Promise<MoveReport> {
  const { database_url, to, made_by, snapshot = false, now = () => new Date(), signal } = options
  const database = await openArchiveDatabase(database_url)
  const migrations = await assertCurrent(database)
  return database.read({ alone: !snapshot }, async (reader) => {
    const created_at = now().toISOString()
    const header: Header = {
      format: FORMAT,
      version: FORMAT_VERSION,
      made_by,
      created_at,
      migrations,
    }
    const report: MoveReport = { made_by, created_at, tables: [] }
    const texts = textsOf(reader, header, report, options.onProgress ?? (() => {}))
    try {
      await pipeline(Readable.from(texts), createGzip(), to, { end: false, signal })
    } finally {
      // A stop in the middle of a table leaves the reader of its rows open.
      await texts.return(undefined)
    }
    return report
  })
}

/**
 * Returns the steps of the schema.
 * @throws Error unless the schema is the program's.
 */
async function assertCurrent(database: ArchiveDatabase): Promise<string[]> {
  const { applied, pending, later, is_newer } = await database.status()
  // An archive has the columns that this program knows, so it would lose the others.
  if (is_newer || later.length > 0)
    throw refusal('newer', 'the database was made by a newer version of svc')
  if (applied.length === 0)
    throw refusal('not_found', 'the database is none of svc: it has no tables')
  const [next] = pending
  if (next)
    throw refusal('behind', `the database is not at the schema of this program: ${next} is missing`)
  return applied
}

/** The lines of an archive; each text has a batch of rows. `report` gets the checksums. */
async function* textsOf(
  reader: TableReader,
  header: Header,
  report: MoveReport,
  onProgress: OnProgress,
): AsyncGenerator<string> {
  const whole = createHash('sha256')
  const hashed = (...lines: string[]) => {
    const text = `${lines.join('\n')}\n`
    whole.update(text)
    return text
  }
  yield hashed(JSON.stringify(header))
  for (const each of archiveTables()) {
    const { table } = each
    const rows_total = await reader.count(each)
    const sum = createChecksum()
    const showProgress = () => onProgress({ step: 'export', table, rows: sum.rows(), rows_total })
    yield hashed(JSON.stringify({ ...each, rows: rows_total }))
    showProgress()
    for await (const rows of reader.rows(each)) {
      const lines = rows.map((row) => JSON.stringify(row))
      lines.forEach(sum.add)
      yield hashed(...lines)
      showProgress()
    }
    const line = { table, rows: sum.rows(), sha256: sum.sha256() }
    report.tables.push(line)
    yield hashed(JSON.stringify(line))
  }
  const rows = report.tables.reduce((all, each) => all + each.rows, 0)
  const end = { end: true, tables: report.tables.length, rows, sha256: whole.digest('hex') }
  yield `${JSON.stringify(end)}\n`
}
