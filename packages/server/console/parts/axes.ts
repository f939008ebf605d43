import { LOCALE } from '../shell/text.ts'
import { inputTime, zoned } from '../shell/time-zone.ts'

const DAY_S = 86_400

const CLOCK = zoned(LOCALE, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const DATE_PARTS = { month: 'short', day: 'numeric' } as const
const DATE = zoned(LOCALE, DATE_PARTS)
const UTC_DATE = new Intl.DateTimeFormat(LOCALE, { ...DATE_PARTS, timeZone: 'UTC' })

/** The maximum number of labels of an axis of times: more would touch each other. */
const MARKS_MAX = 7

/** The distances of labels in minutes, of which whole numbers make a day. */
const ROUND_MIN = [1, 5, 15, 60, 180, 360, 720, 1440]

/**
 * The levels of an axis of values, ascending: from zero or below the smallest to above the largest, with a distance of 1, 2, 5,
 * 10 and so on, because half a message is none.
 */
export function levelsOf(values: readonly number[]): number[] {
  const min = Math.min(0, ...values)
  const max = Math.max(4, ...values)
  const least = (max - min) / 5
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(least)))
  const distance = unit * ([1, 2, 5].find((n) => n * unit >= least) ?? 10)
  const from = Math.floor(min / distance)
  const length = Math.ceil(max / distance) - from + 1
  return Array.from({ length }, (_, i) => (from + i) * distance)
}

/** Whether the points are days, which are days of UTC. */
export function areDays([first = 0, second = 0]: readonly number[]): boolean {
  return second - first >= DAY_S
}

/**
 * The labels of an axis of times, by the positions of these times: round times of the day, and dates for days. `times`: in
 * seconds, ascending, all with the same distance. The zone is that of `timeZone`, and UTC for days.
 */
export function marksOf(times: readonly number[]): [position: number, text: string][] {
  const isDays = areDays(times)
  const clocks = times.map((time) => inputTime(time * 1000).slice(11))
  const positions = times.map((_, i) => i)
  const rounds = isDays
    ? []
    : ROUND_MIN.map((size) => positions.filter((i) => minutesOf(clocks[i]) % size === 0))
  const distance = Math.ceil(times.length / MARKS_MAX)
  const chosen =
    rounds.find(({ length }) => length > 0 && length <= MARKS_MAX) ??
    positions.filter((i) => i % distance === 0)
  return chosen.map((i) => {
    const at_ms = (times[i] ?? 0) * 1000
    if (isDays) return [i, UTC_DATE.format(at_ms)]
    return [i, (clocks[i] === '00:00' ? DATE : CLOCK)(at_ms)]
  })
}

/** The minutes since the start of the day of a clock time, such as `09:30`. */
function minutesOf(clock = ''): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}
