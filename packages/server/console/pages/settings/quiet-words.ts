import type { QuietHours } from '@svc/client'

/** The days of a week, in its order, and their names. */
export const DAYS = [
  ['mon', 'Monday'],
  ['tue', 'Tuesday'],
  ['wed', 'Wednesday'],
  ['thu', 'Thursday'],
  ['fri', 'Friday'],
  ['sat', 'Saturday'],
  ['sun', 'Sunday'],
] as const

const DAY = 24 * 60
const WEEK = 7 * DAY
/** How long after the beginning of quiet hours the message of the example is due, in minutes. */
const EXAMPLE_AFTER = 60

const LIST = new Intl.ListFormat('en')

/** What a rule does, such as `Marketing messages wait from 21:00 to 08:00 on the next day, every day.` */
export function ruleWords({ category, start, end, days }: QuietHours): string {
  const { length } = spanOf({ start, end })
  const isOvernight = minutesOf(start) + length > DAY
  const window =
    length === DAY && start === '00:00'
      ? 'all day'
      : `from ${start} to ${length + minutesOf(start) === DAY ? 'midnight' : end}${isOvernight ? ' on the next day' : ''}`
  return `${nameOf(category)} messages wait ${window}, ${isOvernight && days ? 'beginning on ' : days ? 'on ' : ''}${dayWords(days)}.`
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
    for (const [i, [day]] of DAYS.entries()) {
      if (one.days && !one.days.includes(day)) continue
      for (let minute = 0; minute < length; minute++) quiet[(i * DAY + begin + minute) % WEEK] = 1
    }
  }
  const { begin, length } = spanOf(first)
  const day = DAYS.findIndex(([id]) => (first.days ?? ['mon']).includes(id))
  const due = day * DAY + begin + Math.min(EXAMPLE_AFTER, length >> 1)
  let sent = due
  while (quiet[sent % WEEK] === 1 && sent < due + WEEK) sent++
  if (sent === due + WEEK) return null
  return `A ${nameOf(category).toLowerCase()} message that is due on ${clock(due)} is sent on ${clock(sent)}.`
}

const nameOf = (category: string) => (category === 'marketing' ? 'Marketing' : 'Transactional')

function dayWords(days: QuietHours['days']): string {
  const chosen = DAYS.filter(([id]) => days?.includes(id) ?? true)
  if (chosen.length === DAYS.length) return 'every day'
  const first = DAYS.indexOf(chosen[0] as (typeof DAYS)[number])
  const isRow = chosen.length > 2 && DAYS[first + chosen.length - 1] === chosen.at(-1)
  if (isRow) return `${chosen[0]?.[1]} to ${chosen.at(-1)?.[1]}`
  return LIST.format(chosen.map(([, name]) => name))
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
  return `${DAYS[Math.floor(at / DAY)]?.[1]} at ${two((at % DAY) / 60)}:${two(at % 60)}`
}
