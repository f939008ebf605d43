import { creditsOf } from '../contract/fields/units.ts'
import type { Transaction } from '../contract/resources/billing.ts'
import { type CsvValue, csvLine } from '../tables/csv-line.ts'

/**
 * A change of the balance and its number, which begins at 1. The number of an `opening` is between two changes: `220.5` for the
 * changes up to 220.
 */
export type ExportedTransaction = Transaction & { number: number }

const EXPORT_COLUMNS = [
  'number',
  'id',
  'created_at',
  'type',
  'credits',
  'balance_after',
  'channel',
  'reference_type',
  'reference_id',
  'description',
] as const

/** The first line of exported transactions. */
export const TRANSACTIONS_CSV_HEADER = `${EXPORT_COLUMNS.join(',')}\r\n`

/** Transactions as lines of CSV; amounts are credits. */
export function writeTransactionsCsv(transactions: readonly ExportedTransaction[]): string {
  return transactions
    .map(({ reference, credits, balance_after, ...plain }) => {
      const values: Record<(typeof EXPORT_COLUMNS)[number], CsvValue> = {
        ...plain,
        credits: creditsOf(credits),
        balance_after: creditsOf(balance_after),
        reference_type: reference.type,
        reference_id: reference.id,
      }
      return csvLine(EXPORT_COLUMNS.map((column) => values[column]))
    })
    .join('')
}
