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
