import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import {
  CHANNELS,
  type Channel,
  endpoint,
  importCountry,
  invalid,
  LIMITS,
  SvcError,
} from '@svc/core/contract'
import {
  type DecodedCore,
  isCountry,
  openTable,
  piecesOf,
  type RecipientColumns,
  readPhone,
  recipientColumnsOf,
  TableFault,
  type TableRow,
} from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../routes/mount.ts'
import type { ContactsPreview, ReadRecipient, ReadRecipients } from './console-answers.ts'

const reading = {
  method: 'POST',
  auth: 'jwt',
  needs: 'send',
  rate: 'general',
  status: 200,
  data: z.object({}),
  in_pieces: true,
} as const

const country = { default_country: importCountry.optional() }

/** Files and texts that the service reads as tables, so that the browser needs no reader of its own. */
export const tableEndpoints = {
  contacts: endpoint({
    ...reading,
    path: '/api/contacts/preview',
    takes_csv: z.object(country),
    body_limit: LIMITS.contact_preview_bytes,
    summary: 'Read a file of contacts, and say what an import would do',
  }),
  recipients: endpoint({
    ...reading,
    path: '/api/recipients',
    takes_csv: z.object({ ...country, channel: z.enum(CHANNELS) }),
    body_limit: LIMITS.contact_import_body_bytes,
    summary: 'Read the recipients of a bulk',
  }),
} as const

/** The number of recipients that are written before other work runs. */
const PIECE_RECIPIENTS = 500

/** The number of faults that are worth reading. */
const FAULTS_MAX = 100

/** The handlers of tables. */
export function tableHandlers(core: DecodedCore): Handlers<typeof tableEndpoints> {
  return {
    async contacts({ workspace_id, csv, reply }) {
      if (!csv) throw invalid('', 'The body must be a CSV file')
      const preview = await core.contacts.previewFile(workspace_id, csv.bytes, csv.options)
      reply.header('content-type', 'application/json; charset=utf-8')
      return Readable.from(previewText(preview))
    },
    async recipients({ csv, reply }) {
      if (!csv) throw invalid('', 'The body must be a CSV file')
      const { bytes, options } = csv
      const { default_country: code } = options
      if (code !== undefined && !isCountry(code)) {
        throw invalid('default_country', `The phone numbers of ${code} are not known`)
      }
      const found = await recipientsIn(bytes, {
        channel: options.channel,
        country: code,
        charset: options.charset,
        // One more shows that there are too many.
        max: core.bulkRecipientsMax + 1,
      }).catch((error: unknown) => {
        throw error instanceof TableFault ? invalid('recipients', capital(error.message)) : error
      })
      reply.header('content-type', 'application/json; charset=utf-8')
      return Readable.from(recipientsText(found))
    },
  }
}

async function* previewText({
  file,
  warnings,
  parts,
}: Awaited<ReturnType<DecodedCore['contacts']['previewFile']>>): AsyncGenerator<string> {
  const end: Omit<ContactsPreview, 'file' | 'warnings' | 'rows'> = {
    ...{ created: 0, updated: 0, unchanged: 0 },
    errors: [],
    fault: null,
  }
  yield `{"success":true,"data":{"file":${JSON.stringify(file)},"warnings":${JSON.stringify(warnings)},"rows":[`
  let isFirst = true
  try {
    for await (const { rows, report } of parts) {
      const texts = rows.map(({ line, cells, contact }) => JSON.stringify([line, cells, contact]))
      yield `${isFirst ? '' : ','}${texts.join(',')}`
      isFirst = false
      for (const word of ['created', 'updated', 'unchanged'] as const) end[word] += report[word]
      end.errors.push(...report.errors)
    }
  } catch (error) {
    // The status is sent already.
    if (!(error instanceof SvcError)) throw error
    end.fault = error.message
  }
  yield `],${JSON.stringify(end).slice(1, -1)}}}`
}

