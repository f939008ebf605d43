import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { invalid, type SvcError } from '../contract/errors.ts'
import { isRecord } from '../contract/fields/fields.ts'
import { checkValue, jsonShape } from '../contract/fields/json-text.ts'
import { LIMITS } from '../contract/limits.ts'
import { CSV_COLUMNS, unguarded } from './csv-cells.ts'

/** The number of bytes that are parsed before other work runs. Parsing them takes about a millisecond. */
const PIECE_BYTES = 16 * 1024

/** A file needs one of these columns, which identify a contact. */
const NAMING = ['phone', 'email', 'external_id']

/** Columns of an export that an import ignores. */
const READ_ONLY = new Set(['id', 'created_at', 'updated_at'])

const TRIMMED = new Set(['phone', 'email', 'tags', 'attributes', 'unsubscribed'])

const KNOWN = new Set<string>(CSV_COLUMNS)

/**
 * Reads contacts for an import from CSV (RFC 4180) in UTF-8 with a header row. Accepts commas or semicolons, any line
 * breaks, and a byte order mark. Skips empty cells. Columns with other names become attributes. Does not validate the
 * values of cells. Stops after `rows_max` + 1 contacts.
 * @throws SvcError `validation_error` with the line, when the file cannot be read.
 */
export async function readContactsCsv(
  bytes: Buffer,
  { rows_max }: { rows_max: number },
): Promise<Record<string, unknown>[]> {
  if (!isUtf8(bytes)) throw refusal('it is not UTF-8')
  if (bytes.includes(0)) throw refusal('it has the character U+0000')
  const { parse, CsvError } = await import('csv-parse')
  const parser = Readable.from(piecesOf(bytes)).pipe(
    parse({
      bom: true,
      delimiter: delimiterOf(bytes),
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
    }),
  )
  const contacts: Record<string, unknown>[] = []
  let columns: string[] | null = null
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (columns) contacts.push(contactOf(columns, cells))
      else columns = columnsOf(cells)
      if (contacts.length > rows_max) break
    }
  } catch (error) {
    throw error instanceof CsvError ? refusal(faultOf(error)) : error
  }
  if (!columns) throw refusal('it needs a header row')
  return contacts
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Spreadsheets write semicolons in countries with a decimal comma. */
function delimiterOf(bytes: Buffer): string {
  const end = bytes.indexOf('\n')
  const header = bytes.subarray(0, end === -1 ? bytes.length : end)
  return header.includes(';') && !header.includes(',') ? ';' : ','
}

function columnsOf(header: readonly string[]): string[] {
  if (header.length > LIMITS.contact_import_columns) {
    throw refusal(`it has more than ${LIMITS.contact_import_columns} columns`)
  }
  const columns = header.map((cell) => {
    const name = unguarded(cell.trim())
    const known = name.toLowerCase()
    return KNOWN.has(known) ? known : name
  })
  const nameless = columns.indexOf('')
  if (nameless !== -1) throw refusal(`column ${nameless + 1} has no name`)
  const twice = columns.find((name, i) => columns.indexOf(name) !== i)
  if (twice !== undefined) throw refusal(`two columns are named ${twice}`)
  if (!NAMING.some((name) => columns.includes(name))) {
    throw refusal(`it needs a column named ${NAMING.join(', ')}`)
  }
  return columns
}

function contactOf(columns: readonly string[], row: readonly string[]): Record<string, unknown> {
  const contact: Record<string, unknown> = {}
  const attributes: [string, unknown][] = []
  columns.forEach((name, i) => {
    const text = unguarded(row[i] ?? '')
    // Spaces belong to a cell (RFC 4180), but have no meaning around these values.
    const cell = TRIMMED.has(name) ? text.trim() : text
    if (cell === '' || READ_ONLY.has(name)) return
    if (!KNOWN.has(name)) attributes.push([name, cell])
    else if (name === 'tags') contact.tags = listOf(cell) ?? cell
    else if (name === 'unsubscribed') contact.subscriptions = unsubscribedFrom(cell)
    else contact[name] = name === 'attributes' ? objectOf(cell) : cell
  })
  if (attributes.length === 0) return contact
  const { attributes: cell = {} } = contact
  // A cell that is not an object stays unchanged, so that the validation refuses it.
  return isRecord(cell)
    ? { ...contact, attributes: { ...cell, ...Object.fromEntries(attributes) } }
    : contact
}

/** The maximum number of items in a cell, including empty items: far more than any field accepts. */
const LIST_MAX = 1_000

/** Returns null for too many items. The cell then stays a text, and the validation refuses it. */
function listOf(cell: string): string[] | null {
  const items = cell.split(/[;,]/, LIST_MAX + 1)
  return items.length > LIST_MAX ? null : items.flatMap((item) => item.trim() || [])
}

function unsubscribedFrom(cell: string): unknown {
  const channels = listOf(cell)
  return channels ? Object.fromEntries(channels.map((each) => [each, 'unsubscribed'])) : cell
}

/**
 * Returns the JSON object of a cell, or the cell's text, which the validation refuses. The limits are the same as for an
 * item in a JSON body.
 */
function objectOf(cell: string): unknown {
  const { depth, values } = jsonShape(cell)
  if (depth > LIMITS.json_depth || values > LIMITS.json_values) return cell
  try {
    const value: unknown = JSON.parse(cell)
    checkValue(value)
    return value
  } catch {
    return cell
  }
}

/** Returns our own text, because the parser's texts contain values of cells. */
function faultOf({ code, lines }: { code: string; lines?: unknown }): string {
  const where = typeof lines === 'number' ? `line ${lines}` : 'the file'
  if (code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH') {
    return `${where} has another number of cells than the header`
  }
  if (code === 'CSV_QUOTE_NOT_CLOSED') return `a quote that ${where} opens is not closed`
  return `${where} has a quote where none can be`
}

function refusal(why: string): SvcError {
  return invalid('', `Request body must be valid CSV: ${why}`)
}
