/** `GSM-7`: septets (3GPP TS 23.038). `UCS-2`: UTF-16 code units. One character outside GSM-7 makes the whole text UCS-2. */
export type Encoding = 'GSM-7' | 'UCS-2'

/** The segments of a text. */
export interface Segmentation {
  encoding: Encoding
  /** Unicode code points; a lone surrogate counts as one. */
  characters: number
  /** Septets in GSM-7 (an extension character is two), UTF-16 code units in UCS-2. */
  units: number
  /** The number of segments that are sent and charged; 1 for the empty text. */
  segments: number
  /** The units of each segment, in order; their sum is `units`. */
  parts: number[]
}

/**
 * The maximum units of a single segment, and of a segment of a longer text. A segment has 140 octets. In a longer text, the
 * concatenation header with an 8-bit reference takes 6 octets of each segment (3GPP TS 23.040, 9.2.3.24.1).
 */
export const SEGMENT_UNITS = {
  'GSM-7': { single: 160, concatenated: 153 },
  'UCS-2': { single: 70, concatenated: 67 },
} as const

const GSM7 = SEGMENT_UNITS['GSM-7']
const UCS2 = SEGMENT_UNITS['UCS-2']

/** Returns GSM-7 if GSM-7 has every character of `text`, otherwise UCS-2. Never throws. */
export function encodingOf(text: string): Encoding {
  for (let i = 0; i < text.length; i++) {
    if (SEPTETS[text.charCodeAt(i)] === 0) return 'UCS-2'
  }
  return 'GSM-7'
}

/**
 * Divides `text` into segments (3GPP TS 23.040). Each segment is filled; an escape pair or a surrogate pair is never divided,
 * a grapheme cluster may be. Never throws: a lone surrogate is one unit, U+0000 is UCS-2.
 *
 * @example segments('a'.repeat(320)).parts // [153, 153, 14]
 */
export function segments(text: string): Segmentation {
  const encoding = encodingOf(text)
  const { single, concatenated } = SEGMENT_UNITS[encoding]
  const parts: number[] = []
  let characters = 0
  let units = 0
  let filled = 0
  for (const character of text) {
    const cost = encoding === 'GSM-7' ? septetsOf(character) : character.length
    if (filled + cost > concatenated) {
      parts.push(filled)
      filled = 0
    }
    filled += cost
    units += cost
    characters++
  }
  parts.push(filled)
  if (units <= single) return { encoding, characters, units, segments: 1, parts: [units] }
  return { encoding, characters, units, segments: parts.length, parts }
}

/**
 * The number of segments, on which prices depend: the same as `segments(text).segments`, without allocation.
 *
 * @example countSegments('a'.repeat(161)) // 2
 */
export function countSegments(text: string): number {
  let count = 1
  let filled = 0
  let units = 0
  for (let i = 0; i < text.length; i++) {
    const septets = SEPTETS[text.charCodeAt(i)] as number
    if (septets === 0) return countUcs2Segments(text)
    filled += septets
    if (filled > GSM7.concatenated) {
      count++
      filled = septets
    }
    units += septets
  }
  return units <= GSM7.single ? 1 : count
}

/** Reads only the places where a segment would end: the time grows with the number of segments, not with the length. */
function countUcs2Segments(text: string): number {
  if (text.length <= UCS2.single) return 1
  let count = 1
  let end: number = UCS2.concatenated
  while (end < text.length) {
    count++
    if (cutsPair(text, end)) end--
    end += UCS2.concatenated
  }
  return count
}

