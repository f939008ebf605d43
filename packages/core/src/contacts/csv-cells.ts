/** The columns of an exported file, in their order; an imported one may have them in any. */
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

/** A column of an exported file. */
export type CsvColumn = (typeof CSV_COLUMNS)[number]

/** What a spreadsheet takes for the beginning of a formula, full-width forms included. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/

const GUARDED = /^'+[=+\-@\t\r\n＝＋－＠]/

/** A phone number is no formula that does anything, and programs that read the file want it as it is. */
const PHONE = /^\+\d+$/

/** Puts an apostrophe before what a spreadsheet would run; `unguarded` takes exactly that one away. */
export function guarded(cell: string): string {
  return FORMULA.test(cell) && !PHONE.test(cell) ? `'${cell}` : cell
}

/** The cell as it was before `guarded`. */
export function unguarded(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell
}
