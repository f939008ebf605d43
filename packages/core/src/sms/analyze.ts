import { SEPTETS } from './gsm7.ts'
import { countSegments, encodingOf } from './segments.ts'

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
