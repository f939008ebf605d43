import type { BulksSendBody } from '@svc/client'
import { usage } from '../process/failure.ts'
import type { CsvRow } from './read-rows.ts'

type Channel = BulksSendBody['channel']

/** A recipient of a bulk. */
export type Recipient = Exclude<BulksSendBody['recipients'][number], string>

/** A row with its recipient and its line. */
export interface Row {
  line: number
  recipient: Recipient
}

/** The meaning of a column. */
interface Column {
  at: number
  kind: 'to' | 'contact_id' | 'name' | 'metadata' | 'variable'
  key: string
}

/** Reads rows according to the header. */
export interface Columns {
  count: number
  rowOf(row: CsvRow): Row
}

const KNOWN = new Set(['to', 'phone', 'email', 'contact_id', 'name'])

const METADATA = 'metadata.'

/**
 * Reads the header. The address is in the column that `to_column` names. The default is `to`, and then `phone` (`email`
 * for e-mail). `contact_id`, `name` and `metadata.…` are the fields of the API. Every other column is a variable, which
 * is sent if the content contains its name.
 * @throws Failure for an invalid header.
 */
export function columnsOf(
  header: CsvRow,
  {
    file,
    channel,
    to_column,
    content,
  }: {
    file: string
    channel: Channel
    to_column: string | undefined
    content: unknown
  },
): Columns {
  const names = namesOf(header, file)
  const address = addressColumn(names, channel, to_column)
  if (to_column !== undefined && address === undefined) {
    throw usage(`${file} has no column named ${to_column}: it has ${names.join(', ')}`)
  }
  if (address === undefined && !names.includes('contact_id')) {
    const own = channel === 'email' ? 'email' : 'phone'
    throw usage(
      `${file} has no column named to, ${own} or contact_id: name the column of the addresses with --to-column; it has ${names.join(', ')}`,
    )
  }
  const text = JSON.stringify(content)
  const columns = names.flatMap((name, at) => columnOf(name, at, { address, text }) ?? [])
  return {
    count: names.length,
    rowOf: ({ line, cells }) => ({ line, recipient: recipientOf(columns, cells) }),
  }
}

function namesOf({ cells }: CsvRow, file: string): string[] {
  const names = cells.map((cell) => {
    const name = cell.trim()
    const known = name.toLowerCase()
    return KNOWN.has(known) ? known : name
  })
  const nameless = names.indexOf('')
  if (nameless !== -1) throw usage(`${file}, line 1: column ${nameless + 1} has no name`)
  const duplicate = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (duplicate !== -1) {
    const name = names[duplicate] as string
    throw usage(
      `${file}, line 1: columns ${names.indexOf(name) + 1} and ${duplicate + 1} are both named ${name}`,
    )
  }
  return names
}

function addressColumn(
  names: readonly string[],
  channel: Channel,
  to_column: string | undefined,
): string | undefined {
  if (to_column !== undefined) {
    return names.find((name) => name === to_column || name === to_column.toLowerCase())
  }
  return ['to', channel === 'email' ? 'email' : 'phone'].find((name) => names.includes(name))
}

function columnOf(
  name: string,
  at: number,
  { address, text }: { address: string | undefined; text: string },
): Column | null {
  if (name === address) return { at, kind: 'to', key: name }
  if (name === 'contact_id' || name === 'name') return { at, kind: name, key: name }
  if (name.startsWith(METADATA)) {
    return { at, kind: 'metadata', key: name.slice(METADATA.length) }
  }
  // `text` is the content as JSON. A variable is sent only if the content contains its name.
  return text.includes(JSON.stringify(name).slice(1, -1))
    ? { at, kind: 'variable', key: name }
    : null
}

/** The recipient of a row; empty cells are ignored. */
function recipientOf(columns: readonly Column[], cells: readonly string[]): Recipient {
  let to: string | undefined
  let contact_id: string | undefined
  let name: string | undefined
  const variables: [string, string][] = []
  const metadata: [string, string][] = []
  for (const { at, kind, key } of columns) {
    const cell = cells[at] ?? ''
    if (cell === '') continue
    if (kind === 'to') to = cell.trim()
    else if (kind === 'contact_id') contact_id = cell.trim()
    else if (kind === 'name') name = cell
    else if (kind === 'metadata') metadata.push([key, cell])
    else variables.push([key, cell])
  }
  return {
    // A row without a recipient sends an empty address, because the server then explains the fault.
    ...((to !== undefined || contact_id === undefined) && { to: to ?? '' }),
    ...(contact_id !== undefined && { contact_id }),
    ...(name !== undefined && { name }),
    ...(variables.length > 0 && { variables: Object.fromEntries(variables) }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  }
}
