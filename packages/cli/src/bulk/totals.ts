import type { Units } from '@svc/core/contract'

/** The rows by result, and their cost. */
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

/** The totals of no rows. */
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
  /** The address in the form of the server; null without an address. */
  to: string | null
  contact_id?: string | undefined
  message_id?: string
  /** Why the row gets no message, as a stable word; `duplicate` if its address is in an earlier row. */
  error?: string
  message?: string
}
