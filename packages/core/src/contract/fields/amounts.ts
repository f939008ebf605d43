/** The formatter is created on first use, because its creation takes longer than loading all other commands. */
let compact: Intl.NumberFormat | null = null

function compactText(n: number): string {
  compact ??= new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
  return compact.format(n)
}
const BARS = '▁▂▃▄▅▆▇█'

/** A whole number for people: `12,345`, or `1.2M` for a long number. */
export function countText(n: number): string {
  return Math.abs(n) < 100_000 ? Math.round(n).toLocaleString('en') : compactText(n)
}

/** A count with its noun: `1 message`, `12,345 messages`, `1.2M messages`. */
export function countedText(n: number, noun: string, plural = `${noun}s`): string {
  return `${countText(n)} ${n === 1 ? noun : plural}`
}

/** A rate per second. */
export function rateText(per_second: number | null): string {
  if (per_second === null) return '-'
  return per_second > 0 && per_second < 10 ? per_second.toFixed(1) : countText(per_second)
}

/** Micro-credits as credits with at most two decimals. */
export function creditsText(units: number): string {
  const credits = units / 1_000_000
  if (Math.abs(credits) >= 100_000) return compactText(credits)
  return credits.toLocaleString('en', { maximumFractionDigits: 2 })
}

/** A duration in its largest unit: `12 s`, `4 min`, `3 h`, `2 d`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** The time since `at`; `-` for null. */
export function agoText(at: Date | null, now: Date): string {
  return at === null ? '-' : durationText(now.getTime() - at.getTime())
}

/** A line of bars. The largest value has the highest bar, 0 has the lowest bar, and null is a space. */
export function sparkline(values: readonly (number | null)[]): string {
  const largest = Math.max(...values.map((value) => value ?? 0))
  return values
    .map((value) => {
      if (value === null) return ' '
      if (largest === 0 || value === 0) return BARS[0]
      return BARS[Math.max(1, Math.round((value / largest) * (BARS.length - 1)))]
    })
    .join('')
}
