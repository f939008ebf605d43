import { setImmediate as turn } from 'node:timers/promises'
import type { z } from 'zod'
import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, invalid } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { isRecord } from '../contract/fields/fields.ts'
import { checkValue, jsonShape } from '../contract/fields/json-text.ts'
import { LIMITS } from '../contract/limits.ts'
import {
  type Contact,
  type contact,
  importBody,
  importQuery,
} from '../contract/resources/contacts.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import type { Reads } from '../storage/ports/stores.ts'
import {
  type Column,
  CSV_COLUMNS,
  type CsvColumn,
  mapColumns,
  SAMPLE_ROWS,
} from '../tables/columns.ts'
import { type CsvValue, csvLine } from '../tables/csv-line.ts'
import { type Source, TableFault } from '../tables/encoding.ts'
import { type Person, readPerson } from '../tables/people.ts'
import { isCountry } from '../tables/phone-numbers.ts'
import { openTable, type Table, type TableRow } from '../tables/read-table.ts'

/** The number of bytes that are parsed before other work runs. Parsing them takes about a millisecond. */
const PIECE_BYTES = 16 * 1024

/** The time after which other work runs. Reading a phone number takes up to 0.1 ms. */
const TURN_MS = 5

/** A file needs a column of one of these fields, which identify a contact. */
const NAMING = ['phone', 'email', 'external_id']

const EXAMPLES = 3
const EXAMPLE_LENGTH = 100

/** What to know about a file, besides its bytes. */
export interface FileOptions {
  /** The encoding of the file; by default it is found. */
  charset?: string | undefined
  /** The country (ISO 3166-1 alpha-2) of phone numbers without a country code. */
  default_country?: string | undefined
  /** The fields of columns by their headings, where a heading does not say it. */
  columns?: Readonly<Record<string, string>> | undefined
}

/** The contacts of a file, in the form of an import. */
export interface FileOfContacts {
  contacts: Record<string, unknown>[]
  /** The line of each contact, from 1. */
  lines: number[]
  /** What is wrong with a contact, found while it was read. */
  faults: Map<number, ErrorDetail>
  file: {
    encoding: string
    separator: string
    columns: { name: string; field: string; examples: string[] }[]
  }
  warnings: string[]
}

/** A row of a file, and the contact that an import takes from it. */
export interface RowOfContact {
  /** The line on which the row starts, from 1. */
  line: number
  cells: string[]
  contact: Record<string, unknown>
  /** What is wrong with the contact, found while it was read. */
  fault: ErrorDetail | null
}

/** A file of contacts, whose rows are read one by one. */
interface OpenedContacts extends Pick<FileOfContacts, 'file' | 'warnings'> {
  /** @throws TableFault with the line. */
  rows: AsyncGenerator<RowOfContact>
}

/**
 * Opens a table with a header row for an import, see `openTable` and `mapColumns`. Empty cells are no values. Does not validate
 * the values of cells, except phone numbers.
 * @throws TableFault when the file cannot be read; SvcError `validation_error` for an unknown country.
 */
async function openContacts(
  source: Source,
  { charset, default_country, columns: chosen }: FileOptions,
): Promise<OpenedContacts> {
  const country = countryOf(default_country)
  const table = await openTable(source, charset)
  const { header, sample } = await beginningOf(table)
  const { columns, warnings } = mapColumns(header.cells, {
    sample: sample.map(({ cells }) => cells),
    chosen,
  })
  assertNaming(columns)
  const file = {
    encoding: table.encoding,
    separator: table.separator,
    columns: columns.map((column) => describe(column, sample)),
  }
  return { file, warnings, rows: contactsIn(behind(sample, table.rows)) }

  async function* contactsIn(rows: AsyncIterable<TableRow>): AsyncGenerator<RowOfContact> {
    let began = performance.now()
    for await (const { line, cells } of rows) {
      if (cells.length !== header.cells.length) {
        throw new TableFault('it has another number of cells than the header', line)
      }
      const person = readPerson(columns, cells, country)
      const fault = person.fault === null ? null : { path: 'phone', message: person.fault }
      yield { line, cells, contact: contactOf(person), fault }
      if (performance.now() - began < TURN_MS) continue
      await turn()
      began = performance.now()
    }
  }
}

