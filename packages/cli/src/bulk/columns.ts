import type { BulksSendBody } from '@svc/client'
import { isCountry, recipientColumnsOf, type TableRow } from '@svc/core/operate'
import { usage } from '../process/failure.ts'

type Channel = BulksSendBody['channel']

/** A recipient of a bulk. */
export type Recipient = Exclude<BulksSendBody['recipients'][number], string>

/** A row with its recipient and its line. */
export interface Row {
  line: number
  recipient: Recipient
  /** What is wrong with the phone number; the server rejects the row. */
  fault: string | null
}

/** Reads rows according to the header. */
export interface Columns {
  count: number
  rowOf(row: TableRow): Row
}

const METADATA = 'metadata.'

/**
 * Reads the header. The address is in the column that `to_column` names. The default is `to`, and then the columns whose
 * headings mean a phone number (for e-mail, an address). `contact_id`, `name` and `metadata.…` are the fields of the API. Every
 * other column is a variable, which is sent if the content contains its name. Phone numbers become E.164, with `country` for
 * those without a country code.
 * @throws Failure or TableFault for an invalid header.
 */
export function columnsOf(
  header: TableRow,
  {
    file,
    channel,
    to_column,
    country,
    content,
  }: {
    file: string
    channel: Channel
    to_column: string | undefined
    country?: string | undefined
    content: unknown
  },
): Columns {
  const code = country?.toUpperCase()
  if (code !== undefined && !isCountry(code)) {
    throw usage(`--default-country must be an ISO 3166-1 code of two letters, such as DE`)
  }
  const columns = recipientColumnsOf(header.cells, { channel, to_column })
  if (!columns) {
    const own = channel === 'email' ? 'email' : 'phone'
    const names = header.cells.map((cell) => cell.trim()).join(', ')
    throw usage(
      `${file} has no column named to, ${own} or contact_id: name the column of the addresses with --to-column; it has ${names}`,
    )
  }
  const text = JSON.stringify(content)
  return {
    count: header.cells.length,
    rowOf({ line, cells }) {
      const { to, contact_id, name, values, fault } = columns.read(cells, code)
      const variables: [string, string][] = []
      const metadata: [string, string][] = []
      for (const [key, value] of values) {
        if (key.startsWith(METADATA)) metadata.push([key.slice(METADATA.length), value])
        // `text` is the content as JSON. A variable is sent only if the content contains its name.
        else if (text.includes(JSON.stringify(key).slice(1, -1))) variables.push([key, value])
      }
      const recipient = {
        // A row without a recipient sends an empty address, because the server then explains the fault.
        ...((to !== null || contact_id === null) && { to: to ?? '' }),
        ...(contact_id !== null && { contact_id }),
        ...(name !== null && { name }),
        ...(variables.length > 0 && { variables: Object.fromEntries(variables) }),
        ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
      }
      return { line, recipient, fault }
    },
  }
}
