import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../../test/all-cases.ts'
import { anyCharacter } from '../../../test/any-character.ts'
import { decode } from '../endpoints/decode.ts'
import { UNITS_MAX, units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import { messagesFor } from './messages.ts'
import { plainEmail, plainSms, sentJson } from './plain-send.ts'
import { contentRequest } from './send-request.ts'

/** Random bodies of each kind, and how many of them must be plain. */
const RUNS = RUNS_ALL_CASES
  ? { sms: 5_000, mails: 3_000, plain: 200 }
  : { sms: 1_500, mails: 1_000, plain: 60 }

const { send } = messagesFor({ voice: true })

const plain = {
  to: '+15005550006',
  channel: 'sms',
  content: { text: 'Your order A1 is ready' },
  metadata: { order_id: 'A1' },
}

/** The JSON of a plain body with one part replaced, removed or added; most are not plain any more, and many are invalid. */
const bodies = fc
  .record({
    to: fc.oneof(
      fc.constantFrom('+15005550006', '15005550006', '+05005550006', '+1', '+1500555000615005', 7),
      fc.stringMatching(/^\+[0-9]{1,17}$/),
    ),
    channel: fc.constantFrom('sms', 'sms', 'sms', 'whatsapp', 'SMS', null),
    content: fc.oneof(
      fc.record({ text: fc.string({ unit: anyCharacter, maxLength: 40 }) }),
      fc.record({ text: fc.constantFrom('', 'x'.repeat(LIMITS.sms_text_length + 1), 1) }),
      fc.constantFrom(
        { text: 'x'.repeat(LIMITS.sms_text_length) },
        { text: 'a', html: 'b' },
        [],
        null,
      ),
    ),
    metadata: fc.oneof(
      fc.dictionary(
        fc.string({ maxLength: 40 }),
        fc.string({ unit: anyCharacter, maxLength: 70 }),
        {
          maxKeys: 10,
        },
      ),
      fc.constantFrom(JSON.parse('{"__proto__":"a"}'), null, [], 'a'),
      fc.jsonValue(),
    ),
    extra: fc.constantFrom('from', 'expires_in', 'unknown', '__proto__', 'metadata'),
    parts: fc.subarray(['to', 'channel', 'content', 'metadata', 'extra'] as const),
  })
  .map(({ parts, extra, ...values }) => {
    const body: Record<string, unknown> = { ...plain }
    for (const part of parts) {
      if (part === 'extra') Object.defineProperty(body, extra, { value: 'a', enumerable: true })
      else body[part] = values[part]
    }
    return JSON.stringify(body)
  })

describe('a plain SMS', () => {
  it('is read as the schema reads it', () => {
    expect(plainSms(plain)).toStrictEqual(decode(send.body, structuredClone(plain)))
    let read = 0
    fc.assert(
      fc.property(bodies, (json) => {
        const request = plainSms(JSON.parse(json))
        if (!request) return
        read += 1
        expect(request).toStrictEqual(decode(send.body, JSON.parse(json)))
        expect(JSON.stringify(request)).toBe(json)
      }),
      { numRuns: RUNS.sms },
    )
    expect(read).toBeGreaterThan(RUNS.plain)
  })

  it.each([
    ['another channel', { channel: 'whatsapp' }],
    ['a schedule', { scheduled_at: '2030-01-01' }],
    ['a number as metadata', { metadata: { n: 1 } }],
    ['an unknown field', { unknown: 'a' }],
  ])('is not one with %s', (_, part) => {
    expect(plainSms({ ...plain, ...part })).toBeNull()
  })
})

const plainMail = {
  to: 'asha@example.com',
  channel: 'email',
  content: { html: '<p>It is ready.</p>', subject: 'Your order A1', text: 'It is ready.' },
  metadata: { order_id: 'A1' },
}

/** The JSON of a plain e-mail with some parts replaced, as for the SMS. */
const mails = fc
  .record({
    to: fc.oneof(
      fc.constantFrom('a@localhost', 'Asha@Exämple.com', ['a@example.com'], 7),
      fc.string(),
    ),
    from: fc.oneof(
      fc.constantFrom('Acme', '', 'a<b', 'x'.repeat(40), 'x'.repeat(101), 'Bo\u200fb', null),
      fc.string({ maxLength: 5 }),
    ),
    content: fc
      .record(
        {
          from_address: fc.constantFrom('shop@acme.example', 'shop', ''),
          text: fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom('', 7)),
          html: fc.oneof(
            fc.string(),
            fc.constantFrom('', null, 'ö'.repeat(LIMITS.email_body_bytes / 2)),
          ),
          subject: fc.oneof(fc.string(), fc.constantFrom('', 'a\nb', 'x'.repeat(999))),
          headers: fc.constant({ 'X-A': 'b' }),
        },
        { requiredKeys: [] },
      )
      .map((content) => ({ ...content, subject: content.subject ?? 'Hi' })),
    metadata: fc.oneof(fc.dictionary(fc.string(), fc.string()), fc.jsonValue()),
    extra: fc.constantFrom('expires_in', 'unknown', '__proto__'),
    parts: fc.subarray(['to', 'from', 'content', 'content', 'metadata', 'extra'] as const),
  })
  .map(({ parts, extra, ...values }) => {
    const body: Record<string, unknown> = { ...plainMail }
    for (const part of parts) {
      if (part === 'extra') Object.defineProperty(body, extra, { value: 'a', enumerable: true })
      else body[part] = values[part]
    }
    return JSON.stringify(body)
  })

describe('a plain e-mail', () => {
  it('is read as the schema reads it, with the content in the same order', () => {
    let read = 0
    fc.assert(
      fc.property(mails, (json) => {
        const request = plainEmail(JSON.parse(json))
        if (!request) return
        read += 1
        const expected = decode(contentRequest({ voice: false }), JSON.parse(json))
        expect(request).toStrictEqual(expected)
        expect(JSON.stringify(request.content)).toBe(JSON.stringify(expected.content))
      }),
      { numRuns: RUNS.mails, examples: [[JSON.stringify(plainMail)]] },
    )
    expect(read).toBeGreaterThan(RUNS.plain)
  })

  it.each([
    ['a copy', { content: { ...plainMail.content, cc: ['bo@example.com'] } }],
    ['a schedule', { scheduled_at: '2030-01-01' }],
    ['two recipients', { to: ['asha@example.com', 'bo@example.com'] }],
  ])('is not one with %s', (_, part) => {
    expect(plainEmail({ ...plainMail, ...part })).toBeNull()
  })
})

it('the data of a send is written as its schema writes it', () => {
  const date = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.integer({ min: 0, max: UNITS_MAX }),
      date,
      fc.option(date, { nil: undefined }),
      (message_id, amount, created_at, deferred_until) => {
        const data = {
          message_id,
          status: 'queued',
          credits_used: units(amount),
          created_at,
          ...(deferred_until && { deferred_until }),
        } as const
        expect(sentJson(data)).toBe(JSON.stringify(send.data.encode(data)))
      },
    ),
  )
})
