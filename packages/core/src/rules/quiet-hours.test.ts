import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import { LIMITS } from '../contract/limits.ts'
import { type QuietHours, WEEKDAYS } from '../contract/resources/workspaces.ts'
import { freeMinutes, instantOf, isTimeZone, nextAllowed, ZONE_AHEAD_MS } from './quiet-hours.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const quiet = (start: string, end: string, days?: QuietHours['days']): QuietHours => ({
  category: 'marketing',
  start,
  end,
  ...(days && { days }),
})

const NIGHT = [quiet('21:00', '08:00')]

function after(at: string, hours: readonly QuietHours[], zone = 'UTC'): string {
  return nextAllowed(new Date(at), hours, zone).toISOString()
}

describe('quiet hours', () => {
  it.each([
    ['before they begin', '2026-05-04T20:59:59.999Z', '2026-05-04T20:59:59.999Z'],
    ['at their begin', '2026-05-04T21:00:00.000Z', '2026-05-05T08:00:00.000Z'],
    ['after midnight', '2026-05-05T00:00:00.001Z', '2026-05-05T08:00:00.000Z'],
    ['in their last millisecond', '2026-05-05T07:59:59.999Z', '2026-05-05T08:00:00.000Z'],
    ['at their end', '2026-05-05T08:00:00.000Z', '2026-05-05T08:00:00.000Z'],
  ])('move an instant %s', (_, at, until) => {
    expect(after(at, NIGHT)).toBe(until)
  })

  it('are local times of the zone', () => {
    const at = '2026-05-04T19:30:00.000Z'
    expect(after(at, NIGHT, 'Europe/Berlin')).toBe('2026-05-05T06:00:00.000Z')
    expect(after(at, NIGHT, 'europe/berlin')).toBe('2026-05-05T06:00:00.000Z')
    expect(after(at, NIGHT, 'America/New_York')).toBe(at)
    expect(after(at, NIGHT, 'Asia/Kathmandu')).toBe('2026-05-05T02:15:00.000Z')
    expect(after(at, NIGHT, 'Pacific/Kiritimati')).toBe(at)
    expect(after('2026-05-04T22:00:00.000Z', NIGHT, 'No/Zone')).toBe('2026-05-05T08:00:00.000Z')
  })

  it('belong to the day on which they begin', () => {
    // 2026-05-09 is a Saturday.
    const hours = [quiet('21:00', '08:00', ['sat'])]
    expect(after('2026-05-08T22:00:00.000Z', hours)).toBe('2026-05-08T22:00:00.000Z')
    expect(after('2026-05-09T07:00:00.000Z', hours)).toBe('2026-05-09T07:00:00.000Z')
    expect(after('2026-05-09T22:00:00.000Z', hours)).toBe('2026-05-10T08:00:00.000Z')
    expect(after('2026-05-10T07:00:00.000Z', hours)).toBe('2026-05-10T08:00:00.000Z')
    expect(after('2026-05-10T22:00:00.000Z', hours)).toBe('2026-05-10T22:00:00.000Z')
  })

  it('of several entries follow each other without a gap, also over the end of the week', () => {
    const hours = [...NIGHT, quiet('00:00', '24:00', ['sun'])]
    expect(after('2026-05-09T22:00:00.000Z', hours)).toBe('2026-05-11T08:00:00.000Z')
    const days = [quiet('08:00', '08:00', ['sat']), quiet('08:00', '09:00', ['sun'])]
    expect(after('2026-05-09T08:00:00.000Z', days)).toBe('2026-05-10T09:00:00.000Z')
  })

  it('end with the skip of the clocks over their end', () => {
    // In Berlin 02:00 is followed by 03:00 at 01:00 UTC.
    const hours = [quiet('00:00', '02:30')]
    expect(after('2026-03-28T23:30:00.000Z', hours, 'Europe/Berlin')).toBe(
      '2026-03-29T01:00:00.000Z',
    )
    expect(after('2026-03-29T01:00:00.000Z', hours, 'Europe/Berlin')).toBe(
      '2026-03-29T01:00:00.000Z',
    )
    const night = after('2026-03-28T23:30:00.000Z', NIGHT, 'Europe/Berlin')
    expect(night).toBe('2026-03-29T06:00:00.000Z')
    // The begin is skipped, and what remains is quiet.
    const begin = [quiet('02:15', '03:15')]
    expect(after('2026-03-29T01:05:00.000Z', begin, 'Europe/Berlin')).toBe(
      '2026-03-29T01:15:00.000Z',
    )
  })

  it('include both passes of a time that the clocks show twice', () => {
    // In Berlin 03:00 is followed by 02:00 at 01:00 UTC.
    const zone = 'Europe/Berlin'
    const until3 = [quiet('01:00', '03:00')]
    expect(after('2026-10-25T00:30:00.000Z', until3, zone)).toBe('2026-10-25T02:00:00.000Z')
    const until = [quiet('01:00', '02:30')]
    expect(after('2026-10-25T00:10:00.000Z', until, zone)).toBe('2026-10-25T00:30:00.000Z')
    expect(after('2026-10-25T01:10:00.000Z', until, zone)).toBe('2026-10-25T01:30:00.000Z')
  })

  it.each([
    ['of Berlin in summer', 'Europe/Berlin', '2026-05-04T09:00', '2026-05-04T07:00'],
    ['far ahead of UTC', 'Pacific/Kiritimati', '2026-05-04T09:00', '2026-05-03T19:00'],
    ['far behind UTC', 'Etc/GMT+12', '2026-05-04T09:00', '2026-05-04T21:00'],
    ['that the clocks skip', 'Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:00'],
    ['after the skip', 'Europe/Berlin', '2026-03-29T03:00', '2026-03-29T01:00'],
    ['that the clocks show twice', 'Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30'],
    ['after the repeat', 'Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00'],
    ['of an unknown zone', 'No/Zone', '2026-05-04T09:00', '2026-05-04T09:00'],
  ])('know the instant of a local time %s', (_, zone, local, instant) => {
    expect(instantOf(new Date(`${local}Z`), zone)).toEqual(new Date(`${instant}Z`))
  })

  it('leave free minutes, which are counted once', () => {
    expect(freeMinutes([])).toBe(7 * 24 * 60)
    expect(freeMinutes(NIGHT)).toBe(7 * 13 * 60)
    expect(freeMinutes([...NIGHT, quiet('20:00', '22:00')])).toBe(7 * 12 * 60)
    expect(freeMinutes([quiet('00:00', '24:00')])).toBe(0)
    expect(freeMinutes([quiet('12:00', '12:00')])).toBe(0)
    expect(freeMinutes([quiet('21:00', '08:00', ['sun'])])).toBe((7 * 24 - 11) * 60)
  })

  it('know the names of zones', () => {
    for (const zone of [
      'UTC',
      'Etc/GMT+5',
      'America/Argentina/Buenos_Aires',
      'america/port-au-prince',
    ]) {
      expect([zone, isTimeZone(zone)]).toEqual([zone, true])
    }
    const wrong = [
      '',
      '+02:00',
      '-0300',
      'Berlin',
      'Europe/Berlin ',
      `Europe/${'x'.repeat(70)}`,
      '../UTC',
    ]
    expect(wrong.filter(isTimeZone)).toEqual([])
  })
})

