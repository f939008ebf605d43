import type { CountUnit } from '../rows/messages.ts'

export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The counted periods of one unit that begin in [from, before). */
export interface PeriodRange {
  unit: Exclude<CountUnit, 'all'>
  /** Null means from the first period. */
  from: Date | null
  /** Null means to the last period. */
  before: Date | null
}

/** The part [from, before) of one hour. */
export interface PartOfHour {
  hour: Date
  from: Date
  before: Date
}

/** The start of the hour of a time. */
export function hourOf(at: Date): Date {
  return new Date(floor(at.getTime(), HOUR_MS))
}

/** The start of the day (UTC) of a time. */
export function startOfDay(at: Date): Date {
  return new Date(floor(at.getTime(), DAY_MS))
}

/** Divides the time between two moments, both inclusive, into whole days and hours and at most two parts of hours. */
export function dividedTime({
  from,
  until,
}: {
  from?: Date | undefined
  until?: Date | undefined
}): {
  periods: PeriodRange[]
  parts: PartOfHour[]
} {
  const from_ms = from?.getTime() ?? Number.NEGATIVE_INFINITY
  const before_ms = until ? until.getTime() + 1 : Number.POSITIVE_INFINITY
  const first = ceil(from_ms, HOUR_MS)
  const end = floor(before_ms, HOUR_MS)
  if (from_ms >= before_ms) return { periods: [], parts: [] }
  if (first > end) return { periods: [], parts: [partOf(from_ms, before_ms)] }
  const parts: PartOfHour[] = []
  if (from_ms < first) parts.push(partOf(from_ms, first))
  if (end < before_ms) parts.push(partOf(end, before_ms))
  return { periods: wholePeriods(first, end), parts }
}

/** The whole days between two starts of hours, and the hours before and after these days. */
function wholePeriods(first_ms: number, end_ms: number): PeriodRange[] {
  const days_from_ms = ceil(first_ms, DAY_MS)
  const days_end_ms = floor(end_ms, DAY_MS)
  const ranges: [PeriodRange['unit'], number, number][] =
    days_from_ms < days_end_ms
      ? [
          ['hour', first_ms, days_from_ms],
          ['day', days_from_ms, days_end_ms],
          ['hour', days_end_ms, end_ms],
        ]
      : [['hour', first_ms, end_ms]]
  return ranges
    .filter(([, from, before]) => from < before)
    .map(([unit, from, before]) => ({ unit, from: finite(from), before: finite(before) }))
}

function partOf(from_ms: number, before_ms: number): PartOfHour {
  const from = new Date(from_ms)
  return { hour: hourOf(from), from, before: storable(before_ms) }
}

function finite(ms: number): Date | null {
  return Number.isFinite(ms) ? storable(ms) : null
}

/** The last millisecond that has a year of four digits. PostgreSQL cannot read the text of a later one. */
const INSTANT_MAX_MS = Date.UTC(10_000, 0) - 1

/** Nothing was stored in the last millisecond of the range, so a bound can be moved to it. */
function storable(ms: number): Date {
  return new Date(Math.min(ms, INSTANT_MAX_MS))
}

function floor(ms: number, unit_ms: number): number {
  return Math.floor(ms / unit_ms) * unit_ms
}

function ceil(ms: number, unit_ms: number): number {
  return Math.ceil(ms / unit_ms) * unit_ms
}
