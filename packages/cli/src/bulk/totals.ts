import type { Units } from '@svc/core/contract'

/** How many rows ended how, and what they cost. */
export interface Totals {
  rows: number
  accepted: number
  rejected: number
  /** Rows whose address stands in another row, which is sent to once. */
  duplicates: number
  credits: Units
}

/** The sum of two. */
export function plus(a: Totals, b: Totals): Totals {
  return {
    rows: a.rows + b.rows,
    accepted: a.accepted + b.accepted,
    rejected: a.rejected + b.rejected,
    duplicates: a.duplicates + b.duplicates,
    credits: (a.credits + b.credits) as Units,
  }
}

/** No rows at all. */
export const NOTHING: Totals = {
  rows: 0,
  accepted: 0,
  rejected: 0,
  duplicates: 0,
  credits: 0 as Units,
}

/** How one row ended. */
export interface RowResult {
  line: number
  /** The address as the server has it; null where there is none. */
  to: string | null
  contact_id?: string | undefined
  message_id?: string
  /** Why it gets nothing, as a stable word; `duplicate` where its address stands in a row before. */
  error?: string
  message?: string
}
