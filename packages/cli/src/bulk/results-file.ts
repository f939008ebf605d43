import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RowResult, Totals } from './totals.ts'

/** The format version; a file with another version is not continued. */
export const FORMAT = 1

/** The first line of a result file: it describes the run. */
export interface RunLine {
  type: 'run'
  format: number
  run_id: string
  file: string
  sha256: string
  rows: number
  /** The digest of the options: content, sender, defaults, metadata and times. */
  request_sha256: string
  server: string
  mode: 'test' | 'live'
  /** A digest that distinguishes API keys, because the key itself is not stored. */
  key_sha256: string
  /** The time of `--at`; a duration counts from the start of the run. */
  scheduled_at: string | null
  created_at: string
}

/** The line that is written before a batch is sent, because the answer may be lost. */
export interface BegunLine {
  type: 'begun'
  batch: number
  idempotency_key: string
  first_line: number
  last_line: number
  at: string
}

/** The line that follows the rows of a finished batch. `bulk_id` is null when no row of the batch was sent. */
export interface BatchLine extends Omit<Totals, 'credits'> {
  type: 'batch'
  batch: number
  bulk_id: string | null
  /** The number of credits, with decimals. */
  credits_used: number
  last_line: number
  at: string
}

/** The line for a started batch whose rows must still be sent. */
export interface RefusedLine {
  type: 'refused'
  batch: number
  error: string
  at: string
}

/** A line of a result file. */
export type ResultLine =
  | RunLine
  | BegunLine
  | BatchLine
  | RefusedLine
  | ({ type: 'row' } & RowResult)

/** A result file that grows; when `append` resolves, the lines are on the disk. */
export interface ResultsFile {
  append(lines: readonly ResultLine[]): Promise<void>
  close(): Promise<void>
}

/** Creates a result file atomically, readable by its owner only, because it contains personal data. */
export async function createResultsFile(path: string, run: RunLine): Promise<ResultsFile> {
  const unfinished = `${path}.tmp`
  const handle = await open(unfinished, 'w', 0o600)
  const file = fileOf(handle)
  try {
    await file.append([run])
    await rename(unfinished, path)
    await syncFolder(dirname(path))
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Opens a result file and truncates it to its first `bytes`, to remove an incomplete write. */
export async function continueResultsFile(path: string, bytes: number): Promise<ResultsFile> {
  const handle = await open(path, 'r+')
  await handle.truncate(bytes)
  await handle.close()
  return fileOf(await open(path, 'a'))
}

function fileOf(handle: FileHandle): ResultsFile {
  return {
    async append(lines) {
      await handle.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      await handle.datasync()
    },
    close: () => handle.close(),
  }
}

/** Syncs the folder, so that the file exists after a power failure; some systems cannot do this. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