/** Reads the contacts of a file, see `openContacts`. Stops after `rows_max` + 1 contacts. */
export async function readContacts(
  source: Source,
  { rows_max, ...options }: FileOptions & { rows_max: number },
): Promise<FileOfContacts> {
  const { file, warnings, rows } = await openContacts(source, options)
  const found: FileOfContacts = { contacts: [], lines: [], faults: new Map(), file, warnings }
  for await (const { line, contact, fault } of rows) {
    if (fault) found.faults.set(found.contacts.length, fault)
    found.contacts.push(contact)
    found.lines.push(line)
    if (found.contacts.length > rows_max) break
  }
  return found
}

/** The contacts of a file in memory, within the limits of one import. @throws SvcError `validation_error`. */
export async function readImportFile(
  bytes: Uint8Array,
  options: FileOptions,
): Promise<FileOfContacts> {
  const rows_max = LIMITS.contact_import_rows
  const found = await inBody(readContacts(() => piecesOf(bytes), { ...options, rows_max }))
  decode(importBody, { contacts: found.contacts })
  return found
}

/** Opens a file in memory. @throws SvcError `validation_error` when the file cannot be read, also while its rows are read. */
export async function openImportFile(
  bytes: Uint8Array,
  options: FileOptions,
): Promise<OpenedContacts> {
  const { rows, ...opened } = await inBody(openContacts(() => piecesOf(bytes), options))
  return { ...opened, rows: checked() }

  async function* checked(): AsyncGenerator<RowOfContact> {
    try {
      yield* rows
    } catch (error) {
      throw asInvalid(error)
    }
  }
}

async function inBody<T>(result: Promise<T>): Promise<T> {
  return result.catch((error: unknown) => {
    throw asInvalid(error)
  })
}

function asInvalid(error: unknown): unknown {
  return error instanceof TableFault
    ? invalid('', `Request body must be valid CSV: ${error.message}`)
    : error
}

/** The bytes in pieces; other work runs between them. */
export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES)
    await turn()
  }
}

function countryOf(code: string | undefined) {
  const { default_country: country } = decode(importQuery, { default_country: code })
  if (country === undefined || isCountry(country)) return country
  throw invalid('default_country', `The phone numbers of ${country} are not known`)
}

async function beginningOf({ rows }: Table): Promise<{ header: TableRow; sample: TableRow[] }> {
  const first = await rows.next()
  if (first.done) throw new TableFault('it needs a header row')
  const header = first.value
  if (header.cells.length > LIMITS.contact_import_columns) {
    throw new TableFault(`it has more than ${LIMITS.contact_import_columns} columns`)
  }
  const sample: TableRow[] = []
  while (sample.length < SAMPLE_ROWS) {
    const next = await rows.next()
    if (next.done) break
    sample.push(next.value)
  }
  return { header, sample }
}

async function* behind(
  first: readonly TableRow[],
  rows: AsyncIterable<TableRow>,
): AsyncGenerator<TableRow> {
  yield* first
  yield* rows
}

function assertNaming(columns: readonly Column[]): void {
  if (columns.some(({ field }) => NAMING.includes(field))) return
  const names = columns.map(({ name }) => name).join(', ')
  throw new TableFault(`it needs a column named ${NAMING.join(', ')}; its columns are ${names}`)
}

function describe(
  { at, name, field, attribute }: Column,
  sample: readonly TableRow[],
): FileOfContacts['file']['columns'][number] {
  const cells = sample.flatMap(({ cells }) => cells[at]?.trim().slice(0, EXAMPLE_LENGTH) || [])
  return {
    name,
    field: attribute === null ? field : `attributes.${attribute}`,
    examples: cells.slice(0, EXAMPLES),
  }
}

