import { SEPTETS, type Segmentation, segments } from '../../sms/segments.ts'

import {
  type Alphabet,
  DEFAULT_CODING,
  encodeDefault,
  encodeUcs2,
  isWithin,
  UCS2_CODING,
} from './charset.ts'
import { TLV, tlv } from './pdu.ts'

/** The fields of a submit_sm that differ between the parts of a text. */
interface MessagePart {
  esm_class: number
  data_coding: number
  short_message: Uint8Array
  tlvs: readonly Uint8Array[]
}

/** `alphabet`: the SMSC's alphabet lacks a character, and in UCS-2 the text would have more parts than are charged. */
type PartsResult = MessagePart[] | 'too_many_parts' | 'alphabet'

export interface PartsOptions {
  alphabet: Alphabet
  long_text: 'udh' | 'sar' | 'payload'
  max_parts: number
  /** Returns the reference (0 to 255) that distinguishes long texts to one recipient. Called at most once. */
  reference: () => number
}

const UDH_INDICATOR = 0x40
const NONE: readonly Uint8Array[] = []
const NO_OCTETS = Buffer.alloc(0)

/**
 * Splits a text into one part for each charged segment. The reference therefore has 8 bits (3GPP TS 23.040 clause
 * 9.2.3.24.1). With `payload`, the SMSC splits the text by its own rules.
 */
export function partsOf(text: string, options: PartsOptions): PartsResult {
  const cut = segments(text)
  if (cut.segments > options.max_parts) return 'too_many_parts'
  const encode = encoderFor(text, cut, options.alphabet)
  if (!encode) return 'alphabet'
  const { coding, octetsOf } = encode
  if (cut.segments === 1) return [wholeOf(coding, octetsOf(text))]
  if (options.long_text === 'payload') {
    const payload = tlv(TLV.message_payload, octetsOf(text))
    return [{ ...wholeOf(coding, NO_OCTETS), tlvs: [payload] }]
  }
  const reference = options.reference()
  const partOf = options.long_text === 'udh' ? partWithHeader : partWithTlvs
  return piecesOf(text, cut).map((piece, i) =>
    partOf(coding, octetsOf(piece), { reference, total: cut.segments, number: i + 1 }),
  )
}

function encoderFor(text: string, { encoding, segments: count }: Segmentation, alphabet: Alphabet) {
  if (encoding === 'GSM-7' && isWithin(alphabet, text)) {
    const octetsOf = (piece: string) => encodeDefault(alphabet, piece)
    return { coding: DEFAULT_CODING, octetsOf }
  }
  if (encoding === 'GSM-7' && !(count === 1 && text.length <= UCS2_SINGLE)) return null
  return { coding: UCS2_CODING, octetsOf: encodeUcs2 }
}

const UCS2_SINGLE = 70

/** The text of each segment, in order. */
function piecesOf(text: string, { encoding, parts }: Segmentation): string[] {
  const pieces: string[] = []
  let begin = 0
  for (const units of parts) {
    let end = begin + units
    if (encoding === 'GSM-7') {
      end = begin
      for (let filled = 0; filled < units; end++) filled += SEPTETS[text.charCodeAt(end)] as number
    }
    pieces.push(text.slice(begin, end))
    begin = end
  }
  return pieces
}

/** The place of a part in its text; `number` counts from 1. */
export interface Place {
  reference: number
  total: number
  number: number
}

function wholeOf(data_coding: number, short_message: Uint8Array): MessagePart {
  return { esm_class: 0, data_coding, short_message, tlvs: NONE }
}

function partWithHeader(data_coding: number, octets: Buffer, place: Place): MessagePart {
  const header = Buffer.from([0x05, 0x00, 0x03, place.reference, place.total, place.number])
  const short_message = Buffer.concat([header, octets])
  return { esm_class: UDH_INDICATOR, data_coding, short_message, tlvs: NONE }
}

/** Source: SMPP 3.4 sections 5.3.2.22 to 5.3.2.24. */
function partWithTlvs(data_coding: number, short_message: Buffer, place: Place): MessagePart {
  const tlvs = [
    tlv(TLV.sar_reference, Buffer.from([0, place.reference])),
    tlv(TLV.sar_total, Buffer.from([place.total])),
    tlv(TLV.sar_number, Buffer.from([place.number])),
  ]
  return { esm_class: 0, data_coding, short_message, tlvs }
}
