import { expect, it } from 'vitest'
import { fold } from './fold.ts'

it.each([
  ['STRASSE', 'straße'],
  ['ΟΔΟΣ', 'οδος'],
  ['οδοσ', 'οδος'],
  ['Å', 'A\u030a'],
  ['ŻÓŁW', 'żółw'],
  ['ＡＢＣ', 'abc'],
])('%s and %s are one text to a search', (a, b) => {
  expect(fold(a)).toBe(fold(b))
})

it.each(['a', 'Straße', 'İstanbul', 'ΟΔΟΣ', '🐢', 'ǅ'])(
  '%s folded again stays as it is',
  (text) => {
    expect(fold(fold(text))).toBe(fold(text))
  },
)
