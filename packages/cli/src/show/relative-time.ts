const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** An instant as the API writes it. */
export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** A time relative to now: `now`, `12 s ago`, `in 5 min`; after a week the date. */
export function relativeTime(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  const size = Math.abs(seconds)
  if (size < 2) return 'now'
  if (size >= 7 * DAY_S) return at.toISOString().slice(0, 10)
  const [unit_s, unit] =
    size < MINUTE_S
      ? [1, 's']
      : size < HOUR_S
        ? [MINUTE_S, 'min']
        : size < DAY_S
          ? [HOUR_S, 'h']
          : [DAY_S, 'd']
  const text = `${Math.floor(size / (unit_s as number))} ${unit}`
  return seconds < 0 ? `${text} ago` : `in ${text}`
}
