import { csvRows, unguarded } from '../../parts/csv.ts'
import { fieldsOf, plainPhone } from '../contacts/fields.ts'

/** A recipient of a bulk. */
export interface Recipient {
  to: string
  name?: string
  variables?: Record<string, string>
}

export interface Recipients {
  recipients: Recipient[]
  /** The line of each recipient in the text, from 1. */
  lines: number[]
  /** The number of rows without an address for the channel. */
  missing: number
}

/**
 * The recipients in a text: one per line, or CSV with a line of column names. The column `to`, or the phone or e-mail of the
 * channel, is the address, `name` the name, and each other column a variable with the name of its heading; `attributes` has
 * several as JSON.
 */
export function recipientsIn(text: string, channel: string): Recipients {
  const starts: number[] = []
  const rows = csvRows(text, starts).map((row) => row.map(unguarded))
  const found: Recipients = { recipients: [], lines: [], missing: 0 }
  const add = (recipient: Recipient, row: number) => {
    found.recipients.push(recipient)
    found.lines.push(starts[row] ?? 0)
  }
  const fields = fieldsOf(rows[0] ?? [])
  const names = fields.map((field) => field.toLowerCase())
  const [wanted, other] = channel === 'email' ? ['email', 'phone'] : ['phone', 'email']
  const column = ['to', wanted, 'recipient', 'address', other].find((one) => names.includes(one))
  if (!column) {
    rows.forEach((row, i) => {
      for (const cell of row) if (cell) add({ to: plainPhone(cell) }, i)
    })
    return found
  }
  const at = names.indexOf(column)
  rows.forEach((row, i) => {
    if (i === 0) return
    const to = column === other ? '' : plainPhone(row[at] ?? '')
    if (!to) {
      found.missing += 1
      return
    }
    const recipient: Recipient = { to }
    const variables: Record<string, string> = {}
    fields.forEach((field, at_) => {
      const value = row[at_]
      if (at_ === at || !value) return
      if (names[at_] === 'name') recipient.name = value
      else if (field)
        Object.assign(
          variables,
          field === 'attributes'
            ? inJson(value)
            : { [field]: value, [rows[0]?.[at_] ?? field]: value },
        )
    })
    if (Object.keys(variables).length > 0) recipient.variables = variables
    add(recipient, i)
  })
  return found
}

/** A value that fills a placeholder; an object fills none. */
export function textOf(value: unknown): string {
  return typeof value === 'object' || value === undefined ? '' : `${value}`
}

/** The values of a JSON object that can fill placeholders. */
function inJson(text: string): Record<string, string> {
  try {
    const values = Object.entries(JSON.parse(text)).map(([name, value]) => [name, textOf(value)])
    return Object.fromEntries(values.filter(([, value]) => value))
  } catch {
    return { attributes: text }
  }
}

/** The placeholders of a content that have no fallback, and no value of the recipient. */
export function missingFor(content: object, { name, variables }: Partial<Recipient> = {}): string {
  const values: Record<string, string | undefined> = { name, ...variables }
  const found = [...JSON.stringify(content).matchAll(/\{\{([^{}|]*)\}\}/g)]
  const names = found.flatMap(([, one = '']) => (values[one.trim()] ? [] : one.trim()))
  return [...new Set(names)].join(', ')
}