async function* recipientsText({ recipients, ...rest }: ReadRecipients): AsyncGenerator<string> {
  yield `{"success":true,"data":{${JSON.stringify(rest).slice(1, -1)},"recipients":[`
  for (let at = 0; at < recipients.length; at += PIECE_RECIPIENTS) {
    const texts = recipients.slice(at, at + PIECE_RECIPIENTS).map((one) => JSON.stringify(one))
    yield `${at === 0 ? '' : ','}${texts.join(',')}`
    await turn()
  }
  yield ']}}'
}

interface ReadOptions {
  channel: Channel
  country: string | undefined
  charset: string | undefined
  /** The number of recipients after which the rest is not read. */
  max: number
}

/**
 * Reads the recipients of a bulk: a table with headings (see `recipientColumnsOf`), or a list of addresses, one per line or
 * cell.
 * @throws TableFault with the line.
 */
async function recipientsIn(
  bytes: Uint8Array,
  { channel, country, charset, max }: ReadOptions,
): Promise<ReadRecipients> {
  const { encoding, separator, rows } = await openTable(() => piecesOf(bytes), charset)
  const found: ReadRecipients = { table: null, recipients: [], lines: [], missing: 0, faults: [] }
  let columns: RecipientColumns | null | undefined
  let width = 0
  for await (const row of rows) {
    if (found.recipients.length >= max) break
    if (columns === undefined) {
      columns = columnsIn(row, channel)
      width = row.cells.length
      if (columns) {
        found.table = { encoding, separator, columns: columns.described }
        continue
      }
    }
    if (columns) addRow(columns, row)
    else for (const cell of row.cells) addCell(cell.trim(), row.line)
  }
  return found

  function add(recipient: ReadRecipient, line: number, fault: string | null) {
    found.recipients.push(recipient)
    found.lines.push(line)
    if (fault !== null && found.faults.length < FAULTS_MAX)
      found.faults.push({ line, message: fault })
  }

  function addCell(cell: string, line: number) {
    if (cell === '') return
    const { phone, fault = null } = channel === 'email' ? { phone: cell } : readPhone(cell, country)
    add({ to: phone ?? cell }, line, fault)
  }

  function addRow(own: RecipientColumns, { line, cells }: TableRow) {
    // A row that is being typed is shorter.
    if (cells.length > width) throw new TableFault('it has more cells than the header', line)
    const { to, contact_id, name, values, fault } = own.read(cells, country)
    if (to === null && contact_id === null) {
      found.missing++
      return
    }
    const variables = variablesOf(values)
    add(
      {
        ...(to !== null && { to }),
        ...(to === null && contact_id !== null && { contact_id }),
        ...(name !== null && { name }),
        ...(Object.keys(variables).length > 0 && { variables }),
      },
      line,
      fault,
    )
  }
}

/** The columns of a header; null if the row is the first of a list of addresses. */
function columnsIn({ cells, line }: TableRow, channel: Channel): RecipientColumns | null {
  const written = cells.map((cell) => cell.trim()).filter(Boolean)
  if (written.some((cell) => cell.includes('@') || /^\W*\d[\d\s()./-]{3,}/.test(cell))) return null
  const columns = recipientColumnsOf(cells, { channel })
  if (columns || written.length === 1) return columns
  const wanted = channel === 'email' ? 'email' : 'phone'
  throw new TableFault(
    `it has no column named to, ${wanted} or contact_id; its columns are ${written.join(', ')}`,
    line,
  )
}

/** A variable for each value. The column `attributes` of an export has several, as a JSON object. */
function variablesOf(values: ReadonlyMap<string, string>): Record<string, string> {
  const variables = new Map<string, string>()
  for (const [name, value] of values) {
    const inside = name === 'attributes' ? attributesIn(value) : null
    for (const [key, each] of inside ?? [[name, value]]) variables.set(key, each)
  }
  return Object.fromEntries(variables)
}

function attributesIn(text: string): [string, string][] | null {
  try {
    return Object.entries(JSON.parse(text) as object).flatMap(([name, value]) =>
      typeof value === 'object' || `${value}` === '' ? [] : [[name, `${value}`]],
    )
  } catch {
    return null
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
