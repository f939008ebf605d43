import { LIMITS } from '../contract/limits.ts'
import { type QuietHours, WEEKDAYS } from '../contract/resources/workspaces.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60
const DAY_MS = DAY_MINUTES * MINUTE_MS
const WEEK_MINUTES = 7 * DAY_MINUTES

/** Settings leave some hours of each week free, so that no message waits for longer; the rule ends in any case. */
const WAIT_MAX_MS = 8 * DAY_MS

/**
 * The first instant, from `at` on, at which the clocks of a zone show no quiet hour. A time that the clocks show twice is
 * quiet both times; where they skip the end of quiet hours, these end with the skip. The hours have one category and leave
 * `LIMITS.quiet_hours_free_minutes` of the week free: the result is then at most 7 days after `at`. An unknown zone is UTC.
 */
export function nextAllowed(at: Date, hours: readonly QuietHours[], zone: string): Date {
  const offsetAt = offsetsOf(zone)
  const end_ms = at.getTime() + WAIT_MAX_MS
  let now_ms = at.getTime()
  while (now_ms < end_ms) {
    const offset_ms = offsetAt(now_ms)
    const wall_ms = now_ms + offset_ms
    const minute = Math.floor(wall_ms / MINUTE_MS)
    const wait = quietMinutesFrom(hours, minuteOfWeek(minute))
    if (wait === 0) return new Date(now_ms)
    // No zone changes its offset twice in a day, so that a change shows at one end of the step.
    const next_ms = Math.min((minute + wait) * MINUTE_MS - offset_ms, now_ms + DAY_MS)
    now_ms =
      offsetAt(next_ms) === offset_ms
        ? next_ms
        : firstWith((ms) => offsetAt(ms) !== offset_ms, now_ms, next_ms)
  }
  return new Date(now_ms)
}

/** How far the clocks of a zone are at most ahead of UTC (`Pacific/Kiritimati`), and behind it (`Etc/GMT+12`). */
export const ZONE_AHEAD_MS = 14 * 60 * MINUTE_MS
export const ZONE_BEHIND_MS = 12 * 60 * MINUTE_MS

/**
 * The first instant at which the clocks of a zone show a local time, which is given as if it were UTC. If the clocks skip it,
 * the instant of the skip; if they show it twice, the first one. An unknown zone is UTC.
 */
export function instantOf(local: Date, zone: string): Date {
  const offsetAt = offsetsOf(zone)
  const wall_ms = local.getTime()
  // Before every instant at which a clock can show the time. No zone changes its offset twice within the hours that follow.
  const early_ms = wall_ms - ZONE_AHEAD_MS - 60 * MINUTE_MS
  const offset_ms = offsetAt(early_ms)
  const at_ms = wall_ms - offset_ms
  const later_ms = offsetAt(at_ms)
  if (later_ms === offset_ms) return new Date(at_ms)
  const changed_ms = firstWith((ms) => offsetAt(ms) !== offset_ms, early_ms, at_ms)
  return new Date(Math.max(changed_ms, wall_ms - later_ms))
}

/** The number of minutes of a local week in which no hours are quiet. */
export function freeMinutes(hours: readonly QuietHours[]): number {
  // Two weeks, because a window may end in the next one.
  const quiet = new Uint8Array(2 * WEEK_MINUTES)
  for (const one of hours) {
    const { begin, length } = spanOf(one)
    for (const day of one.days ?? WEEKDAYS) {
      const from = WEEKDAYS.indexOf(day) * DAY_MINUTES + begin
      quiet.fill(1, from, from + length)
    }
  }
  let free = 0
  for (let minute = 0; minute < WEEK_MINUTES; minute++) {
    if (quiet[minute] === 0 && quiet[minute + WEEK_MINUTES] === 0) free += 1
  }
  return free
}

/** Whether a text is the name of an IANA time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  return formatOf(name) !== null
}

/** The number of minutes from a minute of the week, Monday 00:00 is 0, to the next one that is not quiet; at most a week. */
function quietMinutesFrom(hours: readonly QuietHours[], minute: number): number {
  let wait = 0
  while (wait < WEEK_MINUTES) {
    const rest = hours.reduce(
      (longest, one) => Math.max(longest, restOf(one, (minute + wait) % WEEK_MINUTES)),
      0,
    )
    if (rest === 0) return wait
    wait += rest
  }
  return WEEK_MINUTES
}

/** The rest of one window at a minute of the week, in minutes; 0 outside. */
function restOf(hours: QuietHours, minute: number): number {
  const { days = WEEKDAYS } = hours
  const { begin, length } = spanOf(hours)
  const day = Math.floor(minute / DAY_MINUTES)
  const since = (minute % DAY_MINUTES) - begin
  const isOn = (n: number) => days.includes(WEEKDAYS[n % 7] as (typeof WEEKDAYS)[number])
  if (since >= 0) return isOn(day) ? Math.max(0, length - since) : 0
  // The window that began on the day before.
  return isOn(day + 6) ? Math.max(0, length - since - DAY_MINUTES) : 0
}

/** The first minute of a window in its day, and its length, at most a day. */
function spanOf({ start, end }: QuietHours): { begin: number; length: number } {
  const begin = minutesOf(start)
  const length = (minutesOf(end) - begin + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES
  return { begin, length }
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}

/** The minute of the week of a minute since 1970, whose first day was a Thursday. */
function minuteOfWeek(minute: number): number {
  return (minute + 3 * DAY_MINUTES) % WEEK_MINUTES
}

/** The first millisecond after `from`, up to `to`, at which a condition is true that stays true until `to`. */
function firstWith(isTrue: (ms: number) => boolean, from: number, to: number): number {
  let [before, after] = [from, to]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (isTrue(middle)) after = middle
    else before = middle
  }
  return after
}

/** What the clocks of a zone are ahead of UTC at an instant, in milliseconds. */
function offsetsOf(zone: string): (at_ms: number) => number {
  const format = formatOf(zone)
  if (format === null) return () => 0
  return (at_ms) => {
    const [month, day, year, hour, minute, second] = (
      format.format(at_ms).match(/\d+/g) as string[]
    ).map(Number) as [number, number, number, number, number, number]
    const wall_ms = Date.UTC(year, month - 1, day, hour, minute, second)
    return wall_ms - Math.floor(at_ms / 1000) * 1000
  }
}

/** Node would also read an offset as a zone, from some version on. */
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/

/** More than the names of zones, links included, in lower case. A format takes 40 µs to make, and 17 kB. */
const FORMATS_MAX = 700
const formats = new Map<string, Intl.DateTimeFormat>()

/** The format of a zone's local times; null for a text that names no zone. */
function formatOf(zone: string): Intl.DateTimeFormat | null {
  const name = zone.toLowerCase()
  const known = formats.get(name)
  if (known) return known
  if (zone.length > LIMITS.time_zone_length || !ZONE_NAME.test(zone)) return null
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    if (formats.size >= FORMATS_MAX) formats.clear()
    formats.set(name, format)
    return format
  } catch {
    return null
  }
}
