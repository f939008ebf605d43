import { NATIONAL_TABLES } from '../../sms/national-tables.ts'
import { GSM7_BASIC, GSM7_EXTENSION, SEPTETS } from '../../sms/segments.ts'

/** The meaning of data_coding 0 at an SMSC: SMPP 3.4 section 5.2.19 leaves it to an agreement. */
export type Alphabet = 'gsm' | 'latin1' | 'ascii'

export const DEFAULT_CODING = 0
export const UCS2_CODING = 8

const BEYOND: Record<Exclude<Alphabet, 'gsm'>, RegExp> = {
  latin1: /[^\0-\xff]/,
  ascii: /[^\0-\x7f]/,
}

/** Whether the SMSC's alphabet contains every character of a GSM-7 text. */
export function isWithin(alphabet: Alphabet, text: string): boolean {
  return alphabet === 'gsm' || !BEYOND[alphabet].test(text)
}

/** A GSM-7 text in the SMSC's alphabet: one octet for each character, or two for an escaped GSM character. */
export function encodeDefault(alphabet: Alphabet, text: string): Buffer {
  return alphabet === 'gsm' ? encodeGsm7(text) : Buffer.from(text, 'latin1')
}

/** Encodes a text as UTF-16BE. A lone surrogate stays unchanged. */
export function encodeUcs2(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

/** Decodes UTF-16BE. Ignores an odd octet at the end. */
export function decodeUcs2(octets: Uint8Array): string {
  const whole = Buffer.from(octets.subarray(0, octets.length & ~1))
  return whole.swap16().toString('utf16le')
}

/** The national languages of a text, by their identifiers; 0 is no language. */
export interface Languages {
  locking: number
  single: number
}

/**
 * Decodes octets by their data_coding; null if the data_coding does not mean a text. The languages apply to the GSM
 * alphabet alone.
 */
export function decodeText(
  octets: Buffer,
  coding: number,
  alphabet: Alphabet,
  languages?: Languages,
): string | null {
  const kind = kindOf(coding, alphabet)
  switch (kind) {
    case null:
      return null
    case 'gsm':
      return decodeGsm7(octets, languages)
    case 'ucs2':
      return decodeUcs2(octets)
    case 'ascii':
      return octets.toString('latin1').replace(/[\x80-\xff]/g, '\ufffd')
    case 'latin1':
      return octets.toString('latin1')
    default:
      return new TextDecoder(kind).decode(octets)
  }
}

type Kind = Alphabet | 'ucs2' | 'iso-8859-5' | 'iso-8859-8'

/** Source: SMPP 3.4 section 5.2.19. */
const KINDS: ReadonlyMap<number, Kind> = new Map([
  [1, 'ascii'],
  [3, 'latin1'],
  [6, 'iso-8859-5'],
  [7, 'iso-8859-8'],
  [UCS2_CODING, 'ucs2'],
])

/** The values below 16 have the meanings of SMPP; the others are coding groups of 3GPP TS 23.038 clause 4. */
function kindOf(coding: number, alphabet: Alphabet): Kind | null {
  if (coding === DEFAULT_CODING) return alphabet
  if (coding < 0x10) return KINDS.get(coding) ?? null
  switch (coding >> 4) {
    // General coding with a message class, and messages marked for deletion: bits 3 and 2 give the alphabet.
    case 0x1:
    case 0x4:
    case 0x5:
      return ([alphabet, null, 'ucs2', alphabet] as const)[(coding >> 2) & 3] ?? null
    // The same, compressed.
    case 0x2:
    case 0x3:
    case 0x6:
    case 0x7:
      return null
    // Message waiting, to be stored, in UCS2. In the groups 1100 and 1101 it is in the default alphabet.
    case 0xe:
      return 'ucs2'
    // Message class: bit 2 means data.
    case 0xf:
      return coding & 4 ? null : alphabet
    // A receiver reads reserved codings, also above, in the default alphabet.
    default:
      return alphabet
  }
}

const ESCAPE = 0x1b

/** The code of each UTF-16 code unit: from the basic table, or from the extension table if it needs two septets. */
const CODES = codeTable()

function codeTable(): Uint8Array {
  const table = new Uint8Array(0x10000)
  for (let code = 0; code < GSM7_BASIC.length; code++) table[GSM7_BASIC.charCodeAt(code)] = code
  for (const [character, code] of GSM7_EXTENSION) table[character.charCodeAt(0)] = code
  return table
}

/**
 * Encodes a GSM-7 text in the GSM 7 bit default alphabet. Each octet holds one septet, as SMSCs expect; the network
 * packs the septets (3GPP TS 23.038 clause 6.2.1).
 */
export function encodeGsm7(text: string): Buffer {
  const octets = Buffer.allocUnsafe(2 * text.length)
  let end = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (SEPTETS[unit] === 2) octets[end++] = ESCAPE
    octets[end++] = CODES[unit] as number
  }
  return octets.subarray(0, end)
}

const NO_LANGUAGES: Languages = { locking: 0, single: 0 }
const UNREADABLE = '\ufffd'
/** In every language, these codes are control characters (3GPP TS 23.038 annex A). */
const LINE_ENDS: ReadonlyMap<number, string> = new Map([
  [0x0a, '\n'],
  [0x0d, '\r'],
])

/**
 * Decodes octets that hold one septet each. A code that the extension table lacks is read from the basic table. A
 * doubled or final escape becomes a space (3GPP TS 23.038 clause 6.2.1, note 1). An octet above 0x7f, a code without a
 * character, and every character that an unknown language may have changed become U+FFFD.
 */
export function decodeGsm7(octets: Uint8Array, { locking, single } = NO_LANGUAGES): string {
  const basic = NATIONAL_TABLES.get(locking)?.locking ?? LINE_ENDS
  const extension = NATIONAL_TABLES.get(single)?.single
  let text = ''
  for (let i = 0; i < octets.length; i++) {
    const code = octets[i] as number
    if (code !== ESCAPE) {
      text += basic.get(code) ?? UNREADABLE
      continue
    }
    const next = octets[i + 1]
    if (next === undefined || next === ESCAPE) text += ' '
    else text += extension ? (extension.get(next) ?? basic.get(next) ?? UNREADABLE) : UNREADABLE
    i++
  }
  return text
}