function contactOf({
  name,
  phone,
  email,
  more,
  cells,
  ...person
}: Person): Record<string, unknown> {
  const contact: Record<string, unknown> = {}
  if (name !== null) contact.name = name
  if (phone !== null) contact.phone = phone
  if (email !== null) contact.email = email
  if (cells.external_id !== undefined) contact.external_id = cells.external_id
  const { tags, unsubscribed } = cells
  if (tags !== undefined) contact.tags = tagsOf(tags.trim())
  if (unsubscribed !== undefined) contact.subscriptions = unsubscribedFrom(unsubscribed.trim())
  const attributes: [string, unknown][] = [
    ...namesOf(cells),
    ...person.attributes,
    ...(more.phones.length > 0 ? [['other_phones', more.phones] as [string, unknown]] : []),
    ...(more.emails.length > 0 ? [['other_emails', more.emails] as [string, unknown]] : []),
  ]
  const given = cells.attributes === undefined ? {} : objectOf(cells.attributes.trim())
  // A cell that is not an object stays unchanged, so that the validation refuses it.
  if (!isRecord(given)) return { ...contact, attributes: given }
  if (cells.attributes === undefined && attributes.length === 0) return contact
  return { ...contact, attributes: { ...given, ...Object.fromEntries(attributes) } }
}

/** The parts of the name, for placeholders such as `{{first_name}}`. */
function namesOf({ first_name, last_name }: Person['cells']): [string, string][] {
  return [
    ...(first_name === undefined ? [] : [['first_name', first_name.trim()] as [string, string]]),
    ...(last_name === undefined ? [] : [['last_name', last_name.trim()] as [string, string]]),
  ]
}

/** The maximum number of items in a cell, including empty items: far more than any field accepts. */
const LIST_MAX = 1_000

/** Google separates labels with ` ::: `, and marks its own with `* `. */
function tagsOf(cell: string): string[] | string {
  const tags = listOf(cell, /[;,]|:::/)
  return tags?.filter((tag) => !tag.startsWith('* ')) ?? cell
}

/** Returns null for too many items. The cell then stays a text, and the validation refuses it. */
function listOf(cell: string, separator: RegExp): string[] | null {
  const items = cell.split(separator, LIST_MAX + 1)
  return items.length > LIST_MAX ? null : items.flatMap((item) => item.trim() || [])
}

function unsubscribedFrom(cell: string): unknown {
  const channels = listOf(cell, /[;,]/)
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

/** The contact that has an address. */
export interface AddressContact {
  id: string
  name: string | null
}

/** Finds the contacts of some phone numbers and e-mail addresses; the result gives the contact of one of them. */
export async function contactsOf(
  contacts: Pick<Reads['contacts'], 'names'>,
  workspaceId: string,
  addresses: readonly string[],
): Promise<(address: string) => AddressContact | null> {
  const given = [...new Set(addresses)]
  const keys = {
    phones: given.filter((one) => !one.includes('@')),
    email_keys: given.filter((one) => one.includes('@')).map(emailKey),
  }
  const found = new Map<string, AddressContact>()
  for (const { id, name, phone, email_key } of await contacts.names(workspaceId, keys)) {
    for (const key of [phone, email_key]) if (key !== null) found.set(key, { id, name })
  }
  return (address) => found.get(address) ?? found.get(emailKey(address)) ?? null
}

/** A contact in JSON. */
export type WireContact = z.input<typeof contact>

/** The first line of an exported file. */
export const CSV_HEADER = `${CSV_COLUMNS.join(',')}\r\n`

/** Contacts as lines of CSV (RFC 4180), which `readContacts` reads. */
export function writeContactsCsv(contacts: readonly (Contact | WireContact)[]): string {
  return contacts.map((contact) => csvLine(cellsOf(contact))).join('')
}

function cellsOf(contact: Contact | WireContact): CsvValue[] {
  const { tags, attributes, subscriptions, created_at, updated_at, ...texts } = contact
  const cells: Record<CsvColumn, CsvValue> = {
    ...texts,
    tags: tags.join(';'),
    attributes: Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes),
    unsubscribed: CHANNELS.filter((channel) => subscriptions[channel] === 'unsubscribed').join(';'),
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
  }
  return CSV_COLUMNS.map((column) => cells[column])
}
