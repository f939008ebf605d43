import { HEADER_OCTETS, MalformedPdu, type Pdu } from './pdu.ts'

/** More than any PDU of SMPP 3.4 needs: message_payload has at most 64 K octets, and no SMSC sends such ones. */
const PDU_MAX = 65_536

const NOTHING = Buffer.alloc(0)

/**
 * Cuts a stream into PDUs by their command_length. Keeps at most one PDU that is not whole.
 * @throws MalformedPdu for a length that no PDU has: nothing after it can be told apart.
 */
export function createFramer(): (chunk: Buffer) => Pdu[] {
  let rest: Buffer = NOTHING
  return (chunk) => {
    const octets = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const pdus: Pdu[] = []
    let at = 0
    while (octets.length - at >= 4) {
      const length = octets.readUInt32BE(at)
      if (length < HEADER_OCTETS || length > PDU_MAX) throw new MalformedPdu('the length is wrong')
      if (octets.length - at < length) break
      pdus.push(pduOf(octets.subarray(at, at + length)))
      at += length
    }
    rest = octets.subarray(at)
    return pdus
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
