import { createHash } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type ExportOptions, exportArchive } from '../../src/maintenance/archive/export-archive.ts'
import type { MoveReport } from '../../src/maintenance/archive/format.ts'
import { importArchive } from '../../src/maintenance/archive/import-archive.ts'
import { openArchiveDatabase } from '../../src/maintenance/archive/open.ts'
import { archiveTables } from '../../src/maintenance/archive/tables.ts'

export interface Exported {
  bytes: Buffer
  report: MoveReport
}

/** Exports a database into memory. */
export async function exported(
  database_url: string,
  overrides: Partial<ExportOptions> = {},
): Promise<Exported> {
  const to = new PassThrough()
  const bytes = buffer(to)
  // The test that awaits it has failed already.
  bytes.catch(() => {})
  try {
    const report = await exportArchive({ database_url, to, made_by: 'svc test', ...overrides })
    to.end()
    return { report, bytes: await bytes }
  } finally {
    to.destroy()
  }
}

/** Fills a database from an archive in memory. */
export function imported(
  database_url: string,
  bytes: Uint8Array,
  overrides: { signal?: AbortSignal } = {},
): Promise<MoveReport> {
  return importArchive({ database_url, from: Readable.from([bytes]), ...overrides })
}

/** Every row of every table, in an order of its own, as the engine gives them. */
export async function rowsOf(database_url: string): Promise<Record<string, string[]>> {
  const database = await openArchiveDatabase(database_url)
  return database.read({ alone: false }, async (reader) => {
    const all: Record<string, string[]> = {}
    for (const table of archiveTables()) {
      const rows: string[] = []
      for await (const batch of reader.rows(table)) {
        for (const row of batch) rows.push(JSON.stringify(row))
      }
      all[table.table] = rows.sort()
    }
    return all
  })
}

/** The lines of an archive. */
export function linesOf(bytes: Uint8Array): string[] {
  return gunzipSync(bytes).toString('utf8').trimEnd().split('\n')
}

/** An archive of these lines, with a checksum of the whole that is right. */
export function archiveOf(lines: readonly string[]): Buffer {
  const body = lines.slice(0, -1)
  const sha256 = createHash('sha256')
    .update(body.map((line) => `${line}\n`).join(''))
    .digest('hex')
  const end = { ...JSON.parse(lines.at(-1) ?? ''), sha256 }
  return gzipSync(`${[...body, JSON.stringify(end)].join('\n')}\n`)
}
