import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFramer } from './frames.ts'
import { encodePdu, MalformedPdu, setSequence } from './pdu.ts'

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

describe('the framer', () => {
  test('gives every PDU once and in order, wherever the stream is cut', () => {
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

  test.each([0, 15, 65_537, 0xffff_ffff])('a length of %i is no PDU', (length) => {
    const octets = Buffer.alloc(20)
    octets.writeUInt32BE(length, 0)
    expect(() => createFramer()(octets)).toThrow(MalformedPdu)
  })

  test.each([16, 65_536])('a length of %i is one', (length) => {
    const octets = Buffer.alloc(length)
    octets.writeUInt32BE(length, 0)
    const framesOf = createFramer()
    expect(framesOf(octets.subarray(0, length - 1))).toEqual([])
    expect(framesOf(octets.subarray(length - 1))).toMatchObject([{ body: { length: length - 16 } }])
  })
})
