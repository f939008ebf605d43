import { extname } from 'node:path'
import type { Contact, ContactsImportBody, ContactsImportData, Svc } from '@svc/client'
import type { FileOfContacts, FileOptions } from '@svc/core/operate'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { readInputFile, unreadable } from '../input/read-input.ts'
import { pairsOf } from '../messages/send-request.ts'
import { Failure, usage } from '../process/failure.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import { addOneContact } from './contacts-one.ts'
import { writeExport } from './write-export.ts'

interface Filters {
  search?: string
  tag?: string
}

type Report = ContactsImportData

interface ImportOptions extends ConnectionOptions {
  dryRun?: boolean
  defaultCountry?: string
  encoding?: string
  column?: string[]
}

/** The contacts of a file, and what was found while they were read; of a JSON file the contacts alone. */
type Found = Pick<FileOfContacts, 'contacts'> & Partial<FileOfContacts>

/** The number of contacts in one request. The server accepts more, and answers this number within two seconds. */
const REQUEST_CONTACTS = 1_000

/** The maximum number of contacts in one request. */
const REQUEST_CONTACTS_MAX = 10_000

/** The maximum number of rows of a file. */
const FILE_CONTACTS_MAX = 1_000_000

/** Adds `svc contacts`. */
export function addContacts(program: Command, context: Context): void {
  const contacts = program
    .command('contacts')
    .summary('list, add, change, import and export contacts')
    .description(
      'Lists, adds, changes, imports and exports contacts. The API key needs the scope manage_contacts.',
    )
  withExamples(contacts, 'svc contacts list --tag vip', 'svc contacts import people.csv')
  addList(contacts, context)
  addOneContact(contacts, context)
  addImport(contacts, context)
  addExport(contacts, context)
}

function withFilters(command: Command): Command {
  return command
    .option('--search <text>', 'only contacts with this text in name, phone, e-mail or external_id')
    .option('--tag <tag>', 'only contacts with this tag')
}

function addList(contacts: Command, context: Context): void {
  const list = withConnection(
    withPage(
      withFilters(
        contacts
          .command('list')
          .summary('list contacts, newest first')
          .description('Lists contacts, newest first.'),
      ),
    ),
  ).action((options: ConnectionOptions & PageOptions & Filters) => listContacts(context, options))
  withExamples(list, 'svc contacts list --search asha', 'svc contacts list --tag vip --json')
}

function addImport(contacts: Command, context: Context): void {
  const command = withConnection(
    contacts
      .command('import')
      .summary('create and update contacts from a file')
      .description(
        `Creates and updates contacts from a CSV or JSON file. An existing contact is found by external_id, else by phone, else by
e-mail. Rejected contacts are shown, and the command exits with 1; the others are saved.

A CSV file may be the export of a spreadsheet or of an address book, in any usual encoding. The headings say what the columns are, in several
languages; --dry-run shows it. Phone numbers become E.164.`,
      )
      .argument('<file>', 'CSV with a header row; JSON if it is named .json'),
  )
    .option('--dry-run', 'import nothing: show the columns, the counts and the rejected contacts')
    .option(
      '--default-country <code>',
      'the country (ISO 3166-1) of phone numbers without a country code, such as DE',
    )
    .option(
      '--column <heading=field...>',
      'what a column is: name, first_name, last_name, phone, email, external_id, tags, attribute or ignored',
    )
    .option('--encoding <name>', 'the encoding of the file; default: found in the file')
    .action((file: string, options: ImportOptions) => importFrom(context, file, options))
  withExamples(
    command,
    'svc contacts import people.csv --dry-run',
    'svc contacts import people.csv --default-country TZ --column "Kontakt=phone"',
    'svc contacts import people.json --json',
  )
}

function addExport(contacts: Command, context: Context): void {
  const command = withConnection(
    withFilters(
      contacts
        .command('export')
        .summary('export contacts to a file')
        .description(
          'Exports contacts to a file or to stdout, in the format of svc contacts import.',
        )
        .argument('[file]', 'the file (default: stdout)')
        .addOption(
          new Option('--format <format>', 'the format of the file').choices(['csv', 'json']),
        ),
    ),
  ).action((file: string | undefined, options: ConnectionOptions & Filters & { format?: string }) =>
    exportTo(context, file, options),
  )
  withExamples(
    command,
    'svc contacts export people.csv',
    'svc contacts export --tag vip --format json | jq .contacts[].email',
  )
}

