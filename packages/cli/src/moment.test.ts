import { expect, test } from 'vitest'
import { momentText } from './moment.ts'

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
