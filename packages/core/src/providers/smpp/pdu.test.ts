import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bindTransceiver, MalformedPdu, readDeliverSm, readMessageId, TLV, tlv } from './pdu.ts'

const ADDRESS = [1, 1, ...Buffer.from('447700900123\0')]

function deliverSm(short_message: Buffer, tlvs: Buffer[] = []): Buffer {
  const middle = [0x40, 0, 0, 0, 0, 0, 0, 8, 0, short_message.length]
  return Buffer.concat([
    Buffer.from([0, ...ADDRESS, 3, 0, ...Buffer.from('12345\0'), ...middle]),
    short_message,
    ...tlvs,
  ])
}

test('a bind says who and which version: SMPP 3.4 section 4.1.5', () => {
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

  test('has its text in message_payload where that is there', () => {
    const payload = Buffer.alloc(1000, 'x')
    const body = deliverSm(Buffer.alloc(0), [tlv(TLV.message_payload, payload)])
    expect(readDeliverSm(body).octets).toEqual(payload)
  })

  test('may have rubbish behind its fields', () => {
    const whole = deliverSm(Buffer.from('hi'), [tlv(TLV.message_state, Buffer.from([2]))])
    for (const rubbish of ['\0', '\0\0\0', '\x04\x24\xff\xffabc']) {
      const { octets, tlvs } = readDeliverSm(Buffer.concat([whole, Buffer.from(rubbish, 'latin1')]))
      expect(octets.toString()).toBe('hi')
      expect([...tlvs.keys()]).toEqual([TLV.message_state])
    }
  })

  test('that ends too early is malformed, wherever it ends', () => {
    const whole = deliverSm(Buffer.from('hi'))
    for (let length = 0; length < whole.length; length++) {
      expect(() => readDeliverSm(whole.subarray(0, length))).toThrow(MalformedPdu)
    }
  })

  test('may be any octets at all: it is read, or malformed', () => {
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

test.each([
  ['', ''],
  ['\0', ''],
  ['abc\0', 'abc'],
  ['abc', 'abc'],
  ['abc\0def', 'abc'],
  ['x'.repeat(1000), 'x'.repeat(256)],
])('the message id in %j is %j', (body, id) => {
  expect(readMessageId(Buffer.from(body))).toBe(id)
})
