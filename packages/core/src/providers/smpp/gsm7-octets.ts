import { GSM7_BASIC, GSM7_EXTENSION, SEPTETS } from '../../sms/gsm7.ts'

const ESCAPE = 0x1b

/** UTF-16 code unit to its code in the basic table, or in the extension table where it costs two septets. */
const CODES = codeTable()
const EXTENSION_OF = new Map([...GSM7_EXTENSION].map(([character, code]) => [code, character]))

function codeTable(): Uint8Array {
  const table = new Uint8Array(0x10000)
  for (let code = 0; code < GSM7_BASIC.length; code++) table[GSM7_BASIC.charCodeAt(code)] = code
  for (const [character, code] of GSM7_EXTENSION) table[character.charCodeAt(0)] = code
  return table
}

/**
 * The septets of a text in the GSM 7 bit default alphabet, one an octet, as SMSCs take them (3GPP TS 23.038 clause 6.2.1; the
 * network packs them). The text must be GSM-7.
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

/**
 * The text of septets that stand one an octet. What the extension table lacks is shown as in the basic table, an escape
 * that ends the text or is doubled as a space (3GPP TS 23.038 clause 6.2.1, note 1), and more than seven bits as U+FFFD.
 */
export function decodeGsm7(octets: Uint8Array): string {
  let text = ''
  for (let i = 0; i < octets.length; i++) {
    const code = octets[i] as number
    if (code !== ESCAPE) {
      text += basic(code)
      continue
    }
    const next = octets[i + 1]
    if (next === undefined || next === ESCAPE) text += ' '
    else text += EXTENSION_OF.get(next) ?? basic(next)
    i++
  }
  return text
}

function basic(code: number): string {
  return GSM7_BASIC[code] ?? '\ufffd'
}
