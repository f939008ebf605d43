/** SMPP 3.4 section 5.1.2.1: the commands that this client needs. */
export const COMMAND = {
  submit_sm: 0x04,
  deliver_sm: 0x05,
  unbind: 0x06,
  bind_transceiver: 0x09,
  enquire_link: 0x15,
  alert_notification: 0x102,
  data_sm: 0x103,
} as const

/** This bit is set in the command_id of every answer. A command_id of only this bit is generic_nack. */
export const ANSWER = 0x8000_0000
export const GENERIC_NACK = ANSWER
export const SUBMIT_SM_RESP = ANSWER + COMMAND.submit_sm

/** Source: SMPP 3.4 section 5.3.2. */
export const TLV = {
  receipted_message_id: 0x001e,
  sar_reference: 0x020c,
  sar_total: 0x020e,
  sar_number: 0x020f,
  network_error_code: 0x0423,
  message_payload: 0x0424,
  message_state: 0x0427,
} as const

const HEADER_OCTETS = 16

const INTERFACE_VERSION = 0x34
/** The limit for incoming texts, in octets; the shorter limits of SMPP 3.4 are not enforced. */
const STRING_MAX = 256

/** An incoming protocol data unit; `body` follows the header. */
export interface Pdu {
  command: number
  status: number
  sequence: number
  body: Buffer
}

/** A violation of SMPP. The text of the error never contains data of the PDU. */
export class MalformedPdu extends Error {}

/** Larger than any PDU in practice: message_payload may have 64 K octets, but no SMSC sends that many. */
const PDU_MAX = 65_536

/**
 * Cuts a stream into PDUs by their command_length. Keeps at most one incomplete PDU. The caller takes all PDUs of a chunk.
 * @throws MalformedPdu for an impossible length, after the PDUs before it: the following PDUs cannot be found.
 */
export function createFramer(): (chunk: Buffer) => Iterable<Pdu> {
  let rest: Buffer = Buffer.alloc(0)
  return function* (chunk) {
    const octets = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (octets.length - at >= 4) {
      const length = octets.readUInt32BE(at)
      if (length < HEADER_OCTETS || length > PDU_MAX) throw new MalformedPdu('the length is wrong')
      if (octets.length - at < length) break
      yield pduOf(octets.subarray(at, at + length))
      at += length
    }
    rest = octets.subarray(at)
  }
}

function pduOf(octets: Buffer): Pdu {
  return {
    command: octets.readUInt32BE(4),
    status: octets.readUInt32BE(8),
    sequence: octets.readUInt32BE(12),
    body: octets.subarray(HEADER_OCTETS),
  }
}

/** Encodes a PDU. The sequence number is set when the PDU is written. */
export function encodePdu(command: number, status: number, body: Uint8Array): Buffer {
  const pdu = Buffer.allocUnsafe(HEADER_OCTETS + body.length)
  pdu.set(body, putHeader(pdu, command, status))
  return pdu
}

export function setSequence(pdu: Buffer, sequence: number): void {
  pdu.writeUInt32BE(sequence, 12)
}

/** Encodes a bind_transceiver: SMPP 3.4 section 4.1.5. */
export function bindTransceiver(account: {
  system_id: string
  password: string
  system_type: string
}): Buffer {
  const texts = [account.system_id, account.password, account.system_type]
  const body = Buffer.concat([
    ...texts.map(cString),
    // interface_version, then 0 for addr_ton, addr_npi and address_range: all addresses of the account.
    Buffer.from([INTERFACE_VERSION, 0, 0, 0]),
  ])
  return encodePdu(COMMAND.bind_transceiver, 0, body)
}

/** An address with its type of number and numbering plan: SMPP 3.4 sections 5.2.5 to 5.2.9. */
export interface Address {
  ton: number
  npi: number
  digits: string
}

interface Submission {
  service_type: string
  source: Address
  destination: Address
  esm_class: number
  validity_period: string
  registered_delivery: number
  data_coding: number
  /** At most 254 octets. */
  short_message: Uint8Array
  tlvs: readonly Uint8Array[]
}

/** The number of octets in the body of a submit_sm with empty texts, no message and no TLVs. */
const FIXED_OCTETS = 17

/** Encodes a submit_sm (SMPP 3.4 section 4.4.1). Fills one buffer, because this runs for every part of every message. */
export function submitSm(one: Submission): Buffer {
  const { service_type, source, destination, validity_period, short_message, tlvs } = one
  const texts = service_type.length + source.digits.length + destination.digits.length
  let length = HEADER_OCTETS + FIXED_OCTETS + texts + validity_period.length + short_message.length
  for (const each of tlvs) length += each.length
  const pdu = Buffer.allocUnsafe(length)
  let at = putHeader(pdu, COMMAND.submit_sm, 0)
  at = putText(pdu, at, service_type)
  at = putAddress(pdu, at, source)
  at = putAddress(pdu, at, destination)
  pdu[at++] = one.esm_class
  // 0 for protocol_id, priority_flag and schedule_delivery_time: sent at once, with normal priority.
  at = putZeros(pdu, at, 3)
  at = putText(pdu, at, validity_period)
  pdu[at++] = one.registered_delivery
  // replace_if_present_flag
  pdu[at++] = 0
  pdu[at++] = one.data_coding
  // sm_default_msg_id
  pdu[at++] = 0
  pdu[at++] = short_message.length
  pdu.set(short_message, at)
  at += short_message.length
  for (const each of tlvs) {
    pdu.set(each, at)
    at += each.length
  }
  return pdu
}

