import { SEPTETS } from './gsm7.ts'
import { plainForm } from './gsm7-rewrite.ts'
import { countSegments, encodingOf } from './segments.ts'

/** A character that GSM-7 does not have, and where it stands. */
export interface NonGsmCharacter {
  /** One code point; a lone surrogate is given as it is. */
  char: string
  /** The offset of its first UTF-16 code unit. */
  index: number
}

/** A text that GSM-7 can carry, and what it costs. */
export interface Gsm7Suggestion {
  text: string
  segments: number
}

/**
 * Every character that keeps `text` out of GSM-7, in order, each time it occurs. Empty exactly when the encoding is GSM-7.
 *
 * @example nonGsmCharacters('a’b') // [{ char: '’', index: 1 }]
 */
export function nonGsmCharacters(text: string): NonGsmCharacter[] {
  const found: NonGsmCharacter[] = []
  let index = 0
  for (const char of text) {
    // Neither half of a pair is in GSM-7, so the first unit decides for the whole character.
    if (SEPTETS[char.charCodeAt(0)] === 0) found.push({ char, index })
    index += char.length
  }
  return found
}

/**
 * A rewrite of `text` that says the same in GSM-7, or null when it is GSM-7 already, when a character has no plain form,
 * or when nothing would be left. It is only offered, never applied: "…" becomes three characters, so a rewrite may be
 * longer and, rarely, cost more; compare `segments`.
 *
 * @example gsm7Suggestion('“Hello” — it’s 5…') // { text: '"Hello" - it\'s 5...', segments: 1 }
 */
export function gsm7Suggestion(text: string): Gsm7Suggestion | null {
  if (encodingOf(text) === 'GSM-7') return null
  const plain = plainForm(text)
  if (plain === '' || encodingOf(plain) === 'UCS-2') return null
  return { text: plain, segments: countSegments(plain) }
}
