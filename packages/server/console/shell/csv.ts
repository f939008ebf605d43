/** The start of a formula in a spreadsheet, also in full-width forms, without an apostrophe before it. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** A phone number is harmless, and programs that read the file expect it unchanged. */
const PHONE = /^\+\d+$/

/** A CSV file as rows of cells; the first row is the header. @throws Error for a quote that is not closed. */
export function readCsv(text: string): string[][] {
  const head = text.slice(0, text.indexOf('\n') + 1) || text
  // Spreadsheets write semicolons in countries with a decimal comma.
  const separator = head.includes(';') && !head.includes(',') ? ';' : ','
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length) {
    let cell = ''
    if (text[at] === '"') {
      let end = at
      do {
        const from = end + 1
        end = text.indexOf('"', from)
        if (end < 0) throw new Error(`A quote is not closed: row ${rows.length + 1}.`)
        cell += (from > at + 1 ? '"' : '') + text.slice(from, end)
        end += 1
      } while (text[end] === '"')
      at = end
    }
    const next = nextBreak(text, at, separator)
    cell += text.slice(at, next)
    row.push(cell)
    at = next + 1
    if (text[next] === separator && at < text.length) continue
    if (text[next] === separator) row.push('')
    if (text[next] === '\r' && text[at] === '\n') at += 1
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return rows
}

function nextBreak(text: string, from: number, separator: string): number {
  let at = from
  while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at++
  return at
}

/** Rows of cells as CSV (RFC 4180). */
export function writeCsv(rows: readonly (readonly string[])[]): string {
  const quoted = (cell: string) =>
    /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
  return rows.map((row) => `${row.map(quoted).join(',')}\r\n`).join('')
}

/** A cell that no spreadsheet runs as a formula. An import removes the apostrophe. */
export function guarded(cell: string): string {
  return FORMULA.test(cell) && !PHONE.test(cell) ? `'${cell}` : cell
}
