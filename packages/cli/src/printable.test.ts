import { expect, test } from 'vitest'
import { printable } from './printable.ts'

test.each([
  ['two\nlines\r\tand a tab', 'two\\nlines\\r\\tand a tab'],
  ['\u001b[31mred\u009b', '\\u001b[31mred\\u009b'],
  ['right\u202eleft\u2028', 'right\\u202eleft\\u2028'],
  ['naïve 漢字 👍🏽', 'naïve 漢字 👍🏽'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown)
})
