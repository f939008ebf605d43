import smpp from './smsc-library.ts'

/** The meaning of data_coding 0: SMPP 3.4 leaves it to the SMSC. */
export type Alphabet = 'gsm' | 'latin1' | 'ascii'

/** The text that a phone shows of one part; null if it is not a text. Half of a surrogate pair becomes U+FFFD. */
export function textOf(octets: Buffer, data_coding: number, alphabet: Alphabet): string | null {
  if (data_coding === 0 && alphabet === 'gsm') return smpp.encodings.ASCII.decode(octets)
  if (data_coding <= 1) return octets.toString(alphabet === 'latin1' ? 'latin1' : 'ascii')
  if (data_coding === 3) return octets.toString('latin1')
  if (data_coding === 8) return smpp.encodings.UCS2.decode(octets).toWellFormed()
  return null
}

/** The most octets of a short message's body: 160 septets, or 140 octets (3GPP TS 23.040). */
export function octetsMax(data_coding: number, udh_octets: number): number {
  if (data_coding > 1) return 140 - udh_octets
  return Math.floor(((140 - udh_octets) * 8) / 7)
}

/** Encodes a text as a phone does: in the GSM alphabet if that has all its characters, else in UCS-2. */
export function encoded(text: string): { data_coding: 0 | 8; octets: Buffer } {
  return smpp.encodings.ASCII.match(text)
    ? { data_coding: 0, octets: smpp.encodings.ASCII.encode(text) }
    : { data_coding: 8, octets: smpp.encodings.UCS2.encode(text) }
}

/** Cuts an encoded text into parts of `octets_max`; with `anywhere` also within a surrogate pair, as some SMSCs do. */
export function cut(
  { data_coding, octets }: { data_coding: 0 | 8; octets: Buffer },
  { octets_max, anywhere = false }: { octets_max: number; anywhere?: boolean },
): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < octets.length; ) {
    let end = Math.min(at + octets_max, octets.length)
    if (end < octets.length && !anywhere) end -= held(data_coding, octets, end)
    parts.push(octets.subarray(at, end))
    at = end
  }
  return parts
}

/** The number of octets before `end` that must stay with the following ones. */
function held(data_coding: 0 | 8, octets: Buffer, end: number): number {
  if (data_coding === 0) return octets[end - 1] === 0x1b ? 1 : 0
  const unit = octets.readUInt16BE(end - 2)
  return unit >= 0xd800 && unit < 0xdc00 ? 2 : 0
}
