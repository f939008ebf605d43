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

/** Counts the rows of an export while it arrives. The first line has the names of the columns. */
export class RowCount {
  #lines = 0
  #isQuoted = false
  #at = 0
  /** Where the last line begins, and where one may begin after it. */
  #last = 0
  #next = 0

  add(bytes: Uint8Array): void {
    for (const byte of bytes) {
      this.#at += 1
      // A quoted cell may have line breaks; a quote within it is doubled.
      if (byte === 34) this.#isQuoted = !this.#isQuoted
      else if (byte === 10 && !this.#isQuoted) {
        this.#lines += 1
        this.#last = this.#next
        this.#next = this.#at
      }
    }
  }

  get rows(): number {
    return Math.max(0, this.#lines - 1)
  }

  /**
   * The first cell of the last row of the file, which names its place, and the `created_at`; the columns before it have no separators
   * in their cells.
   */
  async lastRow(file: Blob): Promise<{ after: string; at: string }> {
    const head = await file.slice(0, PART).text()
    const cells = (await file.slice(this.#last, this.#last + PART).text()).split(',')
    return { after: cells[0] ?? '', at: cells[head.split(/[,\r]/).indexOf('created_at')] ?? '' }
  }
}

/** More than the names of all columns, and than the first cells of a row. */
const PART = 1_000
