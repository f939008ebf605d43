import { csvRows } from '../../parts/csv.ts'

/** A recipient of a bulk. */
export interface Recipient {
  to: string
  name?: string
  variables?: Record<string, string>
}

const ADDRESS_COLUMNS = ['to', 'recipient', 'phone', 'email', 'e-mail', 'address', 'number']

/**
 * The recipients in a text: one a line, or CSV with a line of column names. The column `to` (or phone, email) is the address,
 * `name` the name, and each other column a variable.
 */
export function recipientsIn(text: string): Recipient[] {
  const rows = csvRows(text)
  const names = rows[0]?.map((cell) => cell.toLowerCase()) ?? []
  const at = names.findIndex((name) => ADDRESS_COLUMNS.includes(name))
  if (at < 0) return rows.flatMap((row) => row.filter(Boolean).map((to) => ({ to: plain(to) })))
  const columns = rows[0] ?? []
  return rows.slice(1).map((row) => {
    const recipient: Recipient = { to: plain(row[at] ?? '') }
    const variables: Record<string, string> = {}
    for (const [i, column] of columns.entries()) {
      const value = row[i]
      if (i === at || !value) continue
      if (names[i] === 'name') recipient.name = value
      else if (column) variables[column] = value
    }
    if (Object.keys(variables).length > 0) recipient.variables = variables
    return recipient
  })
}

/** Spreadsheets and people write phone numbers with separators, which the API does not take. */
function plain(address: string): string {
  return /^'?\+?[\d\s().-]+$/.test(address) ? address.replace(/[^\d+]/g, '') : address
}
