import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCharacter } from '../../test/any-character.ts'
import { countSegments, encodingOf, segments } from './segments.ts'

interface Vector {
  id: number
  note: string
  text: string
  encoding: string
  units: number
  segments: number
  parts: number[]
}
const file = new URL('../../test/segment-vectors.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] }

describe('the vectors of 3GPP TS 23.038 and 23.040', () => {
  test('are all there', () => {
    expect(vectors.length).toBeGreaterThanOrEqual(283)
  })

  test.each(vectors.map((vector) => [vector.id, vector.note, vector] as const))(
    '%i: %s',
    (_id, _note, { text, encoding, units, segments: count, parts }) => {
      const characters = [...text].length
      expect(segments(text)).toEqual({ encoding, characters, units, segments: count, parts })
      expect(countSegments(text)).toBe(count)
      expect(encodingOf(text)).toBe(encoding)
    },
  )
})

describe('the figures of the price table', () => {
  test.each([
    [0, 1],
    [160, 1],
    [161, 2],
    [306, 2],
    [307, 3],
    [320, 3],
    [459, 3],
    [460, 4],
    [1600, 11],
  ])('%i GSM-7 characters are %i segments', (length, count) => {
    expect(countSegments('a'.repeat(length))).toBe(count)
    expect(segments('a'.repeat(length)).segments).toBe(count)
  })

  test('320 GSM-7 characters fill two segments and start a third', () => {
    expect(segments('a'.repeat(320)).parts).toEqual([153, 153, 14])
  })

  test('no text of 1600 code units takes more than 25 segments', () => {
    expect(countSegments('😀'.repeat(800))).toBe(25)
    expect(countSegments('€'.repeat(1600))).toBe(22)
    expect(countSegments('я'.repeat(1600))).toBe(24)
  })
})

describe('characters', () => {
  test.each([
    ['', 0],
    ['a€', 2],
    ['😀', 1],
    ['e\u0301', 2],
    ['\ud83d', 1],
    ['\ude00\ud83d', 2],
  ])('%j has %i code points; a lone surrogate is one', (text, characters) => {
    expect(segments(text).characters).toBe(characters)
  })
})

// Separate from the tables of the implementation, so that a mistake is not in both.
const BASIC = /^[\n\r !"#$%&'()*+,\-./0-9:;<=>?@A-Z_a-z¡£¤¥§¿ÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùüΓΔΘΛΞΠΣΦΨΩ]$/
const EXTENSION = /^[\f^{}\\[~\]|€]$/

/** The indivisible parts in units: an escape pair, a surrogate pair, any other unit. */
function atomsOf(text: string): { encoding: string; atoms: number[] } {
  const all = text.match(/[\ud800-\udbff][\udc00-\udfff]|[\s\S]/g) ?? []
  if (all.every((atom) => BASIC.test(atom) || EXTENSION.test(atom))) {
    return { encoding: 'GSM-7', atoms: all.map((atom) => (EXTENSION.test(atom) ? 2 : 1)) }
  }
  return { encoding: 'UCS-2', atoms: all.map((atom) => atom.length) }
}

/** The minimum number of segments: dynamic programming over every place where a segment could start. */
function fewestSegments(encoding: string, atoms: number[]): number {
  const [single, concatenated] = encoding === 'GSM-7' ? [160, 153] : [70, 67]
  if (atoms.reduce((sum, units) => sum + units, 0) <= single) return 1
  const fewest = [0]
  for (let end = 1; end <= atoms.length; end++) {
    let best = Number.POSITIVE_INFINITY
    let units = 0
    for (let start = end - 1; start >= 0; start--) {
      units += atoms[start] ?? 0
      if (units > concatenated) break
      best = Math.min(best, (fewest[start] ?? 0) + 1)
    }
    fewest.push(best)
  }
  return fewest[atoms.length] ?? 0
}

/** The end of each of the consecutive `lengths`. */
function sums(lengths: number[]): number[] {
  let end = 0
  return lengths.map((length) => {
    end += length
    return end
  })
}

/** Texts of up to eight runs of one piece: they reach the limits at 67, 70, 153 and 160 more often than noise does. */
function runs(pieces: string[]): fc.Arbitrary<string> {
  const run = fc.tuple(fc.constantFrom(...pieces), fc.nat({ max: 90 }))
  return fc
    .array(run, { maxLength: 8 })
    .map((pairs) => pairs.map(([piece, times]) => piece.repeat(times)).join(''))
}

const gsm = ['a', 'a', 'é', '\n', '\r\n', '€', '[', '€a', 'aa€', '{x}']
const ucs2 = ['a', '€', '中', 'я', '😀', '中😀', '👩‍👧', 'e\u0301']
const broken = ['a', '中', '\ud83d', '\ude00', '\ude00\ud83d', '😀', '\u0000', '\u001b']
const anyText = fc.oneof(
  runs(gsm),
  runs(ucs2),
  runs(broken),
  fc.string({ unit: anyCharacter, maxLength: 400 }),
  fc
    .array(fc.nat({ max: 0xffff }), { maxLength: 400 })
    .map((units) => String.fromCharCode(...units)),
)

describe('any text', () => {
  test('takes the minimum number of segments that keep every pair whole', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { encoding, atoms } = atomsOf(text)
        const result = segments(text)
        expect(result.encoding).toBe(encoding)
        expect(result.characters).toBe(atoms.length)
        expect(result.segments).toBe(fewestSegments(encoding, atoms))
      }),
      { numRuns: 1000 },
    )
  })

  test('has the same number of segments in countSegments and segments', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const result = segments(text)
        expect(countSegments(text)).toBe(result.segments)
        expect(encodingOf(text)).toBe(result.encoding)
      }),
      { numRuns: 3000 },
    )
  })

  test('is divided into parts that add up, fit, and end between pairs', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { encoding, atoms } = atomsOf(text)
        const { parts, units, segments: count } = segments(text)
        expect(parts).toHaveLength(count)
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(units)
        const [single, concatenated] = encoding === 'GSM-7' ? [160, 153] : [70, 67]
        for (const part of parts)
          expect(part).toBeLessThanOrEqual(count === 1 ? single : concatenated)
        const between = new Set([0, ...sums(atoms)])
        for (const end of sums(parts)) expect(between).toContain(end)
      }),
      { numRuns: 1000 },
    )
  })
})
