import { createWriteStream } from 'node:fs'
import { extname, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import type { ContactsImportBody, ContactsImportData } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, type PageOptions, pageOf, withExamples, withPage } from '../context.ts'
import { readInputFile } from '../input/read-input.ts'
import { Failure, usage } from '../process/failure.ts'
import { counted } from '../show/counted.ts'

interface Filters {
  search?: string
  tag?: string
}

type Report = ContactsImportData

/** The number of contacts in one request. The server accepts more, and answers this number within two seconds. */
const REQUEST_CONTACTS = 1_000

/** The maximum number of rows of a file. */
const FILE_CONTACTS_MAX = 1_000_000

/** Adds `svc contacts`. */
export function addContacts(program: Command, context: Context): void {
  const contacts = program
    .command('contacts')
    .summary('list, import and export contacts')
    .description(
      'Lists, imports and exports contacts. The API key needs the scope manage_contacts.',
    )
  withExamples(contacts, 'svc contacts list --tag vip', 'svc contacts import people.csv')
  addList(contacts, context)
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
e-mail. Rejected contacts are shown, and the command exits with 1; the others are saved.`,
      )
      .argument('<file>', 'CSV with a header row; JSON if it is named .json'),
  ).action((file: string, options: ConnectionOptions) => importFrom(context, file, options))
  withExamples(command, 'svc contacts import people.csv', 'svc contacts import people.json --json')
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
  if (output.isJson()) return output.document(found)
  output.table(
    ['NAME', 'PHONE', 'EMAIL', 'TAGS', 'ID'],
    found.contacts.map(({ name, phone, email, tags, id }) => [
      name ?? '',
      phone ?? '',
      email ?? '',
      tags.join(', '),
      id,
    ]),
  )
  const { total, pages, page: shown } = found.pagination
  if (total === 0) output.note('No contacts.')
  if (pages > shown)
    output.note(`${counted(total, 'contact')}; more: --page ${shown + 1} (of ${pages})`)
}

async function importFrom(
  { io, output }: Context,
  file: string,
  options: ConnectionOptions,
): Promise<void> {
  const contacts = await contactsOf(file, await readInputFile(file, io))
  const { client } = await connect(options, io)
  const sum: Report = { created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] }
  for (let at = 0; at < contacts.length; at += REQUEST_CONTACTS) {
    const part = await client.contacts.import({
      contacts: contacts.slice(at, at + REQUEST_CONTACTS) as ContactsImportBody['contacts'],
    })
    for (const word of ['created', 'updated', 'unchanged', 'rejected'] as const) {
      sum[word] += part[word]
    }
    sum.errors.push(...part.errors.map((error) => ({ ...error, index: at + error.index })))
  }
  const { created, updated, unchanged, rejected, errors } = sum
  if (output.isJson()) output.document(sum)
  else {
    for (const { index, path, message } of errors) {
      output.row([`contact ${index + 1}`, path, message])
    }
    output.line(
      `${created} created, ${updated} updated, ${unchanged} unchanged, ${rejected} rejected`,
    )
  }
  if (rejected > 0) throw new Failure('rejected', `${rejected} of ${contacts.length} were rejected`)
}

async function contactsOf(file: string, bytes: Buffer): Promise<unknown[]> {
  if (extname(file).toLowerCase() !== '.json') {
    const { readContactsCsv } = await import('@svc/core/operate')
    return readContactsCsv(bytes, { rows_max: FILE_CONTACTS_MAX })
  }
  const value = jsonOf(file, bytes)
  const contacts = Array.isArray(value) ? value : (value as { contacts?: unknown } | null)?.contacts
  if (Array.isArray(contacts)) return contacts
  throw usage(`${file} must contain an array of contacts, or {"contacts": [ … ]}`)
}

function jsonOf(file: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw usage(`${file} is not JSON`)
  }
}

async function exportTo(
  { io, output }: Context,
  file: string | undefined,
  {
    search,
    tag,
    format = output.isJson() ? 'json' : 'csv',
    ...options
  }: ConnectionOptions & Filters & { format?: string },
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.contacts.export({ search, tag })
  const { CSV_HEADER, writeContactsCsv } = await import('@svc/core/operate')
  const text =
    format === 'json' ? `${JSON.stringify(found)}\n` : CSV_HEADER + writeContactsCsv(found.contacts)
  if (file === undefined) {
    io.stdout.write(text)
    return
  }
  // The file contains personal data, so only its owner can read it.
  const stream = createWriteStream(resolve(io.cwd, file), { mode: 0o600 })
  stream.end(text)
  await finished(stream)
  output.note(`${counted(found.contacts.length, 'contact')} written to ${file}`)
}
