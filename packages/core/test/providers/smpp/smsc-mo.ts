import { cut, encoded, octetsMax } from './smsc-text.ts'

/** A text from a phone to one of the client's numbers. */
export interface Incoming {
  from: string
  to: string
  text: string
  /** How the parts of a long text are marked; default: `udh8`. `payload`: one deliver_sm with the whole text. */
  long?: 'udh8' | 'udh16' | 'sar' | 'payload'
  /** Cuts within surrogate pairs and escape sequences too, as some SMSCs do. */
  cut_anywhere?: boolean
  /** The last part comes first. */
  is_reversed?: boolean
  /** The common reference of the parts, 0 to 255; default: counted. */
  reference?: number
}

/** The octets of a concatenation header, with its length octet. */
const HEADER_OCTETS = { udh8: 6, udh16: 7, sar: 6, payload: 0 }

let references = 0

/** The fields of the deliver_sm PDUs of a text. */
export function incomingParts(incoming: Incoming): Record<string, unknown>[] {
  const { text, long = 'udh8', cut_anywhere = false, is_reversed = false } = incoming
  const whole = encoded(text)
  const base = { ...ends(incoming), esm_class: 0, data_coding: whole.data_coding }
  if (long === 'payload') return [{ ...base, message_payload: whole.octets }]
  if (whole.octets.length <= octetsMax(whole.data_coding, 0)) {
    return [{ ...base, short_message: whole.octets }]
  }
  const octets_max = octetsMax(whole.data_coding, HEADER_OCTETS[long])
  const even = whole.data_coding === 8 ? octets_max - (octets_max % 2) : octets_max
  const parts = cut(whole, { octets_max: even, anywhere: cut_anywhere })
  references = (references + 1) % 256
  const reference = incoming.reference ?? references
  const fields = parts.map((octets, i) => ({
    ...base,
    ...(long === 'sar'
      ? {
          short_message: octets,
          sar_msg_ref_num: reference,
          sar_total_segments: parts.length,
          sar_segment_seqnum: i + 1,
        }
      : {
          esm_class: 0x40,
          short_message: Buffer.concat([header(long, reference, parts.length, i + 1), octets]),
        }),
  }))
  return is_reversed ? fields.reverse() : fields
}

function ends({ from, to }: Incoming) {
  const isShort = /^\d{3,6}$/.test(to)
  return {
    source_addr: from.replace(/^\+/, ''),
    source_addr_ton: 1,
    source_addr_npi: 1,
    destination_addr: to.replace(/^\+/, ''),
    dest_addr_ton: isShort ? 3 : 1,
    dest_addr_npi: isShort ? 0 : 1,
  }
}

/** 3GPP TS 23.040 clauses 9.2.3.24.1 and 9.2.3.24.8. */
function header(by: 'udh8' | 'udh16', reference: number, total: number, number: number): Buffer {
  return Buffer.from(
    by === 'udh8' ? [5, 0, 3, reference, total, number] : [6, 8, 4, 0, reference, total, number],
  )
}