async function listContacts(
  { io, output }: Context,
  { search, tag, page, limit, ...options }: ConnectionOptions & PageOptions & Filters,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.contacts.list({ search, tag, ...pageOf({ page, limit }) })
  listing(output, {
    json: () => found,
    headings: ['NAME', 'PHONE', 'EMAIL', 'TAGS', 'ID'],
    rows: found.contacts.map(({ name, phone, email, tags, id }) => [
      name ?? '',
      phone ?? '',
      email ?? '',
      tags.join(', '),
      id,
    ]),
    none: 'No contacts.',
    paging: pagingOf(found.pagination, 'contact'),
  })
}

async function importFrom(
  { io, output }: Context,
  file: string,
  { dryRun = false, defaultCountry, encoding, column, ...options }: ImportOptions,
): Promise<void> {
  const bytes = await readInputFile(file, io)
  const found = await contactsOf(file, bytes, {
    charset: encoding,
    default_country: defaultCountry,
    columns: column && pairsOf('--column', column),
  })
  const { client } = await connect(options, io)
  const sum = await importAll(client, found, dryRun)
  if (output.isJson()) output.document(sum)
  else {
    if (sum.file) {
      output.table(
        ['COLUMN', 'BECOMES', 'EXAMPLES'],
        sum.file.columns.map(({ name, field, examples }) => [name, field, examples.join(' | ')]),
      )
    }
    for (const warning of sum.warnings ?? []) output.note(warning)
    for (const { index, line, path, message } of sum.errors) {
      output.row([line === undefined ? `contact ${index + 1}` : `line ${line}`, path, message])
    }
    const { created, updated, unchanged, rejected } = sum
    const counts = `${created} created, ${updated} updated, ${unchanged} unchanged, ${rejected} rejected`
    output.line(dryRun ? `Nothing was imported. It would be: ${counts}` : counts)
  }
  if (sum.rejected > 0) {
    const of = `${sum.rejected} of ${found.contacts.length}`
    throw new Failure('rejected', dryRun ? `${of} would be rejected` : `${of} were rejected`)
  }
}

/** Sends the contacts in several requests. */
async function importAll(
  client: Svc,
  { contacts, lines, faults, file, warnings }: Found,
  dry_run: boolean,
): Promise<Report> {
  const errors = [...(faults ?? [])].map(([index, fault]) => ({ index, ...fault }))
  const sum = { created: 0, updated: 0, unchanged: 0, rejected: errors.length }
  const sent = contacts.flatMap((contact, index) => (faults?.has(index) ? [] : { contact, index }))
  for (const part of await partsOf(client, sent, dry_run)) {
    const answer = await client.contacts.import({
      contacts: part.map(({ contact }) => contact) as ContactsImportBody['contacts'],
      ...(dry_run && { dry_run }),
    })
    for (const word of ['created', 'updated', 'unchanged', 'rejected'] as const) {
      sum[word] += answer[word]
    }
    for (const error of answer.errors) {
      errors.push({ ...error, index: part[error.index]?.index ?? error.index })
    }
  }
  errors.sort((a, b) => a.index - b.index)
  return {
    ...sum,
    errors: errors.map((error) => ({
      ...error,
      ...(lines && { line: lines[error.index] as number }),
    })),
    ...(warnings && warnings.length > 0 && { warnings }),
    ...(file && dry_run && { file }),
  }
}

/**
 * The contacts of each request. A dry run writes nothing, so a request does not see those before it: contacts that can meet are
 * in one request then.
 */
async function partsOf(client: Svc, sent: Imported[], dry_run: boolean): Promise<Imported[][]> {
  if (!dry_run || sent.length <= REQUEST_CONTACTS) {
    return Array.from({ length: Math.ceil(sent.length / REQUEST_CONTACTS) }, (_, i) =>
      sent.slice(i * REQUEST_CONTACTS, (i + 1) * REQUEST_CONTACTS),
    )
  }
  const { contacts: stored } = await client.contacts.export({})
  return meetingParts(sent, stored, { usual: REQUEST_CONTACTS, max: REQUEST_CONTACTS_MAX })
}