function cutsPair(text: string, at: number): boolean {
  const isHigh = (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
  return isHigh && (text.charCodeAt(at) & 0xfc00) === 0xdc00
}

function septetsOf(character: string): number {
  return SEPTETS[character.charCodeAt(0)] as number
}

/**
 * The GSM 7 bit default alphabet (3GPP TS 23.038, 6.2.1): the position of a character is its code. Code 0x1B is the
 * escape to the extension table, not a character of a text.
 */
export const GSM7_BASIC: string =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ' +
  ' !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§' +
  '¿abcdefghijklmnopqrstuvwxyzäöñüà'

/** The extension table (3GPP TS 23.038, 6.2.1.1): for each character, the code after the escape. */
export const GSM7_EXTENSION: ReadonlyMap<string, number> = new Map([
  ['\f', 0x0a],
  ['^', 0x14],
  ['{', 0x28],
  ['}', 0x29],
  ['\\', 0x2f],
  ['[', 0x3c],
  ['~', 0x3d],
  [']', 0x3e],
  ['|', 0x40],
  ['€', 0x65],
])

const ESCAPE = '\u001b'

/**
 * The septets of each UTF-16 code unit: 1 in the basic table, 2 in the extension table, 0 if it is not in GSM-7. Read only.
 * The escape has the value 0, because it would change the character after it.
 */
export const SEPTETS: Uint8Array = septetTable()

function septetTable(): Uint8Array {
  const table = new Uint8Array(0x10000)
  for (const character of GSM7_BASIC) table[character.charCodeAt(0)] = 1
  for (const character of GSM7_EXTENSION.keys()) table[character.charCodeAt(0)] = 2
  table[ESCAPE.charCodeAt(0)] = 0
  return table
}

/** A character that GSM-7 does not have, and its position. */
export interface NonGsmCharacter {
  /** One code point, or a lone surrogate. */
  char: string
  /** The offset of its first UTF-16 code unit. */
  index: number
}

/** A text in GSM-7, and its number of segments. */
export interface Gsm7Suggestion {
  text: string
  segments: number
}

/**
 * Every occurrence of a character that is not in GSM-7, in order. Empty exactly when the encoding is GSM-7.
 *
 * @example nonGsmCharacters('a’b') // [{ char: '’', index: 1 }]
 */
export function nonGsmCharacters(text: string): NonGsmCharacter[] {
  const found: NonGsmCharacter[] = []
  let index = 0
  for (const char of text) {
    // GSM-7 has no surrogates, so the first unit decides for the whole character.
    if (SEPTETS[char.charCodeAt(0)] === 0) found.push({ char, index })
    index += char.length
  }
  return found
}

/**
 * `text` with the same meaning in GSM-7; null if it is GSM-7 already, if a character has no plain form, or if the result is
 * empty. The service never applies the suggestion. "…" becomes three characters, so a suggestion may be longer and, rarely,
 * cost more: compare `segments`.
 *
 * @example gsm7Suggestion('“Hello” — it’s 5…') // { text: '"Hello" - it\'s 5...', segments: 1 }
 */
export function gsm7Suggestion(text: string): Gsm7Suggestion | null {
  if (encodingOf(text) === 'GSM-7') return null
  const plain = plainForm(text)
  if (plain === '' || encodingOf(plain) === 'UCS-2') return null
  return { text: plain, segments: countSegments(plain) }
}

/** Each replacement and the characters that it replaces without a change of meaning. */
const REPLACEMENTS: readonly (readonly [replacement: string, characters: string])[] = [
  ["'", '`´‘’‚‛′‵‹›ʹʻʼʽˈ❛❜'],
  ['"', '“”„‟″‶«»ʺˮ❝❞〝〞〟'],
  ['-', '‐\u2011‒–—―−﹘﹣'],
  // The replacement is no hyphen ("•5" would become minus five) and no full stop ("5·6" would become a decimal number).
  ['*', '•‣◦∙⁃●▪·⋅∗⁎'],
  ['...', '⋯'],
  ['/', '⁄∕'],
  ['\\', '∖'],
  [':', '∶'],
  ['|', '¦'],
  ['^', 'ˆ'],
  ['~', '˜∼〜'],
  ['x', '×'],
  ['+/-', '±'],
  ['<=', '≤'],
  ['>=', '≥'],
  ['->', '→'],
  ['<-', '←'],
  ['=>', '⇒'],
  ['(C)', '©'],
  ['(R)', '®'],
  ['(TM)', '™'],
  ['No.', '№'],
  ['oe', 'œ'],
  ['OE', 'Œ'],
  ['SS', 'ẞ'],
  // Tab, no-break space, figure space and all other spaces.
  [' ', '\t\u00a0\u1680'],
  [' ', '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000'],
  // Vertical tab, next line, line separator, paragraph separator.
  ['\n', '\u000b\u0085\u2028\u2029'],
  // Soft hyphen, joiners, zero-width spaces, byte order mark, variation selectors.
  ['', '\u00ad\u034f\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\ufe0e\ufe0f'],
  // Direction marks: they have no effect in a GSM-7 text.
  ['', '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'],
]

const REPLACEMENT_OF: ReadonlyMap<string, string> = new Map(
  REPLACEMENTS.flatMap(([replacement, characters]) =>
    [...characters].map((character) => [character, replacement] as const),
  ),
)

/**
 * Characters whose compatibility form (NFKC) has the same meaning: vulgar fractions, Roman numerals, dot leaders, the
 * ellipsis, doubled marks, Latin ligatures, full-width forms, mathematical letters. With all of NFKC, 10² would become 102.
 */
const FOLDED =
  /[\u00bc-\u00be\u2024-\u2026\u203c\u2047-\u2049\u2150-\u217f\ufb00-\ufb06\uff01-\uff5e\uffe0-\uffe6\u{1d400}-\u{1d7ff}]/gu

/** The place where a space is inserted: without the space, 1½ would become 11/2. */
const BESIDE_FRACTION =
  /(?<=[\p{Nd}\u00bc-\u00be\u2150-\u215f])(?=[\u00bc-\u00be\u2150-\u215f])|(?<=[\u00bc-\u00be\u2150-\u215e])(?=\p{Nd})/gu

/**
 * `text` in NFC with typographic characters in their plain form. A character without a plain form stays. Letters keep their
 * accents: without accents a text has another spelling, sometimes another word.
 */
function plainForm(text: string): string {
  const spaced = text.normalize('NFC').replace(BESIDE_FRACTION, ' ')
  const folded = spaced.replace(FOLDED, (character) => character.normalize('NFKC'))
  let plain = ''
  for (const character of folded) plain += REPLACEMENT_OF.get(character) ?? character
  return plain
}
