import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RowResult, Totals } from './totals.ts'

/** The version of the file's lines; another one is not continued. */
export const FORMAT = 1

/** What a result file is about: a run that is continued must be the same in all of it. */
export interface RunLine {
  type: 'run'
  format: number
  run_id: string
  file: string
  sha256: string
  rows: number
  /** Of what is sent: content, sender, defaults, metadata and times, as they were given. */
  request_sha256: string
  server: string
  mode: 'test' | 'live'
  /** Tells one API key from another without telling it. */
  key_sha256: string
  /** A span given with `--at`, counted from when the run began. */
  scheduled_at: string | null
  created_at: string
}

/** Written before a batch is sent: what comes after it may have been lost. */
export interface BegunLine {
  type: 'begun'
  batch: number
  idempotency_key: string
  first_line: number
  last_line: number
  at: string
}

/** Written with the rows of a batch, once its answer is there. `bulk_id` is null where nobody was left to send to. */
export interface BatchLine extends Omit<Totals, 'credits'> {
  type: 'batch'
  batch: number
  bulk_id: string | null
  /** Credits, with decimals. */
  credits_used: number
  last_line: number
  at: string
}

/** A batch that was begun and is known to be not sent: its rows are still to be sent. */
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

/** A result file to which lines are added; what `append` has answered for is on the disk. */
export interface ResultsFile {
  append(lines: readonly ResultLine[]): Promise<void>
  close(): Promise<void>
}

/** Makes a result file, for its owner alone: it has addresses of people. It is there whole or not at all. */
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

/** Opens a result file to go on after its first `bytes`; what stands behind them was not finished. */
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

/** So that the file itself is there after a power failure; not every system can. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
