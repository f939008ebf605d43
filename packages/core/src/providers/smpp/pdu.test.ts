import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bindTransceiver,
  COMMAND,
  createFramer,
  encodePdu,
  MalformedPdu,
  readDelivery,
  readMessageId,
  setSequence,
  TLV,
  tlv,
} from './pdu.ts'

const ADDRESS = [1, 1, ...Buffer.from('447700900123\0')]

function deliverSm(short_message: Buffer, tlvs: Buffer[] = []): Buffer {
  const middle = [0x40, 0, 0, 0, 0, 0, 0, 8, 0, short_message.length]
  return Buffer.concat([
    Buffer.from([0, ...ADDRESS, 3, 0, ...Buffer.from('12345\0'), ...middle]),
    short_message,
    ...tlvs,
  ])
}

const read = (command: number) => (body: Buffer) =>
  readDelivery({ command, status: 0, sequence: 1, body })
const readDeliverSm = read(COMMAND.deliver_sm)
const readDataSm = read(COMMAND.data_sm)

test('bindTransceiver encodes account and version: SMPP 3.4 section 4.1.5', () => {
  const account = { system_id: 'svc', password: 'pw', system_type: 'OTA' }
  expect(bindTransceiver(account).toString('latin1')).toBe(
    '\0\0\0\x1f\0\0\0\x09\0\0\0\0\0\0\0\0svc\0pw\0OTA\0\x34\0\0\0',
  )
})

describe('a deliver_sm', () => {
  test('is read field by field', () => {
    expect(readDeliverSm(deliverSm(Buffer.from('hi'), [tlv(0x1234, Buffer.from([7]))]))).toEqual({
      source: { ton: 1, npi: 1, digits: '447700900123' },
      destination: { ton: 3, npi: 0, digits: '12345' },
      esm_class: 0x40,
      data_coding: 8,
      octets: Buffer.from('hi'),
      tlvs: new Map([[0x1234, Buffer.from([7])]]),
    })
  })

  test('has the octets of message_payload if there is one', () => {
    const payload = Buffer.alloc(1000, 'x')
    const body = deliverSm(Buffer.alloc(0), [tlv(TLV.message_payload, payload)])
    expect(readDeliverSm(body).octets).toEqual(payload)
  })

  test('may have invalid octets after its fields', () => {
    const whole = deliverSm(Buffer.from('hi'), [tlv(TLV.message_state, Buffer.from([2]))])
    for (const padding of ['\0', '\0\0\0', '\x04\x24\xff\xffabc']) {
      const { octets, tlvs } = readDeliverSm(Buffer.concat([whole, Buffer.from(padding, 'latin1')]))
      expect(octets.toString()).toBe('hi')
      expect([...tlvs.keys()]).toEqual([TLV.message_state])
    }
  })

  test('is malformed if it is cut anywhere', () => {
    const whole = deliverSm(Buffer.from('hi'))
    for (let length = 0; length < whole.length; length++) {
      expect(() => readDeliverSm(whole.subarray(0, length))).toThrow(MalformedPdu)
    }
  })

  test('of any octets is read or malformed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
        try {
          readDeliverSm(Buffer.from(octets))
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedPdu)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a data_sm', () => {
  const ends = Buffer.from([0, ...ADDRESS, 3, 0, ...Buffer.from('12345\0')])
  const fixed = Buffer.concat([ends, Buffer.from([0x40, 0, 8])])

  test('is read field by field', () => {
    const payload = Buffer.from('hi')
    expect(readDataSm(Buffer.concat([fixed, tlv(TLV.message_payload, payload)]))).toEqual({
      source: { ton: 1, npi: 1, digits: '447700900123' },
      destination: { ton: 3, npi: 0, digits: '12345' },
      esm_class: 0x40,
      data_coding: 8,
      octets: payload,
      tlvs: new Map([[TLV.message_payload, payload]]),
    })
  })

  test('is malformed if it is cut anywhere', () => {
    for (let length = 0; length < fixed.length; length++) {
      expect(() => readDataSm(fixed.subarray(0, length))).toThrow(MalformedPdu)
    }
  })

  test('of any octets is read or malformed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
        try {
          readDataSm(Buffer.from(octets))
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedPdu)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

test.each([
  ['', ''],
  ['\0', ''],
  ['abc\0', 'abc'],
  ['abc', 'abc'],
  ['abc\0def', 'abc'],
  ['x'.repeat(1000), 'x'.repeat(256)],
])('readMessageId reads %j as %j', (body, id) => {
  expect(readMessageId(Buffer.from(body))).toBe(id)
})

const bodies = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 })

function streamOf(all: Uint8Array[]): Buffer {
  return Buffer.concat(
    all.map((body, i) => {
      const pdu = encodePdu(0x8000_0004, 0xffff_ffff, body)
      setSequence(pdu, i + 1)
      return pdu
    }),
  )
}

describe('createFramer', () => {
  test('returns every PDU once and in order, wherever the stream is cut', () => {
    fc.assert(
      fc.property(bodies, fc.array(fc.nat(50)), (all, cuts) => {
        const stream = streamOf(all)
        const framesOf = createFramer()
        const pdus = []
        let at = 0
        for (const length of [...cuts, stream.length]) {
          pdus.push(...framesOf(stream.subarray(at, at + length)))
          at += length
        }
        expect(pdus).toEqual(
          all.map((body, i) => ({
            command: 0x8000_0004,
            status: 0xffff_ffff,
            sequence: i + 1,
            body: Buffer.from(body),
          })),
        )
      }),
    )
  })

  test.each([0, 15, 65_537, 0xffff_ffff])('refuses a length of %i', (length) => {
    const octets = Buffer.alloc(20)
    octets.writeUInt32BE(length, 0)
    expect(() => [...createFramer()(octets)]).toThrow(MalformedPdu)
  })

  test('returns the PDUs before a wrong length', () => {
    const got: number[] = []
    expect(() => {
      const octets = Buffer.concat([streamOf([Buffer.alloc(3)]), Buffer.from('HTTP/1.1 400')])
      for (const { sequence } of createFramer()(octets)) got.push(sequence)
    }).toThrow(MalformedPdu)
    expect(got).toEqual([1])
  })

  test.each([16, 65_536])('accepts a length of %i', (length) => {
    const octets = Buffer.alloc(length)
    octets.writeUInt32BE(length, 0)
    const framesOf = createFramer()
    expect([...framesOf(octets.subarray(0, length - 1))]).toEqual([])
    expect([...framesOf(octets.subarray(length - 1))]).toMatchObject([
      { body: { length: length - 16 } },
    ])
  })
})
