import { expect, it } from 'vitest'
import { fold } from './change.ts'

it.each([
  ['STRASSE', 'straße'],
  ['ΟΔΟΣ', 'οδος'],
  ['οδοσ', 'οδος'],
  ['Å', 'A\u030a'],
  ['ŻÓŁW', 'żółw'],
  ['ＡＢＣ', 'abc'],
])('%s and %s are the same text for a search', (a, b) => {
  expect(fold(a)).toBe(fold(b))
})

it.each(['a', 'Straße', 'İstanbul', 'ΟΔΟΣ', '🐢', 'ǅ'])(
  'folding %s twice is the same as folding it once',
  (text) => {
    expect(fold(fold(text))).toBe(fold(text))
  },
)
