import type { Waiting } from './patience.ts'
import { NOTHING, type Totals } from './totals.ts'

/** The progress of a check or a send. */
export interface BulkProgress {
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
