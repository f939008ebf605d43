import { parseDateTime } from '@svc/core/contract'

/** The maximum length of a time. Every expression below is matched within it. */
const LENGTH_MAX = 100

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const UNITS: Record<string, number> = {
  sec: SECOND_MS,
  second: SECOND_MS,
  min: MINUTE_MS,
  minute: MINUTE_MS,
  hr: HOUR_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
}

const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun']
MONTHS.push('jul', 'aug', 'sep', 'oct', 'nov', 'dec')

/** Abbreviations of zones, as offsets or as zones with daylight saving time. */
const ZONES: Record<string, string> = {
  z: 'UTC',
  utc: 'UTC',
  gmt: 'UTC',
  et: 'America/New_York',
  est: '-05:00',
  edt: '-04:00',
  ct: 'America/Chicago',
  cst: '-06:00',
  cdt: '-05:00',
  mt: 'America/Denver',
  mst: '-07:00',
  mdt: '-06:00',
  pt: 'America/Los_Angeles',
  pst: '-08:00',
  pdt: '-07:00',
  bst: '+01:00',
  cet: '+01:00',
  cest: '+02:00',
}

interface Day {
  year: number
  /** From 0. */
  month: number
  day: number
}

interface Time {
  hour: number
  minute: number
  second: number
}

const NOON: Time = { hour: 12, minute: 0, second: 0 }

/**
 * Reads a time as Resend documents it: ISO 8601, or English words such as `in 1 min`, `tomorrow at 9am`, `Friday at 3pm ET`,
 * `December 25 at noon`. Times without a zone are UTC. A weekday or a time of day is the next one after `now`. Returns null
 * for any other text.
 */
export function readScheduleTime(text: string, now: Date): Date | null {
  if (text.length > LENGTH_MAX) return null
  const words = text.trim().toLowerCase().replace(/\s+/g, ' ')
  return parseDateTime(text.trim()) ?? afterWait(words, now) ?? atTime(words, now)
}

/** `in 1 hour and 30 minutes`, `2 days from now`. */
function afterWait(words: string, now: Date): Date | null {
  const [, before, after] = /^in (.+)$|^(.+) from now$/.exec(words) ?? []
  const waits = (before ?? after)?.split(/ and |, /)
  if (!waits || waits.length > 4) return null
  let sum_ms = 0
  for (const wait of waits) {
    const [, count, unit = ''] =
      /^(an?|\d{1,5}) ?(sec|second|min|minute|hr|hour|day|week)s?$/.exec(wait) ?? []
    if (count === undefined) return null
    sum_ms += (count.startsWith('a') ? 1 : Number(count)) * (UNITS[unit] ?? 0)
  }
  return new Date(now.getTime() + sum_ms)
}

/** A day with or without a time of day, or a time of day, with or without a zone. */
function atTime(words: string, now: Date): Date | null {
  const [zone, unzoned] = takeZone(words)
  if (zone === null) return null
  const today = dayIn(zone, now)
  if (today === null) return null
  const [time, day] = takeTime(unzoned)
  if (day === '' && time) {
    const at = instant(today, time, zone)
    return at > now ? at : instant(plusDays(today, 1), time, zone)
  }
  const found = readDay(day, today, time ?? NOON, { now, zone })
  if (!found) return null
  if (time) return instant(found, time, zone)
  if (day === 'tonight') return instant(found, { ...NOON, hour: 22 }, zone)
  if (/^(?:tomorrow|next day|next week)$/.test(day)) {
    return instant(found, timeIn(zone, now), zone)
  }
  return day === 'today' ? null : instant(found, NOON, zone)
}

/** Splits off the zone: an abbreviation, an offset such as `+02:00`, or a name such as `Europe/Berlin`. Default: UTC. */
function takeZone(words: string): [string | null, string] {
  const [, rest, name] = / /.test(words)
    ? (/^(.*) \(?([a-z]{1,4}|(?:utc|gmt)?[+-]\d{1,2}(?::?\d\d)?|[a-z]+\/[a-z_/]+)\)?$/.exec(
        words,
      ) ?? [])
    : []
  if (name === undefined || rest === undefined) return ['UTC', words]
  if (Object.hasOwn(ZONES, name)) return [ZONES[name] as string, rest]
  const [, sign, hours = '', minutes = '00'] =
    /^(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d\d))?$/.exec(name) ?? []
  if (sign !== undefined) {
    const isOffset = Number(hours) <= 14 && Number(minutes) < 60
    return [isOffset ? `${sign}${hours.padStart(2, '0')}:${minutes}` : null, rest]
  }
  return name.includes('/') ? [name, rest] : ['UTC', words]
}

