import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCharacter } from '../../test/any-character.ts'
import {
  countSegments,
  encodingOf,
  GSM7_BASIC,
  GSM7_EXTENSION,
  gsm7Suggestion,
  nonGsmCharacters,
  segments,
} from './segments.ts'

describe('nonGsmCharacters', () => {
  test.each([
    ['', []],
    ['plain [€] text', []],
    [
      'a’b’',
      [
        { char: '’', index: 1 },
        { char: '’', index: 3 },
      ],
    ],
    [
      '😀a中',
      [
        { char: '😀', index: 0 },
        { char: '中', index: 3 },
      ],
    ],
    ['ç', [{ char: 'ç', index: 0 }]],
    [
      'a\u0000\u001b',
      [
        { char: '\u0000', index: 1 },
        { char: '\u001b', index: 2 },
      ],
    ],
    [
      '\ud83da\ude00',
      [
        { char: '\ud83d', index: 0 },
        { char: '\ude00', index: 2 },
      ],
    ],
  ])('finds those of %j', (text, found) => {
    expect(nonGsmCharacters(text)).toEqual(found)
  })

  test('returns true positions, and none exactly when the text is GSM-7', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const found = nonGsmCharacters(text)
        for (const { char, index } of found) expect(text.startsWith(char, index)).toBe(true)
        expect(found.length === 0).toBe(encodingOf(text) === 'GSM-7')
      }),
    )
  })
})

describe('gsm7Suggestion', () => {
  test.each([
    ['“Hello” — it’s 5…', '"Hello" - it\'s 5...'],
    ['«Oui» ‹non›', '"Oui" \'non\''],
    ['one\u00a0two\u2009three\u3000four\tfive', 'one two three four five'],
    ['a\u2028b\u2029c\u0085d', 'a\nb\nc\nd'],
    ['soft\u00adhy\u200bphen\ufeff', 'softhyphen'],
    ['ＡＢＣ　１２３！｀', "ABC 123!'"],
    ['−5 × 2 ≤ 3', '-5 x 2 <= 3'],
    ['• eggs', '* eggs'],
    ['cafe\u0301', 'café'],
    ['10 \u2126, 3 \u212b', '10 Ω, 3 Å'],
    ['œuvre ﬁne', 'oeuvre fine'],
    ['𝐇𝐢 ™️ №5 Ⅳ', 'Hi (TM) No.5 IV'],
    ['‼ ⁉ ‥', '!! !? ..'],
    ['½ cup', '1/2 cup'],
    ['1½ cups', '1 1/2 cups'],
    ['１½½5', '1 1/2 1/2 5'],
  ])('suggests for %j %j', (text, rewritten) => {
    expect(gsm7Suggestion(text)).toEqual({ text: rewritten, segments: countSegments(rewritten) })
  })

  test.each([
    ['GSM-7 already', 'Grüße [€]'],
    ['empty', ''],
    ['the result is empty', '\u200b\ufeff'],
    ['an emoji', '“Hi” 😀'],
    ['another script', '“Код” 1'],
    ['an accent that GSM-7 lacks', 'façade'],
    ['a superscript that would change the number', '10²'],
    ['a mark that composes with nothing', 'x\u0302'],
    ['a lone surrogate', '“\ud83d”'],
    ['U+0000', 'a\u0000b'],
    ['the escape', '\u001be'],
  ])('returns null: %s', (_reason, text) => {
    expect(gsm7Suggestion(text)).toBeNull()
  })

  test.each([
    ['150 letters and a curly apostrophe', `${'a'.repeat(150)}’`, 3, 1],
    ['159 letters and an ellipsis', `${'a'.repeat(159)}…`, 3, 2],
    ['160 letters and a zero-width space', `${'a'.repeat(160)}\u200b`, 3, 1],
    ['70 ellipses, which cost more in GSM-7', '…'.repeat(70), 1, 2],
  ])('returns the segments: %s', (_title, text, before, after) => {
    expect(countSegments(text)).toBe(before)
    expect(gsm7Suggestion(text)?.segments).toBe(after)
  })

  test('returns another GSM-7 text, not empty, without a further suggestion', () => {
    const typographic = '“”‘’–—…•½¼ⅩﬁＡ～™×\u00a0\u2009\u200b\u2028\ufe0f\u0301e1a [€'
    const piece = fc.oneof(
      fc.constantFrom(...typographic),
      fc.string({ unit: anyCharacter, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join('')
        const suggestion = gsm7Suggestion(text)
        if (suggestion === null) return
        expect(suggestion.text).not.toBe(text)
        expect(segments(suggestion.text)).toMatchObject({
          encoding: 'GSM-7',
          segments: suggestion.segments,
        })
        expect(suggestion.text).not.toBe('')
        expect(gsm7Suggestion(suggestion.text)).toBeNull()
      }),
      { numRuns: 2000 },
    )
  })

  test('never changes a GSM-7 character', () => {
    for (const character of [...GSM7_BASIC.replace('\u001b', ''), ...GSM7_EXTENSION.keys()]) {
      expect(gsm7Suggestion(`${character}’`)?.text).toBe(`${character}'`)
    }
  })

  test('rewrites each character into GSM-7 or not at all', () => {
    let rewritten = 0
    for (let point = 0; point <= 0x1ffff; point++) {
      const suggestion = gsm7Suggestion(String.fromCodePoint(point))
      if (suggestion === null) continue
      rewritten++
      expect(encodingOf(suggestion.text)).toBe('GSM-7')
    }
    expect(rewritten).toBeGreaterThan(300)
  })
})
