import { creditsOf, type Units } from '../contract/fields/units.ts'
import type { Entry } from '../rules/decide.ts'
import { type CsvValue, csvLine } from '../tables/csv-line.ts'

/** An entry of the ledger with its workspace, or the opening of its ledger. */
export type Booked = Omit<Entry, 'kind'> & { kind: Entry['kind'] | 'opening'; email: string }

/** The columns of an exported ledger, in order. */
const COLUMNS = [
  'workspace_id',
  'email',
  'seq',
  'id',
  'kind',
  'amount',
  'held_delta',
  'balance_after',
  'held_after',
  'counter_account',
  'ref_type',
  'ref_id',
  'ref_n',
  'channel',
  'quantity',
  'unit_price',
  'resolves',
  'actor',
  'description',
  'created_at',
] as const satisfies (keyof Booked)[]

const AMOUNTS: ReadonlySet<string> = new Set([
  'amount',
  'held_delta',
  'balance_after',
  'held_after',
  'unit_price',
])

/** The first line of an exported ledger. */
export const LEDGER_CSV_HEADER = `${COLUMNS.join(',')}\r\n`

/** An entry as a line of CSV (RFC 4180). Amounts are exact decimals in credits, and no text is a spreadsheet formula. */
export function ledgerCsvLine(entry: Booked): string {
  return csvLine(COLUMNS.map((column) => shownOf(column, entry[column])))
}

function shownOf(column: string, value: string | number | Date | null): CsvValue {
  const isAmount = typeof value === 'number' && AMOUNTS.has(column)
  return isAmount ? creditsOf(value as Units) : value
}

/** An entry as a line of JSON (JSON Lines) with the names of the CSV columns; amounts are numbers in credits. */
export function ledgerJsonLine(entry: Booked): string {
  const fields = COLUMNS.map((column) => [column, fieldOf(column, entry[column])])
  return `${JSON.stringify(Object.fromEntries(fields))}\n`
}

function fieldOf(column: string, value: string | number | Date | null): string | number | null {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'number' && AMOUNTS.has(column) ? creditsOf(value as Units) : value
}
