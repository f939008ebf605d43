import { describe, expect, it, test } from 'vitest'
import { readScheduleTime } from '../../src/compat/resend/schedule-time.ts'

/** A Monday. */
const NOW = new Date('2026-05-04T09:00:00Z')

const read = (text: string, now = NOW) => readScheduleTime(text, now)?.toISOString() ?? null

describe('readScheduleTime', () => {
  test.each([
    ['2026-08-05T11:52:01.858Z', '2026-08-05T11:52:01.858Z'],
    ['2026-08-05T11:52:01+02:00', '2026-08-05T09:52:01.000Z'],
    ['in 1 min', '2026-05-04T09:01:00.000Z'],
    ['in 1 hour', '2026-05-04T10:00:00.000Z'],
    ['In an hour', '2026-05-04T10:00:00.000Z'],
    ['in 2 days', '2026-05-06T09:00:00.000Z'],
    ['in 1 hour and 30 minutes', '2026-05-04T10:30:00.000Z'],
    ['3 weeks from now', '2026-05-25T09:00:00.000Z'],
    ['tomorrow', '2026-05-05T09:00:00.000Z'],
    ['tomorrow at 9am', '2026-05-05T09:00:00.000Z'],
    ['tomorrow at 9:30 pm', '2026-05-05T21:30:00.000Z'],
    ['tomorrow at noon', '2026-05-05T12:00:00.000Z'],
    ['today at 12am', '2026-05-04T00:00:00.000Z'],
    ['tonight', '2026-05-04T22:00:00.000Z'],
    ['next day at 9am PST', '2026-05-05T17:00:00.000Z'],
    ['Friday at 3pm ET', '2026-05-08T19:00:00.000Z'],
    ['friday', '2026-05-08T12:00:00.000Z'],
    ['next monday at 2pm', '2026-05-11T14:00:00.000Z'],
    ['Monday at 8am', '2026-05-11T08:00:00.000Z'],
    ['Monday at 10am', '2026-05-04T10:00:00.000Z'],
    ['December 25 at noon', '2026-12-25T12:00:00.000Z'],
    ['25th of december 2027 at 18:00', '2027-12-25T18:00:00.000Z'],
    ['May 5', '2026-05-05T12:00:00.000Z'],
    ['May 3 at 10am', '2027-05-03T10:00:00.000Z'],
    ['2026-12-25 at 9am Europe/Berlin', '2026-12-25T08:00:00.000Z'],
    ['9am', '2026-05-05T09:00:00.000Z'],
    ['at 17', '2026-05-04T17:00:00.000Z'],
    ['at 10am +02:00', '2026-05-05T08:00:00.000Z'],
  ])('reads %j', (text, time) => {
    expect(read(text)).toBe(time)
  })

  it('follows the clocks of a zone over a change', () => {
    const winter = new Date('2026-03-07T12:00:00Z')
    expect(read('tomorrow at 3pm ET', winter)).toBe('2026-03-08T19:00:00.000Z')
    expect(read('today at 3pm ET', winter)).toBe('2026-03-07T20:00:00.000Z')
  })

  test.each([
    '',
    'soon',
    'in',
    'in a while',
    'in 1 fortnight',
    'in 1000000 days',
    'tomorrow at 25:00',
    'tomorrow at 13pm',
    'february 30 at 9am',
    'someday',
    'tomorrow at 9am Nowhere/Land',
    'tomorrow at 9am +99:00',
    'mondays',
    `in 1 hour${' '.repeat(200)}`,
    '1 '.repeat(50),
    'at '.repeat(33),
    'a'.repeat(100),
    `${'1,'.repeat(49)} `,
  ])('refuses %j', (text) => {
    expect(read(text)).toBeNull()
  })
})
