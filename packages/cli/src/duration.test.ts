import { expect, test } from 'vitest'
import { durationMs } from './duration.ts'

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
  '"%s" is no span of time',
  (text) => {
    expect(durationMs(text)).toBeNull()
  },
)
