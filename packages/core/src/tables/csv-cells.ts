/** The columns of an exported file, in order. An imported file may have them in any order. */
export const CSV_COLUMNS = [
  'id',
  'name',
  'phone',
  'email',
  'external_id',
  'tags',
  'attributes',
  'unsubscribed',
  'created_at',
  'updated_at',
] as const

export type CsvColumn = (typeof CSV_COLUMNS)[number]

/** The start of a formula in a spreadsheet, also in full-width forms. Some spreadsheets drop blanks before it. */
const FORMULA = /^['\s]*[=+\-@\t\r\n＝＋－＠]/

const GUARDED = /^'['\s]*[=+\-@\t\r\n＝＋－＠]/

/** A phone number is a harmless formula, and programs that read the file expect it unchanged. */
const PHONE = /^\+\d+$/

/** Puts an apostrophe before text that a spreadsheet would run; `unguarded` removes exactly this apostrophe. */
export function guarded(cell: string): string {
  return FORMULA.test(cell) && !PHONE.test(cell) ? `'${cell}` : cell
}

/** The cell as it was before `guarded`. */
export function unguarded(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell
}
