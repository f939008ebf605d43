import { expect, test } from 'vitest'
import { counted } from './counted.ts'
import { relativeTime } from './relative-time.ts'

const now = new Date('2026-05-04T09:00:00.000Z')

test.each([
  [0, 'now'],
  [-1_400, 'now'],
  [-12_000, '12 s ago'],
  [-59_000, '59 s ago'],
  [-119_000, '1 min ago'],
  [300_000, 'in 5 min'],
  [-3 * 3_600_000, '3 h ago'],
  [-6.9 * 86_400_000, '6 d ago'],
  [-7 * 86_400_000, '2026-04-27'],
  [400 * 86_400_000, '2027-06-08'],
])('a time %i ms from now is %s', (ms, text) => {
  expect(relativeTime(new Date(now.getTime() + ms), now)).toBe(text)
})

test('a number has its noun in the right form', () => {
  expect([counted(1, 'message'), counted(1200, 'message'), counted(0, 'entry', 'entries')]).toEqual(
    ['1 message', '1,200 messages', '0 entries'],
  )
  expect([counted('1', 'credit'), counted('0.1', 'credit')]).toEqual(['1 credit', '0.1 credits'])
})