/** Splits off the time of day at the end, with or without `at`. */
function takeTime(words: string): [Time | null, string] {
  const [, day = '', noon, hour, minute = '0', second = '0', half] =
    /^(?:(.+?),? )??(?:at |@ ?)?(?:(noon|midnight)|(\d{1,2})(?::(\d\d)(?::(\d\d))?)?(?: ?([ap])\.?m\.?)?)$/.exec(
      words,
    ) ?? []
  if (noon !== undefined) return [{ ...NOON, hour: noon === 'noon' ? 12 : 0 }, day]
  // `may 5` is a day: an hour without minutes needs `am` or `pm`, or the word `at`.
  const isTime = half !== undefined || /(?::\d\d|\bat \d{1,2})$/.test(words)
  if (hour === undefined || !isTime) return [null, words]
  const count = Number(hour)
  if (half !== undefined && (count < 1 || count > 12)) return [null, words]
  const time = {
    hour: half === undefined ? count : (count % 12) + (half === 'p' ? 12 : 0),
    minute: Number(minute),
    second: Number(second),
  }
  return time.hour > 23 || time.minute > 59 || time.second > 59 ? [null, words] : [time, day]
}

function readDay(
  words: string,
  today: Day,
  time: Time,
  { now, zone }: { now: Date; zone: string },
): Day | null {
  if (words === 'today' || words === 'tonight') return today
  if (words === 'tomorrow' || words === 'next day') return plusDays(today, 1)
  if (words === 'next week') return plusDays(today, 7)
  const [, next, weekday] = /^(?:on )?(?:(next|this) )?([a-z]{3,9})$/.exec(words) ?? []
  const wanted = weekday === undefined ? -1 : indexOf(WEEKDAYS, weekday, fullWeekdays)
  if (wanted >= 0) {
    const ahead = (wanted - weekdayOf(today) + 7) % 7
    const day = plusDays(today, ahead)
    const isPast = ahead === 0 && (next === 'next' || instant(day, time, zone) <= now)
    return isPast ? plusDays(day, 7) : day
  }
  return readDate(words.replace(/^on /, ''), today)
}

/** `december 25`, `25 december 2026`, `2026-12-25`. Without a year, the next such day. */
function readDate(words: string, today: Day): Day | null {
  const iso = /^(\d{4})-(\d\d)-(\d\d)$/.exec(words)
  if (iso) return realDay(Number(iso[1]), Number(iso[2]) - 1, Number(iso[3]))
  const ordinal = '(\\d{1,2})(?:st|nd|rd|th)?'
  const [, m1, d1, y1] =
    new RegExp(`^([a-z]{3,9})\\.? ${ordinal}(?:,? (\\d{4}))?$`).exec(words) ?? []
  const [, d2, m2, y2] =
    new RegExp(`^${ordinal} (?:of )?([a-z]{3,9})\\.?(?:,? (\\d{4}))?$`).exec(words) ?? []
  const name = m1 ?? m2
  const month = name === undefined ? -1 : indexOf(MONTHS, name, fullMonths)
  if (month < 0) return null
  const day = Number(d1 ?? d2)
  const year = y1 ?? y2
  if (year !== undefined) return realDay(Number(year), month, day)
  const isPast = month < today.month || (month === today.month && day < today.day)
  return realDay(today.year + (isPast ? 1 : 0), month, day)
}

const fullWeekdays = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')
const fullMonths =
  'january february march april may june july august september october november december'.split(' ')

/** The index of a full name, or of its start with at least three letters; -1 for any other word. */
function indexOf(short: readonly string[], word: string, full: readonly string[]): number {
  const index = short.indexOf(word.slice(0, 3))
  return index >= 0 && full[index]?.startsWith(word) ? index : -1
}

function realDay(year: number, month: number, day: number): Day | null {
  const date = new Date(Date.UTC(year, month, day))
  return date.getUTCMonth() === month && date.getUTCDate() === day ? { year, month, day } : null
}

function plusDays({ year, month, day }: Day, days: number): Day {
  const date = new Date(Date.UTC(year, month, day + days))
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() }
}

function weekdayOf({ year, month, day }: Day): number {
  return new Date(Date.UTC(year, month, day)).getUTCDay()
}

/** The wall clock of a zone as if it were UTC; null for an unknown zone. */
function wallMs(zone: string, at: Date): number | null {
  const offset = /^([+-])(\d\d):(\d\d)$/.exec(zone)
  if (offset) {
    const ms = Number(offset[2]) * HOUR_MS + Number(offset[3]) * MINUTE_MS
    return at.getTime() + (offset[1] === '-' ? -ms : ms)
  }
  if (zone === 'UTC') return at.getTime()
  try {
    const options = { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' } as const
    // `sv-SE` writes `2026-05-04 09:00:00`.
    return Date.parse(`${at.toLocaleString('sv-SE', options).replace(' ', 'T')}Z`)
  } catch {
    return null
  }
}

function dayIn(zone: string, at: Date): Day | null {
  const ms = wallMs(zone, at)
  if (ms === null) return null
  const date = new Date(ms)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() }
}

function timeIn(zone: string, at: Date): Time {
  const date = new Date(wallMs(zone, at) ?? at.getTime())
  return { hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds() }
}

/** The instant at which the clocks of a zone show a time. */
function instant({ year, month, day }: Day, { hour, minute, second }: Time, zone: string): Date {
  const wanted = Date.UTC(year, month, day, hour, minute, second)
  let guess = wanted
  // The second round corrects a guess on the other side of a change of the clocks.
  for (let round = 0; round < 2; round++) {
    guess += wanted - (wallMs(zone, new Date(guess)) ?? wanted)
  }
  return new Date(guess)
}
