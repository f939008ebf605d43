import { expect, test } from 'vitest'
import { durationMs, momentText } from './time.ts'

test.each([
  ['45s', 45_000],
  ['5m', 300_000],
  ['12h', 43_200_000],
  ['30d', 2_592_000_000],
  ['2w', 1_209_600_000],
  ['0s', 0],
])('%s is %i ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})

test.each(['', '30', 'd', '-1d', '1.5h', '1d2h', '30 d', '1y', '12345678s'])(
  '"%s" is not a duration',
  (text) => {
    expect(durationMs(text)).toBeNull()
  },
)

const now = new Date('2026-05-04T09:00:00.000Z')

test.each([
  ['10m', false, '2026-05-04T09:10:00.000Z'],
  ['2d', false, '2026-05-06T09:00:00.000Z'],
  ['2h', true, '2026-05-04T07:00:00.000Z'],
  ['2026-05-05', false, '2026-05-05'],
  ['2026-05-05T10:00:00+03:00', true, '2026-05-05T10:00:00+03:00'],
  ['tomorrow', false, 'tomorrow'],
])('%s, back: %s, is %s', (text, back, moment) => {
  expect(momentText(text, { now, back })).toBe(moment)
})
