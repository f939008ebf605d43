import { EVENT_KINDS, EVENTS } from '@svc/core/contract'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { fixture } from './fixture.ts'

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe.each(EVENT_KINDS)('%s', (kind) => {
  it.each([0, 7])('matches the schema of the contract with seed %i', (seed) => {
    const { data } = fixture(kind, {}, { seed })
    const schema = EVENTS[kind].data
    expect(schema.encode(schema.decode(data as never) as never)).toEqual(data)
  })

  it('is equal for equal arguments, and different with another seed', () => {
    expect(fixture(kind)).toEqual(fixture(kind))
    expect(fixture(kind).event_id).toMatch(UUID7)
    expect(fixture(kind, {}, { seed: 1 }).event_id).not.toBe(fixture(kind).event_id)
  })
})

describe('fixture', () => {
  it('replaces fields of the example at any depth', () => {
    const { data } = fixture('message.failed', {
      error_code: 'busy',
      metadata: { order_id: 'B2', tags: ['x'], nested: { a: 1 } },
    })
    expect(data).toEqual({
      ...EVENTS['message.failed'].example,
      error_code: 'busy',
      metadata: { order_id: 'B2', tags: ['x'], nested: { a: 1 } },
    })
  })

  it('merges objects, and removes fields that are overridden with undefined', () => {
    const { data } = fixture('message.sent', { metadata: { order_id: undefined, more: true } })
    expect(data.metadata).toStrictEqual({ more: true })
  })

  it('does not change the example', () => {
    const before = JSON.stringify(EVENTS)
    const { data } = fixture('message.sent', { metadata: { a: 1 } })
    data.metadata.b = 2
    fixture('message.received', { content: { text: 'other' } })
    expect(JSON.stringify(EVENTS)).toBe(before)
  })

  it('has another event_id with other data', () => {
    const one = fixture('message.sent', { recipient: '+15551230001' })
    const two = fixture('message.sent', { recipient: '+15551230002' })
    expect(one.event_id).not.toBe(two.event_id)
  })

  it('describes the same message with the same seed', () => {
    const { message_id } = fixture('message.sent', {}, { seed: 3 }).data
    expect(message_id).toMatch(UUID7)
    expect(fixture('message.delivered', {}, { seed: 3 }).data.message_id).toBe(message_id)
    expect(fixture('message.delivered', {}, { seed: 4 }).data.message_id).not.toBe(message_id)
  })

  it('names the known events when the kind is unknown', () => {
    expect(() => fixture('message.lost' as 'message.sent')).toThrow(
      /"message.lost" is not an event; use one of message.sent, /,
    )
    expect(() => fixture('toString' as 'message.sent')).toThrow(TypeError)
  })

  it('is typed by its kind', () => {
    expectTypeOf(fixture('credits.low').data.threshold).toEqualTypeOf<number>()
    expectTypeOf(fixture('message.sent').event).toEqualTypeOf<'message.sent'>()
    // @ts-expect-error: a balance is a number
    fixture('credits.low', { credits_balance: 'much' })
    // @ts-expect-error: there is no such field
    fixture('credits.low', { recipient: '+15551230001' })
  })
})
