/** The start of a formula in a spreadsheet, also in full-width forms. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
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

/** A cell without the apostrophe that keeps a spreadsheet from running it. `csvText` writes the apostrophe again. */
export function unguarded(cell: string): string {
  return cell.replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, '')
}

/**
 * The rows of a CSV text. Cells are separated by the first of comma, semicolon and tab in it. `starts` gets the line at which
 * each row begins, from 1.
 */
export function csvRows(text: string, starts: number[] = []): string[][] {
  const separator = /[,;\t]/.exec(text)?.[0] ?? ','
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let isQuoted = false
  let line = 1
  let start = 1
  const end = () => {
    row.push(cell.trim())
    cell = ''
  }
  const endRow = () => {
    end()
    if (row.some((one) => one !== '')) {
      rows.push(row)
      starts.push(start)
    }
    row = []
    start = line
  }
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '\n') line += 1
    if (isQuoted) {
      if (char !== '"') cell += char
      else if (text[i + 1] === '"') cell += text[i++]
      else isQuoted = false
    } else if (char === '"' && cell === '') isQuoted = true
    else if (char === separator) end()
    else if (char === '\n') endRow()
    else if (char !== '\r' && char !== '\ufeff') cell += char
  }
  endRow()
  return rows
}
