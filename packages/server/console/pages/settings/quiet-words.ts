import type { QuietHours } from '@svc/client'
import { LOCALE, t } from '../../shell/text.ts'

/** The days of a week, in its order, and their names. */
export const DAYS = [
  ['mon', t('Monday')],
  ['tue', t('Tuesday')],
  ['wed', t('Wednesday')],
  ['thu', t('Thursday')],
  ['fri', t('Friday')],
  ['sat', t('Saturday')],
  ['sun', t('Sunday')],
] as const

const DAY = 24 * 60
const WEEK = 7 * DAY
/** How long after the beginning of quiet hours the message of the example is due, in minutes. */
const EXAMPLE_AFTER = 60

const LIST = new Intl.ListFormat(LOCALE)

/** What a rule does, such as `Marketing messages wait from 21:00 to 08:00 on the next day, every day.` */
export function ruleWords({ category, start, end, days }: QuietHours): string {
  const { length } = spanOf({ start, end })
  const isOvernight = minutesOf(start) + length > DAY
  const window =
    length === DAY && start === '00:00'
      ? 'all day'
      : t('from {start} to {value}{value2}', {
          start,
          value: length + minutesOf(start) === DAY ? 'midnight' : end,
          value2: isOvernight ? t(' on the next day') : '',
        })
  return t('{category} messages wait {window}, {value}{days}.', {
    category: nameOf(category),
    window,
    value: isOvernight && days ? t('beginning on ') : days ? t('on ') : '',
    days: dayWords(days),
  })
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
  return t('A {value} message that is due on {due} is sent on {sent}.', {
    value: nameOf(category).toLowerCase(),
    due: clock(due),
    sent: clock(sent),
  })
}

const nameOf = (category: string) =>
  category === 'marketing' ? t('Marketing') : t('Transactional')

function dayWords(days: QuietHours['days']): string {
  const chosen = DAYS.filter(([id]) => days?.includes(id) ?? true)
  if (chosen.length === DAYS.length) return 'every day'
  const first = DAYS.indexOf(chosen[0] as (typeof DAYS)[number])
  const isRow = chosen.length > 2 && DAYS[first + chosen.length - 1] === chosen.at(-1)
  if (isRow) return t('{value} to {value2}', { value: chosen[0]?.[1], value2: chosen.at(-1)?.[1] })
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
  return t('{value} at {two}:{two2}', {
    value: DAYS[Math.floor(at / DAY)]?.[1],
    two: two((at % DAY) / 60),
    two2: two(at % 60),
  })
}