/** A second reading of a zone's clocks, with other means than the rule: the weekday and the minute of the day. */
function clockOf(zone: string): (at_ms: number) => { day: number; minute: number } {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return (at_ms) => {
    const [date = '', time = ''] = format.format(at_ms).split(' ')
    const day = (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7
    return { day, minute: Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5)) }
  }
}

function isQuiet(hours: readonly QuietHours[], { day, minute }: { day: number; minute: number }) {
  const minutesOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
  return hours.some(({ start, end, days = WEEKDAYS }) => {
    const [from, to] = [minutesOf(start), minutesOf(end)]
    const has = (n: number) => days.includes(WEEKDAYS[(n + 7) % 7] as (typeof WEEKDAYS)[number])
    if (from < to) return has(day) && minute >= from && minute < to
    return (has(day) && minute >= from) || (has(day - 1) && minute < to)
  })
}

const YEAR_MS = Date.UTC(2026, 0, 1)

describe('every IANA zone', () => {
  const zones = Intl.supportedValuesOf('timeZone').filter((_, i) => RUNS_ALL_CASES || i % 6 === 0)
  const time = fc
    .integer({ min: 0, max: 24 * 60 - 1 })
    .map((minute) => new Date(minute * MINUTE_MS).toISOString().slice(11, 16))
  const window = fc.record({
    category: fc.constant('marketing' as const),
    start: time,
    end: fc.oneof(time, fc.constant('24:00')),
    days: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { minLength: 1 }),
  })
  const windows = fc
    .array(window, { minLength: 1, maxLength: 5 })
    .filter((hours) => freeMinutes(hours) >= LIMITS.quiet_hours_free_minutes)

  it.each(zones)('%s: a local time has the first instant at which the clocks reach it', (zone) => {
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'short',
    })
    const shown = (ms: number) => format.format(ms).replace(' ', 'T')
    for (let day = 0; day < 365; day++) {
      // In the days of all changes, most of which are at night.
      for (const minute of [30, 150, 9 * 60]) {
        const local_ms = YEAR_MS + day * DAY_MS + minute * MINUTE_MS
        const local = new Date(local_ms).toISOString().slice(0, 16)
        const at_ms = instantOf(new Date(local_ms), zone).getTime()
        const [before, at] = [shown(at_ms - 1), shown(at_ms)]
        if (before >= local || at < local) expect([zone, local, before, at]).toEqual('a first time')
        if (at !== local) expect(Date.parse(`${at}Z`) - local_ms).toBeLessThan(2 * HOUR_MS)
        expect(at_ms).toBeGreaterThanOrEqual(local_ms - ZONE_AHEAD_MS)
      }
    }
  })

  it.each(zones)('%s: the result is the first instant of a year that is not quiet', (zone) => {
    const clock = clockOf(zone)
    /** The instants of the year at which the clocks change, to the minute; between others an hour is an hour. */
    const changes: number[] = []
    const offset = (ms: number) => {
      const { day, minute } = clock(ms)
      return (
        (day * 24 * 60 + minute - Math.floor(ms / MINUTE_MS) + 7 * 24 * 60 * 10_000) % (7 * 24 * 60)
      )
    }
    for (let ms = YEAR_MS; ms < YEAR_MS + 365 * DAY_MS; ms += DAY_MS) {
      if (offset(ms) !== offset(ms + DAY_MS)) changes.push(ms)
    }
    const near = changes.map((ms) =>
      fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }).map((by) => ms + by),
    )
    const instant = fc.oneof(fc.integer({ min: YEAR_MS, max: YEAR_MS + 365 * DAY_MS }), ...near)
    fc.assert(
      fc.property(windows, instant, (hours, at_ms) => {
        const end_ms = nextAllowed(new Date(at_ms), hours, zone).getTime()
        expect(end_ms - at_ms).toBeLessThanOrEqual(7 * DAY_MS)
        expect(isQuiet(hours, clock(end_ms))).toBe(false)
        if (end_ms === at_ms) return
        // All before is quiet: each quarter of an hour, and the last millisecond.
        expect(isQuiet(hours, clock(end_ms - 1))).toBe(true)
        for (let ms = at_ms; ms < end_ms; ms += 15 * MINUTE_MS) {
          if (!isQuiet(hours, clock(ms))) expect([zone, hours, at_ms, ms]).toEqual('quiet')
        }
      }),
      { numRuns: 20 },
    )
  })
})
