import { SEPTETS } from './gsm7.ts'
import { plainForm } from './gsm7-rewrite.ts'
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
