import { LOCALE, plural, t } from './text.ts'
import { zoned } from './time-zone.ts'

const NUMBER = new Intl.NumberFormat(LOCALE)
const TENTHS = new Intl.NumberFormat(LOCALE, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
})
const CREDITS = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 6 })
const EXACT = zoned(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' })
const CLOCK = zoned(LOCALE, { timeStyle: 'medium' })
const DAY = zoned(LOCALE, { month: 'short', day: 'numeric' })
const DAY_OF_YEAR = zoned(LOCALE, { dateStyle: 'medium' })
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })

const REGION = new Intl.DisplayNames(LOCALE, { type: 'region' })

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** A whole number with its noun: `1 message`, `1,200 messages`. */
export function count(n: number, singular: string, other = `${singular}s`): string {
  return plural(n, `{n} ${singular}`, `{n} ${other}`, NUMBER.format(n))
}

/** A number with separators. */
export function number(n: number): string {
  return NUMBER.format(n)
}

/** A number with one digit behind the decimal sign. */
export function tenths(n: number): string {
  return TENTHS.format(n)
}

/** The name of a country of numbers: ISO 3166-1, or `ZZ` for none. */
export function countryName(code: string): string {
  return code === 'ZZ' ? t('Other numbers') : (REGION.of(code) ?? code)
}

const SEPARATORS: Record<string, string> = {
  ',': t('comma'),
  ';': t('semicolon'),
  '\t': t('tab'),
  '|': t('bar'),
}

/** How a table was read: `UTF-8, semicolon`. */
export function tableWords({
  encoding,
  separator,
}: {
  encoding: string
  separator: string
}): string {
  return `${encoding.toUpperCase()}, ${SEPARATORS[separator] ?? separator}`
}

/** Credits with their unit: `1 credit`, `12.5 credits`. */
export function credits(n: number): string {
  return plural(n, '{n} credit', '{n} credits', CREDITS.format(n))
}

/** A time relative to now: `just now`, `5 minutes ago`, `in a moment`; after a week the date. */
export function relativeTime(at: string | Date, now_ms = Date.now()): string {
  const time = new Date(at)
  const seconds = Math.round((time.getTime() - now_ms) / 1000)
  const size = Math.abs(seconds)
  if (size < 10) return seconds > 0 ? t('in a moment') : t('just now')
  if (size < MINUTE_S) return RELATIVE.format(seconds, 'second')
  if (size < HOUR_S) return RELATIVE.format(Math.trunc(seconds / MINUTE_S), 'minute')
  if (size < DAY_S) return RELATIVE.format(Math.trunc(seconds / HOUR_S), 'hour')
  if (size < 7 * DAY_S) return RELATIVE.format(Math.trunc(seconds / DAY_S), 'day')
  const isThisYear = time.getFullYear() === new Date(now_ms).getFullYear()
  return (isThisYear ? DAY : DAY_OF_YEAR)(time)
}

/** A time with date and seconds, in the zone of `timeZone`. */
export function exactTime(at: string | Date): string {
  return EXACT(new Date(at))
}

const UTC_DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: 'UTC' })

/** A day of UTC such as `2026-05-01`, or the day with this beginning, the same in each zone of the browser. */
export function utcDay(day: string | number): string {
  return UTC_DAY.format(new Date(day))
}

/** The day of a time, in the zone of `timeZone`. */
export function dayText(at: string | Date): string {
  return DAY_OF_YEAR(new Date(at))
}

/** The clock time with seconds, in the zone of `timeZone`. */
export function clockTime(at: string | Date): string {
  return CLOCK(new Date(at))
}

/** A time with its milliseconds, in the zone of `timeZone`. */
export function preciseTime(at: string | Date): string {
  const time = new Date(at)
  return `${EXACT(time)}, ${time.getMilliseconds()} ms`
}

/** A distance in milliseconds: `48 ms`, `1.2 s`, `3 min`, `8 h 52 min`, `2 d 3 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < MINUTE_S * 1000) return `${tenths(ms / 1000)} s`
  const minutes = Math.round(ms / 1000 / MINUTE_S)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h${minutes % 60 > 0 ? ` ${minutes % 60} min` : ''}`
  return `${Math.floor(hours / 24)} d${hours % 24 > 0 ? ` ${hours % 24} h` : ''}`
}

/** A price in minor units of its currency: `10.00 USD`, `1,000 JPY`. */
export function price(amount: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat(LOCALE, {
    style: 'currency',
    currency,
  }).resolvedOptions()
  const decimal = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: digits })
  return `${decimal.format(amount / 10 ** digits)} ${currency}`
}
