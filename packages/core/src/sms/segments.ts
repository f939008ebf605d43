import { SEPTETS } from './gsm7.ts'

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
