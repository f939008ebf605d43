import { UNITS_PER_CREDIT, type Units, units } from '@svc/core/contract'

/** An amount of the API. Sums of credits as decimals would not be exact. */
export function unitsOf(credits: number): Units {
  return units(Math.round(credits * UNITS_PER_CREDIT))
}

/** The number of rows for each result, and their cost. */
export interface Totals {
  rows: number
  accepted: number
  rejected: number
  /** Rows whose address is in an earlier row: each address gets one message. */
  duplicates: number
  credits: Units
}

/** The sum of two totals. */
export function plus(a: Totals, b: Totals): Totals {
  return {
    rows: a.rows + b.rows,
    accepted: a.accepted + b.accepted,
    rejected: a.rejected + b.rejected,
    duplicates: a.duplicates + b.duplicates,
    credits: (a.credits + b.credits) as Units,
  }
}

/** The totals before the first row. */
export const NOTHING: Totals = {
  rows: 0,
  accepted: 0,
  rejected: 0,
  duplicates: 0,
  credits: 0 as Units,
}

/** The result of one row. */
export interface RowResult {
  line: number
  /** The address as the server returns it; null if the row has no address. */
  to: string | null
  contact_id?: string | undefined
  message_id?: string
  /** The code of the reason why the row gets no message; `duplicate` if its address is in an earlier row. */
  error?: string
  message?: string
}
