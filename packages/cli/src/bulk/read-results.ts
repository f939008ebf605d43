import { createReadStream } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { misconfigured } from '../process/failure.ts'
import { type AddressesSeen, createAddressesSeen } from './addresses-seen.ts'
import { lineOf } from './result-line.ts'
import { type BegunLine, FORMAT, type ResultLine, type RunLine } from './results-file.ts'
import { NOTHING, plus, type RowResult, type Totals, unitsOf } from './totals.ts'

/** The size of the longest possible row when every character is escaped in JSON. */
const LINE_MAX_BYTES = 1024 * 1024

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
  for await (const { text, end } of linesOf(path)) {
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

/** The complete lines of a file. A crash may have cut the last line; then it is left out. */
async function* linesOf(path: string): AsyncGenerator<{ text: string; end: number }> {
  let rest: Buffer = Buffer.alloc(0)
  let at = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      yield { text: bytes.toString('utf8', start, end), end: at + end + 1 }
      start = end + 1
    }
    at += start
    rest = bytes.subarray(start)
    if (rest.length > LINE_MAX_BYTES) throw damaged(path, null)
  }
}

function damaged(path: string, line: number | null): Error {
  const where = line === null ? '' : `, line ${line}`
  return misconfigured(
    `${path}${where}: the file is damaged or was edited, so nothing was sent. Restore the original file; with another file (--results) all messages would be sent again`,
  )
}
