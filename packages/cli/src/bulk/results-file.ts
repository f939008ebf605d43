import { access, type FileHandle, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { linesOf } from '../input/read-input.ts'
import { misconfigured } from '../process/failure.ts'
import { type AddressesSeen, createAddressesSeen } from './addresses-seen.ts'
import { NOTHING, plus, type RowResult, type Totals, unitsOf } from './progress.ts'

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
interface BatchLine extends Omit<Totals, 'credits'> {
  type: 'batch'
  batch: number
  bulk_id: string | null
  /** The number of credits, with decimals. */
  credits_used: number
  last_line: number
  at: string
}

/** The line for a started batch whose rows must still be sent. */
interface RefusedLine {
  type: 'refused'
  batch: number
  error: string
  at: string
}

/** A line of a result file. */
type ResultLine = RunLine | BegunLine | BatchLine | RefusedLine | ({ type: 'row' } & RowResult)

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

/** The state of a run. */
export interface RunState {
  run: RunLine
  /** The line of the input file on which the last finished row starts. */
  last_line: number
  totals: Totals
  /** The number of started batches. */
  batches: number
  /** The batch whose answer is not recorded; null if there is none. */
  pending: BegunLine | null
  /** The id of the last sent batch. */
  bulk_id: string | null
  /** The recipients of accepted messages: addresses as `keyOf` returns them, and keys of contacts. */
  seen: AddressesSeen
  /** The length of the complete lines; the bytes after them are an incomplete write. */
  bytes: number
}

/**
 * Reads a result file line by line. Returns null if there is no file.
 * @throws Failure that names the line, when the file has another format or is damaged.
 */
export async function readResults(
  path: string,
  keyOf: (to: string) => string,
): Promise<RunState | null> {
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (!exists) return null
  let state: RunState | null = null
  let number = 0
  let offset = 0
  const rows: Extract<ResultLine, { type: 'row' }>[] = []
  for await (const { text, end, is_cut } of linesOf(path, () => damaged(path, null))) {
    // A crash may have cut the last line.
    if (is_cut) break
    number++
    offset = end
    const line = lineOf(text)
    if (state === null) {
      state = begin(path, line, offset)
      continue
    }
    if (line === null || !follows(state, line, rows.length)) throw damaged(path, number)
    if (line.type === 'row') {
      rows.push(line)
      continue
    }
    if (line.type === 'batch') for (const row of rows) remember(state.seen, row, keyOf)
    rows.length = 0
    state = { ...after(state, line), bytes: offset }
  }
  if (state === null && (await stat(path)).size > 0) return begin(path, null, 0)
  return state
}

/** Adds the address and the contact of a row to the seen recipients. */
export function remember(
  seen: AddressesSeen,
  {
    to,
    contact_id,
    message_id,
    error,
  }: Pick<RowResult, 'to' | 'contact_id' | 'message_id' | 'error'>,
  keyOf: (to: string) => string,
): void {
  // A row whose answer was lost may have been sent.
  if (message_id === undefined && error !== 'unanswered') return
  if (to !== null) seen.add(keyOf(to))
  if (contact_id !== undefined) seen.add(contactKey(contact_id))
}

/** The key of a contact; the space distinguishes it from addresses. */
export function contactKey(contact_id: string): string {
  return `contact ${contact_id.toLowerCase()}`
}

function begin(path: string, line: ResultLine | null, bytes: number): RunState {
  if (line?.type !== 'run') {
    throw misconfigured(
      `${path} is not a result file of svc bulk send: use another one with --results`,
    )
  }
  if (line.format !== FORMAT) {
    throw misconfigured(`${path} was written by another version of svc: continue with that version`)
  }
  const seen = createAddressesSeen()
  return {
    run: line,
    last_line: 1,
    totals: NOTHING,
    batches: 0,
    pending: null,
    bulk_id: null,
    seen,
    bytes,
  }
}

/** Whether a line can follow the lines of the state. It cannot if an earlier line was removed, added or moved. */
function follows(state: RunState, line: ResultLine, rows: number): boolean {
  const next = state.pending?.batch ?? state.batches + 1
  switch (line.type) {
    case 'run':
      return false
    case 'row':
      return line.line > state.last_line
    case 'begun':
      return state.pending === null && line.batch === next && line.first_line > state.last_line
    case 'refused':
      return state.pending !== null && line.batch === next
    case 'batch':
      return line.batch === next && line.rows === rows && line.last_line > state.last_line
  }
}

function after(state: RunState, line: Exclude<ResultLine, { type: 'row' }>): RunState {
  if (line.type === 'begun') return { ...state, batches: line.batch, pending: line }
  if (line.type === 'refused') return { ...state, pending: null }
  if (line.type === 'run') return state
  return {
    ...state,
    last_line: line.last_line,
    batches: line.batch,
    totals: plus(state.totals, {
      ...line,
      credits: unitsOf(line.credits_used),
    }),
    pending: null,
    bulk_id: line.bulk_id ?? state.bulk_id,
  }
}

function damaged(path: string, line: number | null): Error {
  const where = line === null ? '' : `, line ${line}`
  return misconfigured(
    `${path}${where}: the file is damaged or was edited, so nothing was sent. Restore the original file; with another file (--results) all messages would be sent again`,
  )
}

type Kind = 'string' | 'whole' | 'number' | 'text'

/** The required fields of a line. A field of the kind `text` may be null. */
const FIELDS: Record<ResultLine['type'], Record<string, Kind>> = {
  run: {
    format: 'whole',
    run_id: 'string',
    sha256: 'string',
    rows: 'whole',
    request_sha256: 'string',
    server: 'string',
    mode: 'string',
    key_sha256: 'string',
    scheduled_at: 'text',
  },
  begun: {
    batch: 'whole',
    idempotency_key: 'string',
    first_line: 'whole',
    last_line: 'whole',
    at: 'string',
  },
  batch: {
    batch: 'whole',
    bulk_id: 'text',
    last_line: 'whole',
    rows: 'whole',
    accepted: 'whole',
    rejected: 'whole',
    duplicates: 'whole',
    credits_used: 'number',
  },
  refused: { batch: 'whole' },
  row: { line: 'whole', to: 'text' },
}

/** Reads a line of a result file. Returns null for another format or a missing field. */
function lineOf(text: string): ResultLine | null {
  const value = objectOf(text)
  const fields = FIELDS[value?.type as ResultLine['type']]
  if (!value || !fields) return null
  const isWhole = Object.entries(fields).every(([name, kind]) => fits(value[name], kind))
  return isWhole ? (value as unknown as ResultLine) : null
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}

function fits(value: unknown, kind: Kind): boolean {
  if (kind === 'whole') return Number.isSafeInteger(value) && (value as number) >= 0
  if (kind === 'number') return Number.isFinite(value) && (value as number) >= 0
  return typeof value === 'string' || (kind === 'text' && value === null)
}
