import { expect, it } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const DAY_MS = 86_400_000

it.each<[string | string[] | undefined, number | null]>([
  [undefined, null],
  ['', null],
  [['5', '5'], null],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['5, 6', null],
  ['2026-03-01T12:01:00Z', null],
  ['0', 0],
  [' 30 ', 30_000],
  ['1000000000', DAY_MS],
  ['9'.repeat(30), DAY_MS],
  ['Sun, 01 Mar 2026 12:01:00 GMT', 60_000],
  ['Sunday, 01-Mar-26 12:01:00 GMT', 60_000],
  ['Sun Mar  1 12:01:00 2026', 60_000],
  ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
  ['Fri, 01 Mar 2126 12:00:00 GMT', DAY_MS],
  ['Sun, 77 Xyz 2026 12:01:00 GMT', null],
])('Retry-After: %s', (text, expected) => {
  expect(retryAfterMs({ 'retry-after': text }, NOW)).toBe(expected)
})
