import { guarded } from './columns.ts'

/** A value of an exported row. */
export type CsvValue = string | number | boolean | Date | null

/** A line of CSV (RFC 4180). A time is ISO 8601, null is an empty cell, and no text is a formula of a spreadsheet. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map((value) => quoted(cellOf(value))).join(',')}\r\n`
}

function cellOf(value: CsvValue): string {
  if (value === null) return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'string' ? guarded(value) : String(value)
}

/** Also quotes cells with semicolons, because some programs read semicolons as separators. */
function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
