import { decodeGsm7, encodeGsm7 } from './gsm7-octets.ts'

/** What data_coding 0 means to an SMSC: SMPP 3.4 section 5.2.19 leaves it to an agreement. */
export type Alphabet = 'gsm' | 'latin1' | 'ascii'

export const DEFAULT_CODING = 0
export const UCS2_CODING = 8

const BEYOND: Record<Exclude<Alphabet, 'gsm'>, RegExp> = {
  latin1: /[^\0-\xff]/,
  ascii: /[^\0-\x7f]/,
}

/** Whether the SMSC's alphabet has every character of a GSM-7 text. */
export function isWithin(alphabet: Alphabet, text: string): boolean {
  return alphabet === 'gsm' || !BEYOND[alphabet].test(text)
}

/** A GSM-7 text in the SMSC's alphabet, one character an octet but for the escapes of GSM. */
export function encodeDefault(alphabet: Alphabet, text: string): Buffer {
  return alphabet === 'gsm' ? encodeGsm7(text) : Buffer.from(text, 'latin1')
}

/** UTF-16BE; a lone surrogate stays one. */
export function encodeUcs2(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

/** An odd octet at the end is left out. */
export function decodeUcs2(octets: Uint8Array): string {
  const whole = Buffer.from(octets.subarray(0, octets.length & ~1))
  return whole.swap16().toString('utf16le')
}

/** The text of octets by their data_coding, null where that says that it is none. */
export function decodeText(octets: Buffer, coding: number, alphabet: Alphabet): string | null {
  const kind = kindOf(coding, alphabet)
  switch (kind) {
    case null:
      return null
    case 'gsm':
      return decodeGsm7(octets)
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

/** SMPP 3.4 section 5.2.19. */
const KINDS: ReadonlyMap<number, Kind> = new Map([
  [1, 'ascii'],
  [3, 'latin1'],
  [6, 'iso-8859-5'],
  [7, 'iso-8859-8'],
  [UCS2_CODING, 'ucs2'],
])

function kindOf(coding: number, alphabet: Alphabet): Kind | null {
  if (coding === DEFAULT_CODING) return alphabet
  // With a message class: 3GPP TS 23.038 clause 4, bits 3 and 2, or bit 2 in the group 1111.
  if (coding >> 4 === 1) return ([alphabet, null, 'ucs2', null] as const)[(coding >> 2) & 3] ?? null
  if (coding >> 4 === 15) return coding & 4 ? null : alphabet
  return KINDS.get(coding) ?? null
}
