import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const MESSAGES = '/api/v1/messages'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

const send = (body: object) => world().call('POST', `${MESSAGES}/send`, { key, json: body })
const get = (id: string) => world().call('GET', `${MESSAGES}/${id}`, { key })

const email = {
  to: 'asha@example.com',
  channel: 'email',
  content: { subject: 'Your order', html: '<p>Ready</p>' },
}
const whatsapp = { to: '+255700000001', channel: 'whatsapp', content: { text: 'Hi' } }

describe(`POST ${MESSAGES}/send`, () => {
  describe('201', () => {
    it('answers with the four fields and no others', async () => {
      const { status, body } = await send(sms)
      expect(status).toBe(201)
      expect(body).toStrictEqual({
        success: true,
        data: {
          message_id: expect.any(String),
          status: 'queued',
          credits_used: 1,
          created_at: '2026-05-04T09:00:00.000Z',
        },
      })
    })

    it.each([
      ['an sms of one segment', sms, 1],
      ['an sms of 160 characters', { ...sms, content: { text: 'a'.repeat(160) } }, 1],
      ['an sms of 161 characters', { ...sms, content: { text: 'a'.repeat(161) } }, 2],
      ['an sms of 306 characters', { ...sms, content: { text: 'a'.repeat(306) } }, 2],
      ['an sms of 307 characters', { ...sms, content: { text: 'a'.repeat(307) } }, 3],
      ['an sms of 320 characters', { ...sms, content: { text: 'a'.repeat(320) } }, 3],
      ['an sms of 459 characters', { ...sms, content: { text: 'a'.repeat(459) } }, 3],
      ['an sms of 70 units of UCS-2', { ...sms, content: { text: 'ш'.repeat(70) } }, 1],
      ['an sms of 71 units of UCS-2', { ...sms, content: { text: 'ш'.repeat(71) } }, 2],
      ['an sms of 1600 characters', { ...sms, content: { text: 'a'.repeat(1600) } }, 11],
      ['a whatsapp', whatsapp, 0.5],
      ['an e-mail', email, 0.1],
    ])('charges for %s', async (_, body, credits) => {
      const before = await world().balance(owner)
      const answer = await send(body)
      expect(answer.body.data).toMatchObject({ status: 'queued', credits_used: credits })
      expect(await world().balance(owner)).toBeCloseTo(before - credits, 6)
    })

    it('returns the price of an e-mail as a number, not as a text', async () => {
      expect((await send(email)).text).toContain('"credits_used":0.1,')
    })

    it('accepts each kind of content', async () => {
      const contents = [
        { ...email, content: { subject: 'S', text: 'plain only' }, from: 'Example Ltd' },
        {
          ...email,
          content: { ...email.content, reply_to: 'a@b.example', headers: { 'List-Id': '<x>' } },
        },
        {
          ...whatsapp,
          content: { media: { type: 'image', url: 'https://x.example/a.png', caption: 'A' } },
        },
        {
          ...whatsapp,
          content: { template: { name: 'order', language: 'en', variables: { 1: 'A1' } } },
        },
        { ...sms, expires_in: 60, scheduled_at: '2026-05-05T09:00:00Z' },
      ]
      for (const body of contents) expect((await send(body)).status).toBe(201)
    })

    it('charges a test key nothing, and returns that price', async () => {
      const test = await world().key(owner, { mode: 'test' })
      const before = await world().balance(owner)
      const { body } = await world().send(test.key)
      expect(body.data.credits_used).toBe(0)
      expect(await world().balance(owner)).toBe(before)
      const { message } = (await get(body.data.message_id)).body.data
      expect(message).toMatchObject({ credits_used: 0, livemode: false })
    })
  })

  describe('400', () => {
    const E164 = 'Phone number must be in E.164 format'
    it.each([
      ['to', undefined, 'Missing required field: to'],
      ['to', '', 'Missing required field: to'],
      ['to', '14155552671', E164],
      ['to', '+04155552671', E164],
      ['to', '+1 415 555 2671', E164],
      ['to', '+1-415-555-2671', E164],
      ['to', '+1', E164],
      ['to', '+1234567890123456', E164],
      ['to', '+14155552671\n', E164],
      ['to', 14155552671, 'to must be a string'],
      ['channel', undefined, 'Missing required field: channel'],
      ['channel', '', 'Missing required field: channel'],
      ['channel', 'fax', 'Invalid channel. Must be one of: sms, whatsapp, email'],
      ['channel', 'voice', 'Invalid channel. Must be one of: sms, whatsapp, email'],
      ['channel', ['sms'], 'Invalid channel. Must be one of: sms, whatsapp, email'],
      ['content', undefined, 'Missing required field: content'],
      ['content', 'Hello', 'content must be an object'],
      ['content', [], 'content must be an object'],
      ['metadata', [], 'metadata must be an object'],
      ['metadata', 'x', 'metadata must be an object'],
      ['metadata', null, 'metadata must be an object'],
      ['scheduled_at', 'soon', 'Invalid date format. Use ISO 8601 format.'],
      ['scheduled_at', 1, 'scheduled_at must be a string'],
      ['expires_in', 0, 'expires_in must be at least 1'],
      ['expires_in', 1.5, 'expires_in must be an integer'],
      ['expires_in', '60', 'expires_in must be a number'],
      ['from', '', 'from must not be empty'],
    ])('refuses %s %j', async (path, value, message) => {
      const { status, body } = await send({ ...sms, [path]: value })
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', message, path))
    })

    it.each([
      [sms, {}, 'content.text', 'Missing required field: content.text'],
      [sms, { text: '' }, 'content.text', 'Missing required field: content.text'],
      [sms, { text: 7 }, 'content.text', 'content.text must be a string'],
      [
        sms,
        { text: 'a'.repeat(1601) },
        'content.text',
        'content.text must be at most 1600 characters',
      ],
      [
        sms,
        { text: '😀'.repeat(801) },
        'content.text',
        'content.text must be at most 1600 characters',
      ],
      [sms, { text: 'a', html: 'b' }, 'content', 'Unknown field: content.html'],
      [email, { html: 'x' }, 'content.subject', 'Missing required field: content.subject'],
      [email, { subject: 'x' }, 'content', 'Missing required field: content.html or content.text'],
      [
        email,
        { subject: 'x', html: '', text: '' },
        'content',
        'Missing required field: content.html or content.text',
      ],
      [
        email,
        { subject: 'a\r\nBcc: b@example.com', text: 'x' },
        'content.subject',
        'Subject must not contain line breaks',
      ],
      [
        email,
        { subject: 'a'.repeat(999), text: 'x' },
        'content.subject',
        'content.subject must be at most 998 characters',
      ],
      [whatsapp, {}, 'content', 'content must have exactly one of: text, media, template'],
    ])('refuses the content of %o: %j', async (request, content, path, message) => {
      const { status, body } = await send({ ...request, content })
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', message, path))
    })

    it.each(['asha', 'asha@', 'Asha <asha@example.com>', 'a@example.com,b@example.com', ''])(
      'refuses the e-mail address %j',
      async (to) => {
        const { status, body } = await send({ ...email, to })
        const message = to ? 'Invalid email address format' : 'Missing required field: to'
        expect(status).toBe(400)
        expect(body).toStrictEqual(refusal('validation_error', message, 'to'))
      },
    )

    it.each([
      ['schedule_at', 'Unknown field: schedule_at. Did you mean scheduled_at?'],
      ['metdata', 'Unknown field: metdata. Did you mean metadata?'],
      ['priority', 'Unknown field: priority'],
    ])('names the unknown field %s', async (field, message) => {
      const { status, body } = await send({ ...sms, [field]: 'x' })
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', message, ''))
    })

    it('refuses a time more than 35 days ahead', async () => {
      const { status, body } = await send({ ...sms, scheduled_at: '2026-06-08T09:00:00.001Z' })
      expect(status).toBe(400)
      expect(body.message).toBe('scheduled_at must be at most 35 days ahead')
      expect((await send({ ...sms, scheduled_at: '2026-06-08T09:00:00.000Z' })).status).toBe(201)
    })

    it('refuses metadata of more than 50 keys or 8 KB', async () => {
      const keys = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [i, 0]))
      expect((await send({ ...sms, metadata: keys(50) })).status).toBe(201)
      expect((await send({ ...sms, metadata: keys(51) })).body).toStrictEqual(
        refusal('validation_error', 'Metadata must have at most 50 keys', 'metadata'),
      )
      expect((await send({ ...sms, metadata: { a: 'x'.repeat(8184) } })).status).toBe(201)
      expect((await send({ ...sms, metadata: { a: 'x'.repeat(8185) } })).body).toStrictEqual(
        refusal('validation_error', 'Metadata must be at most 8192 bytes of JSON', 'metadata'),
      )
    })

    it('charges nothing and writes nothing', async () => {
      const before = await world().written(owner)
      await send({ ...sms, to: 'unknown' })
      await send({ ...sms, schedule_at: '2026-05-05T09:00:00Z' })
      expect(await world().written(owner)).toStrictEqual(before)
    })
  })

  describe('402', () => {
    it.each([
      [0, sms, 'Not enough credits. You need 1 credits but have 0.'],
      [0.5, sms, 'Not enough credits. You need 1 credits but have 0.5.'],
      [
        2.25,
        { ...sms, content: { text: 'a'.repeat(400) } },
        'Not enough credits. You need 3 credits but have 2.25.',
      ],
      [0.05, email, 'Not enough credits. You need 0.1 credits but have 0.05.'],
      [0.4, whatsapp, 'Not enough credits. You need 0.5 credits but have 0.4.'],
    ])('with %d credits', async (credits, body, message) => {
      const account = await world().signup({ credits })
      const { key: own } = await world().key(account)
      const before = await world().written(account)
      const answer = await world().call('POST', `${MESSAGES}/send`, { key: own, json: body })
      expect(answer.status).toBe(402)
      expect(answer.body).toStrictEqual(refusal('insufficient_credits', message))
      expect(await world().written(account)).toStrictEqual(before)
    })

    it('spends the last credit', async () => {
      const account = await world().signup({ credits: 0.3 })
      const { key: own } = await world().key(account)
      for (const left of [0.2, 0.1, 0]) {
        const sent = await world().call('POST', `${MESSAGES}/send`, { key: own, json: email })
        expect(sent.status).toBe(201)
        expect(await world().balance(account)).toBe(left)
      }
      expect(
        (await world().call('POST', `${MESSAGES}/send`, { key: own, json: email })).status,
      ).toBe(402)
    })
  })
})
