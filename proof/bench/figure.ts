/** One measurement, in the form of all benchmark reports. */
export interface Figure {
  name: string
  value: number
  /** `x` is a ratio of speeds, `times` a ratio of durations. */
  unit: 'x' | 'times' | '/s' | 'ms' | 's' | 'MB'
  /** The minimum, or for a time or a size the maximum. */
  floor?: number
  /** Its CPU, or a reference to judge it by, in a few words. */
  note?: string
  /** The underlying numbers, and other facts to judge it. */
  raw?: string
  /** Why it was not measured; then the value is NaN. */
  missing?: string
}

/** Options of one run of the benchmarks. */
export interface BenchOptions {
  /** Fewer and shorter rounds: to try a change, not to quote. */
  quick: boolean
  /** The times in milliseconds that each flush of the log lasts longer, in the lines of slow disks. */
  flush_ms: readonly number[]
}

/** `name  value (floor …)  raw numbers`, on one line. */
export function lineOf({ name, value, unit, floor, note, raw, missing }: Figure): string {
  if (missing !== undefined) return `${name}  not measured: ${missing}`
  const limit =
    floor === undefined
      ? ''
      : ` (${boundOf(unit)} ${amount(floor, unit)}${missed({ value, unit, floor })})`
  const details = [note, raw].filter((text) => text).join('; ')
  return `${name}  ${amount(value, unit)}${limit}${details ? `  ${details}` : ''}`
}

/** Whether a smaller number is better. */
export function isBounded(unit: Figure['unit']): boolean {
  return unit !== 'x' && unit !== '/s'
}

function boundOf(unit: Figure['unit']): string {
  return isBounded(unit) ? 'at most' : 'floor'
}

function missed(figure: { value: number; unit: Figure['unit']; floor: number }) {
  return reaches(figure, figure.floor) ? '' : ', MISSED'
}

/** Whether the value is at least as good as the limit. */
export function reaches({ value, unit }: Pick<Figure, 'value' | 'unit'>, limit: number): boolean {
  return isBounded(unit) ? value <= limit : value >= limit
}

/** A value with its unit. */
export function amount(value: number, unit: Figure['unit']): string {
  return unit === 'x' || unit === '/s' ? `${count(value)}${unit}` : `${count(value)} ${unit}`
}

/** A number with three significant digits and commas for thousands. */
export function count(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}

/** A share of one in whole per cent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** The median; of an even number of values the lower one of the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The median of one field of the rounds. */
export function medianOf<Field extends string>(
  rounds: readonly Record<NoInfer<Field>, number>[],
  field: Field,
): number {
  return median(rounds.map((round) => round[field]))
}

/** The number of the times, and their range. */
export function timesText(times_ms: readonly number[]): string {
  return `median of ${times_ms.length}, ${rangeOf(times_ms)} ms`
}

/** The smallest and the largest of the values. */
export function rangeOf(values: readonly number[]): string {
  return `${count(Math.min(...values))}–${count(Math.max(...values))}`
}

/** The nearest-rank quantile. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  if (value === undefined) throw new Error('no values to measure')
  return value
}
