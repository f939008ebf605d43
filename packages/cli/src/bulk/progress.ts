import { UNITS_PER_CREDIT, type Units, units } from '@svc/core/contract'
import type { Waiting } from './patience.ts'

/** The progress of a check or a send. */
interface BulkProgress {
  phase: 'checking' | 'sending'
  file: string
  rows_total: number
  totals: Totals
  /** The number of rows that were finished before this process started. The pace does not include them. */
  rows_before: number
  began_at: Date
  waiting: Waiting | null
  /** Whether the view must end. */
  is_over: boolean
}

/** The current progress; a view can subscribe to its changes. */
export interface ProgressStore {
  get(): BulkProgress
  set(change: Partial<BulkProgress>): void
  /** Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
}

/** Shows progress until it is ended. */
export interface ProgressView {
  /** Resolves when the caller can write to the terminal again. */
  end(): Promise<void>
}

export function createProgress(first: Pick<BulkProgress, 'file' | 'rows_total'>): ProgressStore {
  let progress: BulkProgress = {
    ...first,
    phase: 'checking',
    totals: NOTHING,
    rows_before: 0,
    began_at: new Date(),
    waiting: null,
    is_over: false,
  }
  const listeners = new Set<() => void>()
  return {
    get: () => progress,
    set(change) {
      progress = { ...progress, ...change }
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The rows per second and the remaining time; null until the first row is finished. */
export function paceOf(
  { totals, rows_before, rows_total, began_at }: BulkProgress,
  now: Date,
): { rows_per_s: number; left_s: number } | null {
  const seconds = (now.getTime() - began_at.getTime()) / 1000
  const rows = totals.rows - rows_before
  if (rows <= 0 || seconds <= 0) return null
  const rows_per_s = rows / seconds
  return { rows_per_s, left_s: (rows_total - totals.rows) / rows_per_s }
}

/**
 * The text of a countdown.
 *
 * @example clockText(252) // '4:12'
 */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (number: number) => String(number).padStart(2, '0')
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** The reason of the current wait and its remaining time. */
export function waitingText({ reason, until }: Waiting, now: Date): string {
  const left = clockText((until.getTime() - now.getTime()) / 1000)
  return reason === 'rate_limit'
    ? `The rate limit of the server is reached: continuing in ${left}`
    : `The server cannot be reached: retrying in ${left}`
}

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