function putHeader(pdu: Buffer, command: number, status: number): number {
  pdu.writeUInt32BE(pdu.length, 0)
  pdu.writeUInt32BE(command, 4)
  pdu.writeUInt32BE(status, 8)
  return pdu.writeUInt32BE(0, 12)
}

function putText(pdu: Buffer, at: number, text: string): number {
  return putZeros(pdu, at + pdu.write(text, at, 'latin1'), 1)
}

function putAddress(pdu: Buffer, at: number, { ton, npi, digits }: Address): number {
  pdu[at] = ton
  pdu[at + 1] = npi
  return putText(pdu, at + 2, digits)
}

function putZeros(pdu: Buffer, at: number, count: number): number {
  pdu.fill(0, at, at + count)
  return at + count
}

export function tlv(tag: number, value: Uint8Array): Buffer {
  const head = Buffer.allocUnsafe(4)
  head.writeUInt16BE(tag, 0)
  head.writeUInt16BE(value.length, 2)
  return Buffer.concat([head, value])
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'latin1')
}

const NO_OCTETS = Buffer.alloc(0)

export interface Delivery {
  source: Address
  destination: Address
  esm_class: number
  data_coding: number
  /** The short_message or message_payload, including a user data header if there is one. */
  octets: Buffer
  tlvs: ReadonlyMap<number, Buffer>
}

/** Decodes a deliver_sm or a data_sm. @throws MalformedPdu */
export function readDelivery({ command, body }: Pdu): Delivery {
  return command === COMMAND.data_sm ? readDataSm(body) : readDeliverSm(body)
}

/** Source: SMPP 3.4 section 4.7.1. The text is always in message_payload. */
function readDataSm(body: Buffer): Delivery {
  const reader = createReader(body)
  reader.cString()
  const source = readAddress(reader)
  const destination = readAddress(reader)
  const esm_class = reader.octet()
  // registered_delivery
  reader.octet()
  const data_coding = reader.octet()
  const tlvs = reader.tlvs()
  const octets = tlvs.get(TLV.message_payload) ?? NO_OCTETS
  return { source, destination, esm_class, data_coding, octets, tlvs }
}

/** Source: SMPP 3.4 section 4.6.1. */
function readDeliverSm(body: Buffer): Delivery {
  const reader = createReader(body)
  reader.cString()
  const source = readAddress(reader)
  const destination = readAddress(reader)
  const esm_class = reader.octet()
  // protocol_id, priority_flag
  reader.octets(2)
  // schedule_delivery_time, validity_period
  reader.cString()
  reader.cString()
  // registered_delivery, replace_if_present_flag
  reader.octets(2)
  const data_coding = reader.octet()
  // sm_default_msg_id
  reader.octet()
  const short_message = reader.octets(reader.octet())
  const tlvs = reader.tlvs()
  const octets = tlvs.get(TLV.message_payload) ?? short_message
  return { source, destination, esm_class, data_coding, octets, tlvs }
}

/** Reads the id in the body of a submit_sm_resp; '' if there is none. The NUL at its end may be missing. */
export function readMessageId(body: Buffer): string {
  const end = body.indexOf(0)
  return body.toString('latin1', 0, Math.min(end < 0 ? body.length : end, STRING_MAX))
}

function readAddress(reader: Reader): Address {
  return { ton: reader.octet(), npi: reader.octet(), digits: reader.cString() }
}

type Reader = ReturnType<typeof createReader>

function createReader(body: Buffer) {
  let at = 0
  function octets(count: number): Buffer {
    if (at + count > body.length) throw new MalformedPdu('a field exceeds the PDU')
    at += count
    return body.subarray(at - count, at)
  }
  return {
    octets,
    octet: () => octets(1)[0] as number,
    cString(): string {
      const end = body.indexOf(0, at)
      if (end < 0 || end - at > STRING_MAX) throw new MalformedPdu('a text does not end')
      return octets(end + 1 - at)
        .toString('latin1')
        .slice(0, -1)
    },
    /** Stops at octets that are not a TLV, because some SMSCs add padding. Of a repeated tag, the first TLV counts. */
    tlvs(): Map<number, Buffer> {
      const found = new Map<number, Buffer>()
      while (at + 4 <= body.length) {
        const tag = body.readUInt16BE(at)
        const length = body.readUInt16BE(at + 2)
        if (at + 4 + length > body.length) break
        at += 4
        const value = octets(length)
        if (!found.has(tag)) found.set(tag, value)
      }
      return found
    },
  }
}
