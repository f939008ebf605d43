/** The start of a formula in a spreadsheet, also in full-width forms. Some spreadsheets drop blanks before it. The same as in exports. */
const FORMULA = /^['\s]*[=+\-@\t\r\n＝＋－＠]/
/** A phone number is a harmless formula, and programs that read the file expect it unchanged. */
const PHONE = /^\+\d+$/

/** Rows as CSV (RFC 4180). No cell runs as a formula in a spreadsheet. */
export function csvText(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null) => {
    const text = `${value ?? ''}`
    const safe = FORMULA.test(text) && !PHONE.test(text) ? `'${text}` : text
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}