async function contactsOf(file: string, bytes: Buffer, options: FileOptions): Promise<Found> {
  if (extname(file).toLowerCase() !== '.json') {
    const { readContacts, TableFault } = await import('@svc/core/operate')
    async function* source() {
      yield bytes
    }
    try {
      return await readContacts(source, { ...options, rows_max: FILE_CONTACTS_MAX })
    } catch (error) {
      throw error instanceof TableFault ? unreadable(file, error) : error
    }
  }
  const value = jsonOf(file, bytes)
  const contacts = Array.isArray(value) ? value : (value as { contacts?: unknown } | null)?.contacts
  if (Array.isArray(contacts)) return { contacts }
  throw usage(`${file} must contain an array of contacts, or {"contacts": [ … ]}`)
}

function jsonOf(file: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    throw usage(`${file} is not JSON`)
  }
}

/** The contacts of one request of an export. */
const EXPORT_ROWS = 5_000

async function exportTo(
  context: Context,
  file: string | undefined,
  {
    search,
    tag,
    format = context.output.isJson() ? 'json' : 'csv',
    ...options
  }: ConnectionOptions & Filters & { format?: string },
): Promise<void> {
  const { client } = await connect(options, context.io)
  const { CSV_HEADER: header, writeContactsCsv: linesOf } = await import('@svc/core/operate')
  await writeExport<Contact>(context, {
    file,
    name: 'contacts',
    csv: format === 'csv' ? { header, linesOf } : null,
    async pageAfter(after) {
      const page = { search, tag, limit: EXPORT_ROWS, ...(after && { after }) }
      const { contacts: rows, next_after } = await client.contacts.export(page)
      return { rows, next_after }
    },
  })
}

/** A contact of a file, and its position. */
interface Imported {
  contact: Record<string, unknown>
  index: number
}

/** The fields that identify a contact. */
const NAMING = ['phone', 'email', 'external_id'] as const

type Named = Readonly<Partial<Record<(typeof NAMING)[number], unknown>>>

/**
 * Divides contacts into parts, so that no import of a part changes what the import of another part does: contacts that share a
 * phone number, an e-mail address or an id, also through a stored contact, are in one part, in their order. A part has about
 * `usual` contacts, and at most `max`, which only a file with so many rows of one person needs.
 */
export function meetingParts(
  contacts: readonly Imported[],
  stored: readonly Named[],
  { usual, max }: { usual: number; max: number },
): Imported[][] {
  const parents = new Map<string, string>()
  for (const one of stored) join(keysOf(one))
  for (const { contact } of contacts) join(keysOf(contact))
  const groups = new Map<string, Imported[]>()
  for (const one of contacts) {
    const [key] = keysOf(one.contact)
    const root = key === undefined ? `row ${one.index}` : rootOf(key)
    const group = groups.get(root)
    if (group) group.push(one)
    else groups.set(root, [one])
  }
  const parts: Imported[][] = []
  let part: Imported[] = []
  for (const group of groups.values()) {
    if (part.length > 0 && part.length + group.length > usual) {
      parts.push(part)
      part = []
    }
    for (const one of group) {
      if (part.push(one) < max) continue
      parts.push(part)
      part = []
    }
  }
  if (part.length > 0) parts.push(part)
  return parts

  function join([first, ...others]: string[]): void {
    if (first === undefined) return
    for (const other of others) parents.set(rootOf(other), rootOf(first))
  }

  function rootOf(key: string): string {
    let root = key
    for (let up = parents.get(root); up !== undefined && up !== root; up = parents.get(root))
      root = up
    // Shortens the way for the next time.
    for (let at = key; at !== root; ) {
      const up = parents.get(at) as string
      parents.set(at, root)
      at = up
    }
    return root
  }
}

/** The service compares e-mail addresses without case, and keys that differ more than it thinks do no harm here. */
function keysOf(contact: Named): string[] {
  return NAMING.flatMap((field) => {
    const value = contact[field]
    return typeof value === 'string' ? `${field} ${value.trim().toLowerCase()}` : []
  })
}
