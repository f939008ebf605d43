import type { Pdu } from 'smpp'
import { STATUS } from './smsc-status.ts'
import { type Alphabet, octetsMax, textOf } from './smsc-text.ts'

/** The place of a short message in a long text, and how it is marked. */
export interface Part {
  by: 'udh8' | 'udh16' | 'sar'
  reference: number
  total: number
  number: number
}

/** A submit_sm as it was on the wire. */
export interface Submission {
  system_id: string
  sequence: number
  service_type: string
  source: string
  source_ton: number
  source_npi: number
  dest: string
  dest_ton: number
  dest_npi: number
  esm_class: number
  data_coding: number
  registered_delivery: number
  validity_period: string
  /** short_message or message_payload, with its header. */
  octets: Buffer
  /** Whether it was message_payload: then the SMSC cuts the text. */
  is_payload: boolean
  /** The user data header with its length octet. */
  udh: Buffer | null
  part: Part | null
  /** The text that a phone shows of this part; null if it is not a text. */
  text: string | null
}

const NUMBER = /^\d{3,20}$/
const ALPHANUMERIC = /^[\x20-\x7e]{1,11}$/

/** Reads a submit_sm as an SMSC does, or returns the command_status of the refusal. */
export function readSubmission(
  pdu: Pdu,
  system_id: string,
  alphabet: Alphabet,
): Submission | number {
  const short = pdu.short_message as Buffer
  const payload = pdu.message_payload as Buffer | undefined
  if (payload && short.length > 0) return STATUS.invalid_message_length
  const octets = payload ?? short
  if (octets.length === 0 || short.length > 254) return STATUS.invalid_message_length
  const { esm_class, data_coding } = pdu as unknown as { esm_class: number; data_coding: number }
  const hasHeader = (esm_class & 0x40) !== 0
  const udh = hasHeader ? octets.subarray(0, (octets[0] as number) + 1) : null
  if (udh && !isHeader(udh, octets.length)) return STATUS.invalid_esm_class
  const body = octets.subarray(udh?.length ?? 0)
  if (!payload && body.length > octetsMax(data_coding, udh?.length ?? 0)) {
    return STATUS.invalid_message_length
  }
  if (data_coding === 8 && body.length % 2 === 1) return STATUS.invalid_message_length
  const ends = addresses(pdu)
  if (typeof ends === 'number') return ends
  return {
    system_id,
    sequence: pdu.sequence_number,
    service_type: String(pdu.service_type),
    ...ends,
    esm_class,
    data_coding,
    registered_delivery: Number(pdu.registered_delivery),
    validity_period: String(pdu.validity_period),
    octets,
    is_payload: payload !== undefined,
    udh,
    part: (udh && partOfHeader(udh)) ?? partOfTlvs(pdu),
    text: textOf(body, data_coding, alphabet),
  }
}

function addresses(pdu: Pdu) {
  const source_ton = Number(pdu.source_addr_ton)
  const dest_ton = Number(pdu.dest_addr_ton)
  const source = String(pdu.source_addr)
  const dest = String(pdu.destination_addr)
  if (!(source_ton === 5 ? ALPHANUMERIC : NUMBER).test(source)) return STATUS.invalid_source
  if (!NUMBER.test(dest)) return STATUS.invalid_destination
  const source_npi = Number(pdu.source_addr_npi)
  const dest_npi = Number(pdu.dest_addr_npi)
  return { source, source_ton, source_npi, dest, dest_ton, dest_npi }
}

/** The elements must fill the header exactly (3GPP TS 23.040 clause 9.2.3.24). */
function isHeader(udh: Buffer, octets: number): boolean {
  if (udh.length > octets || udh.length !== (udh[0] as number) + 1) return false
  let at = 1
  while (at + 1 < udh.length) at += 2 + (udh[at + 1] as number)
  return at === udh.length
}

function partOfHeader(udh: Buffer): Part | null {
  for (let at = 1; at < udh.length; at += 2 + (udh[at + 1] as number)) {
    const [element, length] = [udh[at], udh[at + 1]]
    if (element === 0x00 && length === 3) {
      const [reference, total, number] = udh.subarray(at + 2) as unknown as number[]
      return valid({ by: 'udh8', reference, total, number })
    }
    if (element === 0x08 && length === 4) {
      const [total, number] = udh.subarray(at + 4) as unknown as number[]
      return valid({ by: 'udh16', reference: udh.readUInt16BE(at + 2), total, number })
    }
  }
  return null
}

function partOfTlvs(pdu: Pdu): Part | null {
  const { sar_msg_ref_num: reference, sar_total_segments: total, sar_segment_seqnum: number } = pdu
  return valid({ by: 'sar', reference, total, number } as Partial<Part> & Pick<Part, 'by'>)
}

/** A number of 0 or beyond the total means that there are no parts (3GPP TS 23.040 clause 9.2.3.24.1). */
function valid({ by, reference, total, number }: { by: Part['by']; [field: string]: unknown }) {
  if (typeof reference !== 'number' || typeof total !== 'number' || typeof number !== 'number') {
    return null
  }
  return number < 1 || number > total ? null : { by, reference, total, number }
}
