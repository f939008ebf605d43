import type { QuietHours } from '@svc/client'
import { LOCALE, t } from '../../shell/text.ts'

/** The days of a week, in its order. */
export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** The name of a day by its place in the week. */
export function dayName(place: number, weekday: 'long' | 'short' = 'long'): string {
  // 2024 began on a Monday.
  return new Intl.DateTimeFormat(LOCALE, { weekday, timeZone: 'UTC' }).format(
    Date.UTC(2024, 0, 1 + place),
  )
}

const DAY = 24 * 60
const WEEK = 7 * DAY
/** How long after the beginning of quiet hours the message of the example is due, in minutes. */
const EXAMPLE_AFTER = 60

const LIST = new Intl.ListFormat(LOCALE)

/** What a rule does, such as `Marketing messages wait from 21:00 to 08:00 on the next day, every day.` */
export function ruleWords({ category, start, end, days }: QuietHours): string {
  const { length } = spanOf({ start, end })
  const isMarketing = category === 'marketing'
  const begin = minutesOf(start)
  const isOvernight = begin + length > DAY
  const window = windowWords(begin, length, { start, end })
  const when = `${window}, ${dayWords(days, isOvernight)}`
  return isMarketing
    ? t('Marketing messages wait {when}.', { when })
    : t('Transactional messages wait {when}.', { when })
}

function windowWords(
  begin: number,
  length: number,
  { start, end }: Record<string, string>,
): string {
  if (length === DAY && begin === 0) return t('all day')
  if (begin + length > DAY) return t('from {start} to {end} on the next day', { start, end })
  if (begin + length === DAY) return t('from {start} to midnight', { start })
  return t('from {start} to {end}', { start, end })
}

/**
 * One message that the rules of a category defer: when it is due and when it is sent, on the clock of its recipient; null if no
 * rule defers anything, or all hours are quiet.
 */
export function exampleOf(rules: readonly QuietHours[], category: QuietHours['category']) {
  const mine = rules.filter((one) => one.category === category && one.start && one.end)
  const [first] = mine
  if (!first) return null
  const quiet = new Uint8Array(WEEK)
  for (const one of mine) {
    const { begin, length } = spanOf(one)
    for (const [i, day] of DAYS.entries()) {
      if (one.days && !one.days.includes(day)) continue
      for (let minute = 0; minute < length; minute++) quiet[(i * DAY + begin + minute) % WEEK] = 1
    }
  }
  const { begin, length } = spanOf(first)
  const day = DAYS.findIndex((id) => (first.days ?? ['mon']).includes(id))
  const due = day * DAY + begin + Math.min(EXAMPLE_AFTER, length >> 1)
  let sent = due
  while (quiet[sent % WEEK] === 1 && sent < due + WEEK) sent++
  if (sent === due + WEEK) return null
  const times = { due: clock(due), sent: clock(sent) }
  return category === 'marketing'
    ? t('A marketing message that is due on {due} is sent on {sent}.', times)
    : t('A transactional message that is due on {due} is sent on {sent}.', times)
}

/** The days on which a window begins. */
function dayWords(chosen: QuietHours['days'], isOvernight: boolean): string {
  const places = [...DAYS.keys()].filter((place) => chosen?.includes(DAYS[place] ?? 'mon') ?? true)
  if (places.length === DAYS.length) return t('every day')
  const [first = 0] = places
  const last = places.at(-1) ?? first
  const days =
    places.length > 2 && last - first === places.length - 1
      ? t('{first} to {last}', { first: dayName(first), last: dayName(last) })
      : LIST.format(places.map((place) => dayName(place)))
  return isOvernight ? t('beginning on {days}', { days }) : t('on {days}', { days })
}

/** The first minute of a window in its day, and its length. An end that is not after the start is on the next day. */
function spanOf({ start, end }: Pick<QuietHours, 'start' | 'end'>) {
  const begin = minutesOf(start)
  return { begin, length: (minutesOf(end) - begin + DAY) % DAY || DAY }
}

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

function clock(minute: number): string {
  const at = minute % WEEK
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0')
  const time = `${two((at % DAY) / 60)}:${two(at % 60)}`
  return t('{day} at {time}', { day: dayName(Math.floor(at / DAY)), time })
}
