import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { column, columnRight, cut, printable, textWidth, wrapped } from './text.ts'

test.each([
  ['two\nlines\r\tand a tab', 'two\\nlines\\r\\tand a tab'],
  ['\u001b[31mred\u009b', '\\u001b[31mred\\u009b'],
  ['right\u202eleft\u2028', 'right\\u202eleft\\u2028'],
  ['naïve 漢字 👍🏽', 'naïve 漢字 👍🏽'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown)
})

const TEXTS = [
  '',
  'plain',
  '你好，世界',
  '안녕하세요',
  'ひらがなカタカナ',
  'ﾊﾝｶｸ',
  'ＷＩＤＥ',
  'é e\u0301 ñ',
  '😀👍🏽👨‍👩‍👧🇩🇪',
  'ไทย',
  'العربية',
  '→ … ✓ ● ▁█',
  'a\u200bb',
]

test('measures as string-width does, which ink uses', async () => {
  const path = createRequire(import.meta.resolve('ink')).resolve('string-width')
  const { default: stringWidth } = (await import(pathToFileURL(path).href)) as {
    default: (text: string) => number
  }
  expect(TEXTS.map(textWidth)).toEqual(TEXTS.map((text) => stringWidth(text)))
})

test.each(TEXTS)('%j fills a column exactly, whatever its width', (text) => {
  for (let columns = 0; columns < 20; columns++) {
    expect(textWidth(column(text, columns))).toBe(columns)
    expect(textWidth(columnRight(text, columns))).toBe(columns)
    expect(textWidth(cut(text, columns))).toBeLessThanOrEqual(columns)
  }
})

test('cuts a longer text, and never inside a character', () => {
  expect(cut('abcdef', 4)).toBe('abc…')
  expect(cut('abcd', 4)).toBe('abcd')
  expect(cut('你好世界', 4)).toBe('你…')
  expect(cut('👨‍👩‍👧👨‍👩‍👧', 3)).toBe('👨‍👩‍👧…')
})

test('wraps between words, and inside a word that is too long', () => {
  expect(wrapped('The recipient does not exist', 12)).toEqual([
    'The',
    'recipient',
    'does not',
    'exist',
  ])
  expect(wrapped('abcdefgh ij', 4)).toEqual(['abcd', 'efgh', 'ij'])
  expect(wrapped('你好世界', 5)).toEqual(['你好', '世界'])
  expect(wrapped('', 5)).toEqual([''])
})
