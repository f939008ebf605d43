import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/any-character.ts'
import { decode } from '../endpoints/decode.ts'
import { UNITS_MAX, units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import { bulks, RECIPIENT_FAULTS } from './bulk.ts'
import { bulkRecipient } from './bulk-request.ts'
import { isPlainRecipient, sentBulkJson } from './plain-send.ts'

const plain = {
  to: '+15005550006',
  name: 'Asha',
  variables: { order_id: 'A1', code: 7, is_new: true, note: null },
  metadata: { order_id: 'A1' },
}

const lengths = [
  LIMITS.contact_name_length,
  LIMITS.bulk_variable_length,
  LIMITS.bulk_variable_name_length,
].flatMap((max) => [max, max + 1])
const texts = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.constantFrom(...lengths).map((length) => 'x'.repeat(length)),
)
const variables = fc.oneof(
  fc.dictionary(texts, fc.oneof(texts, fc.integer(), fc.boolean(), fc.constant(null)), {
    maxKeys: 5,
  }),
  fc
    .constantFrom(LIMITS.bulk_variables, LIMITS.bulk_variables + 1)
    .map((count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, i]))),
  fc.constant(JSON.parse('{"__proto__":"a"}')),
  fc.jsonValue(),
)

/** The JSON of a plain recipient with fields replaced, removed or added; many are invalid. */
const recipients = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc
    .record({
      to: fc.oneof(texts, fc.constantFrom(undefined, null, 7)),
      name: fc.oneof(texts, fc.constantFrom(undefined, null, '')),
      variables,
      metadata: fc.oneof(fc.dictionary(texts, texts, { maxKeys: 10 }), fc.jsonValue()),
      extra: fc.constantFrom('contact_id', 'unknown', '__proto__', 'constructor'),
      parts: fc.subarray(['to', 'name', 'variables', 'metadata', 'extra'] as const),
    })
    .map(({ parts, extra, ...values }) => {
      const recipient: Record<string, unknown> = { ...plain }
      for (const part of parts) {
        if (part === 'extra')
          Object.defineProperty(recipient, extra, { value: 'a', enumerable: true })
        else recipient[part] = values[part]
      }
      return JSON.stringify(recipient)
    }),
)

describe('a plain recipient', () => {
  it('is read as the schema reads it', () => {
    let read = 0
    fc.assert(
      fc.property(recipients, (json) => {
        const recipient = JSON.parse(json)
        if (!isPlainRecipient(recipient)) return
        read += 1
        expect(recipient).toStrictEqual(decode(bulkRecipient, JSON.parse(json)))
      }),
      { numRuns: 5_000 },
    )
    expect(read).toBeGreaterThan(500)
  })

  it.each([
    ['an address', '+15005550006'],
    ['an object with an address', { to: '+15005550006' }],
    ['an object with all fields', plain],
  ])('is %s', (_, recipient) => {
    expect(isPlainRecipient(recipient)).toBe(true)
  })

  it.each([
    ['no address', { name: 'Asha' }],
    ['a contact', { contact_id: '0190a5c8-0000-7000-8000-000000000000' }],
    ['a contact beside its address', { ...plain, contact_id: 'a' }],
    ['an empty name', { ...plain, name: '' }],
    ['a variable that is an object', { ...plain, variables: { a: {} } }],
    ['a number as metadata', { ...plain, metadata: { n: 1 } }],
    ['an unknown field', { ...plain, unknown: 'a' }],
  ])('is not one with %s', (_, recipient) => {
    expect(isPlainRecipient(recipient)).toBe(false)
  })
})

it('the data of a bulk is written as its schema writes it', () => {
  const count = fc.nat(10_000)
  const amount = fc.integer({ min: 0, max: UNITS_MAX }).map(units)
  const date = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
  const required = {
    index: count,
    message_id: fc.uuid(),
    to: fc.string({ unit: anyCharacter }),
    status: fc.constant('queued' as const),
    credits_used: amount,
    segments: fc.option(count),
  }
  const message = fc.oneof(fc.record(required), fc.record({ ...required, deferred_until: date }))
  const error = fc.record({
    index: count,
    to: fc.option(fc.string({ unit: anyCharacter })),
    error: fc.constantFrom(...RECIPIENT_FAULTS),
    message: fc.string({ unit: anyCharacter }),
  })
  const sent = fc.record({
    bulk_id: fc.uuid(),
    status: fc.constant('queued' as const),
    total: count,
    accepted: count,
    rejected: count,
    duplicates: count,
    credits_used: amount,
    created_at: date,
    messages: fc.array(message, { maxLength: 5 }),
    errors: fc.array(error, { maxLength: 3 }),
  })
  fc.assert(
    fc.property(sent, (data) => {
      expect(sentBulkJson(data)).toBe(JSON.stringify(bulks.send.data.encode(data)))
    }),
  )
})
