import type { Waiting } from './patience.ts'
import { NOTHING, type Totals } from './totals.ts'

/** How far a check or a send is. */
export interface BulkProgress {
  phase: 'checking' | 'sending'
  file: string
  rows_total: number
  totals: Totals
  /** Rows that were dealt with before this process began: they say nothing of how fast it is. */
  rows_before: number
  began_at: Date
  waiting: Waiting | null
  /** Whether nothing more is to be shown of it. */
  is_over: boolean
}

/** Progress as it stands, for whoever shows it. */
export interface ProgressStore {
  get(): BulkProgress
  set(change: Partial<BulkProgress>): void
  /** Answers how to end it. */
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

/** Rows a second, and how long the others will take; null before anything is known. */
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
 * A span as it is counted down.
 *
 * @example clockText(252) // '4:12'
 */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (number: number) => String(number).padStart(2, '0')
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** Why nothing goes on just now, and for how long. */
export function waitingText({ why, until }: Waiting, now: Date): string {
  const left = clockText((until.getTime() - now.getTime()) / 1000)
  return why === 'rate_limit'
    ? `The server's rate limit is reached: going on in ${left}`
    : `The server cannot be reached: trying again in ${left}`
}
