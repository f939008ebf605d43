import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCharacter } from '../../../test/any-character.ts'
import { UNITS_MAX, units } from '../fields/units.ts'
import { signHex } from '../signing/signature.ts'
import { CHANNELS } from './content.ts'
import { EVENT_KINDS, EVENTS, type EventData, eventBody } from './events.ts'
import { MESSAGE_STATUSES, type Metadata } from './messages.ts'

const change: EventData<'message.failed'> = {
  message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
  recipient: '+14155552671',
  channel: 'sms',
  status: 'failed',
  credits_used: units(1_000_000),
  metadata: { order_id: 'A1' },
  bulk_id: null,
  livemode: false,
  provider_message_id: null,
  error_code: 'unroutable',
  error_message: 'No route.',
  occurred_at: new Date('2026-05-04T09:30:00.000Z'),
  sequence: 1,
}

describe.each(EVENT_KINDS)('%s', (kind) => {
  test('has a description and an example of exactly its data', () => {
    const { description, data, example } = EVENTS[kind]
    expect(description).toMatch(/^[A-Z].*\.$/)
    const decoded = data.decode(example as never)
    expect(data.encode(decoded as never)).toEqual(example)
  })
})

describe('eventBody', () => {
  test('returns compact JSON of event and data, without fields that the event does not name', () => {
    const stored = { ...change, workspace_id: 'w', content: { text: 'private' } }
    expect(eventBody('message.failed', stored)).toBe(
      '{"event":"message.failed","data":{"message_id":"01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01",' +
        '"recipient":"+14155552671","channel":"sms","status":"failed","credits_used":1,' +
        '"metadata":{"order_id":"A1"},"bulk_id":null,"livemode":false,"provider_message_id":null,' +
        '"error_code":"unroutable","error_message":"No route.",' +
        '"occurred_at":"2026-05-04T09:30:00.000Z","sequence":1}}',
    )
  })

  test('returns the same bytes after a receiver parses and prints them', () => {
    const metadata = fc.json().map((text) => JSON.parse(`{"__proto__":1,"2":0,"k":${text},"1":0}`))
    fc.assert(
      fc.property(metadata, fc.string({ unit: anyCharacter }), (values, error_message) => {
        const body = eventBody('message.failed', { ...change, metadata: values, error_message })
        const printed = JSON.stringify(JSON.parse(body))
        expect(printed).toBe(body)
        expect(signHex('whsec_eA==', printed)).toBe(signHex('whsec_eA==', Buffer.from(body)))
      }),
      { numRuns: 500 },
    )
  })

  test('returns the bytes of the schema for each change of a message', () => {
    const nullable = fc.option(fc.string({ unit: anyCharacter }))
    const changes = fc.record({
      message_id: fc.uuid(),
      recipient: fc.string({ unit: anyCharacter }),
      channel: fc.constantFrom(...CHANNELS),
      status: fc.constantFrom(...MESSAGE_STATUSES),
      credits_used: fc.integer({ min: 0, max: UNITS_MAX }).map((amount) => units(amount)),
      metadata: fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<Metadata>,
      bulk_id: fc.option(fc.uuid()),
      livemode: fc.boolean(),
      provider_message_id: nullable,
      error_code: nullable,
      error_message: nullable,
      occurred_at: fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
      sequence: fc.nat(),
    })
    const kind = fc.constantFrom('message.sent', 'message.delivered', 'message.read')
    fc.assert(
      fc.property(kind, changes, (event, data) => {
        const encoded = JSON.stringify({ event, data: EVENTS[event].data.encode(data) })
        expect(eventBody(event, data)).toBe(encoded)
      }),
    )
  })

  test('refuses data of another kind', () => {
    expect(() => eventBody('credits.low', change as never)).toThrow()
  })
})
