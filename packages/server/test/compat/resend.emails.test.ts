import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ dispatch: true, listen: true })

const FROM = 'Acme <shop@acme.example>'
const TO = 'delivered@sandbox.svc'
const MAIL = { from: FROM, to: TO, subject: 'Hello', html: '<p>It works</p>' }

let owner: Account
let key: string
let resend: Resend
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner, { mode: 'test' })).key
  resend = clientOf(key)
})

const clientOf = (apiKey: string) => new Resend(apiKey, { baseUrl: `${world().url}/compat/resend` })

async function sent(more: object = {}): Promise<string> {
  const { data, error } = await resend.emails.send({ ...MAIL, ...more })
  expect(error).toBeNull()
  return data?.id ?? ''
}

/** The message that the API shows. */
const messageOf = async (id: string) =>
  (await world().call('GET', `/api/v1/messages/${id}`, { key })).body.data.message

const inMs = (ms: number) => new Date(world().now().getTime() + ms).toISOString()

/** A request as no version of the package makes it. */
const request = async (method: string, path: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const url = `${world().url}/compat/resend${path}`
  const answer = await fetch(url, { method, headers, ...init })
  const body = (await answer.json()) as { id: string }
  return { status: answer.status, headers: answer.headers, body }
}
const post = (path: string, body: unknown) => request('POST', path, { body: JSON.stringify(body) })

describe('emails.send', () => {
  it('sends an e-mail with the given sender', async () => {
    const id = await sent()
    await world().advance(1_000)
    expect(await messageOf(id)).toMatchObject({
      id,
      channel: 'email',
      recipient: TO,
      sender: 'Acme',
      status: 'delivered',
      content: { subject: 'Hello', html: '<p>It works</p>', from_address: 'shop@acme.example' },
    })
  })

  it('takes every field', async () => {
    const id = await sent({
      from: 'shop@acme.example',
      to: ['Asha <delivered@sandbox.svc>'],
      cc: [],
      replyTo: ['help@acme.example', 'Shop <shop@acme.example>'],
      text: 'It works',
      headers: { 'X-Order': 'A1' },
      tags: [{ name: 'campaign', value: 'may' }],
      attachments: [
        { filename: 'a.txt', content: Buffer.from('Hello'), contentType: 'text/plain' },
        { filename: 'b.txt', content: 'SGVsbG8', contentId: 'logo' },
      ],
    })
    const { data } = await resend.emails.get(id)
    expect(data).toStrictEqual({
      object: 'email',
      id,
      to: ['delivered@sandbox.svc'],
      from: expect.stringContaining('<shop@acme.example>'),
      created_at: world().now().toISOString(),
      subject: 'Hello',
      bcc: null,
      cc: null,
      reply_to: ['help@acme.example', 'shop@acme.example'],
      last_event: expect.any(String),
      scheduled_at: null,
      html: '<p>It works</p>',
      text: 'It works',
      tags: [{ name: 'campaign', value: 'may' }],
      message_id: data?.message_id,
      topic_id: null,
    })
    const { content } = await messageOf(id)
    expect(content.headers).toEqual({ 'X-Order': 'A1' })
    expect(content.attachments).toEqual([
      { filename: 'a.txt', size_bytes: 5, content_type: 'text/plain' },
      { filename: 'b.txt', size_bytes: 5, content_id: 'logo' },
    ])
  })

  it('takes the parameters of the type of a file, and refuses line breaks in them', async () => {
    const file = (contentType: string) => ({ filename: 'a.ics', content: 'SGVsbG8=', contentType })
    const contentType = 'text/calendar; method=REQUEST; charset=utf-8'
    const id = await sent({ attachments: [file(contentType)] })
    expect((await messageOf(id)).content.attachments).toMatchObject([{ content_type: contentType }])
    const { error } = await resend.emails.send({
      ...MAIL,
      attachments: [file('text/calendar; method="a\r\nBcc: b@c.co"')],
    })
    expect(error).toMatchObject({ statusCode: 422, name: 'invalid_attachment' })
  })

  it('takes a Buffer as old versions of the package send it', async () => {
    const attachments = [{ filename: 'a.txt', content: Buffer.from('Hello').toJSON() }]
    const { status, body } = await post('/emails', { ...MAIL, attachments })
    expect(status).toBe(200)
    expect((await messageOf(body.id)).content.attachments).toEqual([
      { filename: 'a.txt', size_bytes: 5 },
    ])
  })

  it('gives a repeated request with its key the first answer, also if its time is in words', async () => {
    const mail = { ...MAIL, scheduledAt: 'in 1 hour' }
    const first = await resend.emails.send(mail, { idempotencyKey: 'order-1' })
    await world().advance(1_000)
    const again = await resend.emails.send(mail, { idempotencyKey: 'order-1' })
    expect(again.data).toEqual(first.data)
    const other = await resend.emails.send(
      { ...MAIL, subject: 'Other' },
      { idempotencyKey: 'order-1' },
    )
    expect(other.error).toStrictEqual({
      statusCode: 409,
      name: 'invalid_idempotent_request',
      message: 'Same idempotency key used with a different request payload.',
    })
  })
})

describe('attachments by path', () => {
  const files = createServer(({ url }, response) => {
    if (url === '/hello%20world.txt') response.end('Hello')
    else if (url === '/large') response.end(Buffer.alloc(11 * 1024 * 1024))
    else if (url === '/moved') response.writeHead(302, { location: '/hello%20world.txt' }).end()
    else response.writeHead(404).end()
  })
  let root: string
  beforeAll(async () => {
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
    root = `http://127.0.0.1:${(files.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    files.closeAllConnections()
    await new Promise((resolve) => files.close(resolve))
  })

  it('are fetched, and named after the path', async () => {
    const id = await sent({ attachments: [{ path: `${root}/hello%20world.txt` }] })
    expect((await messageOf(id)).content.attachments).toEqual([
      { filename: 'hello world.txt', size_bytes: 5 },
    ])
  })

  test.each([
    ['/large', /has more than/],
    ['/moved', /answered 302/],
    ['/missing', /answered 404/],
  ])('are refused if they cannot be fetched: %s', async (path, text) => {
    const { error } = await resend.emails.send({ ...MAIL, attachments: [{ path: root + path }] })
    expect(error).toMatchObject({ statusCode: 422, name: 'invalid_attachment' })
    expect(error?.message).toMatch(text)
  })

  test.each(['http://10.0.0.1/a', 'http://[::ffff:169.254.169.254]/a', 'ftp://127.0.0.1/a', 'a'])(
    'are not fetched from %s',
    async (path) => {
      const { error } = await resend.emails.send({ ...MAIL, attachments: [{ path }] })
      expect(error).toMatchObject({ statusCode: 422, name: 'invalid_attachment' })
    },
  )
})

describe('scheduled e-mails', () => {
  it('are sent at their time, get another time, and are canceled', async () => {
    const id = await sent({ scheduledAt: 'tomorrow at 9am' })
    const { data } = await resend.emails.get(id)
    expect(data).toMatchObject({
      last_event: 'scheduled',
      scheduled_at: '2026-05-05T09:00:00.000Z',
    })
    const updated = await resend.emails.update({ id, scheduledAt: inMs(60_000) })
    expect(updated.data).toStrictEqual({ object: 'email', id })
    await world().advance(60_000)
    expect((await resend.emails.get(id)).data?.last_event).toBe('delivered')
    expect((await resend.emails.cancel(id)).error).toMatchObject({
      statusCode: 422,
      message: 'Message cannot be canceled: it is delivered',
    })
    const other = await sent({ scheduledAt: inMs(60_000) })
    expect((await resend.emails.cancel(other)).data).toStrictEqual({ object: 'email', id: other })
    expect((await resend.emails.get(other)).data?.last_event).toBe('canceled')
  })

  it('are refused if the time cannot be read', async () => {
    const { error } = await resend.emails.send({ ...MAIL, scheduledAt: 'soon' })
    expect(error).toMatchObject({ statusCode: 422, name: 'validation_error' })
    expect(error?.message).toContain('`scheduled_at`')
  })
})

describe('emails.list', () => {
  it('pages in both directions', async () => {
    const { key: own } = await world().key(await world().signup(), { mode: 'test' })
    const client = clientOf(own)
    const ids: string[] = []
    for (const n of [1, 2, 3, 4, 5]) {
      const { data } = await client.emails.send({ ...MAIL, subject: `Mail ${n}` })
      ids.unshift(data?.id ?? '')
    }
    const page = async (options: object) => {
      const { data } = await client.emails.list(options)
      return [data?.has_more, ...(data?.data ?? []).map(({ id }) => ids.indexOf(id))]
    }
    expect(await page({})).toEqual([false, 0, 1, 2, 3, 4])
    expect(await page({ limit: 2 })).toEqual([true, 0, 1])
    expect(await page({ limit: 2, after: ids[1] })).toEqual([true, 2, 3])
    expect(await page({ limit: 2, after: ids[3] })).toEqual([false, 4])
    expect(await page({ limit: 2, before: ids[4] })).toEqual([true, 2, 3])
    expect(await page({ limit: 2, before: ids[2] })).toEqual([false, 0, 1])
    expect(await page({ before: ids[0] })).toEqual([false])
    const { data } = await client.emails.list({ limit: 1 })
    expect(data?.data).toMatchObject([
      { from: FROM, to: [TO], subject: 'Mail 5', cc: null, bcc: null, reply_to: null },
    ])
  })

  test.each(['limit=0', 'limit=101', 'limit=x', 'after=x', 'before=x', 'limit=%ff'])(
    'refuses %s',
    async (query) => {
      const { status, body } = await request('GET', `/emails?${query}`)
      expect(body).toMatchObject({ statusCode: status, name: 'validation_error' })
      expect([400, 422]).toContain(status)
    },
  )
})

describe('errors', () => {
  test.each([
    [{ ...MAIL, from: undefined }, 'missing_required_field', 'Missing `from` field.'],
    [{ ...MAIL, to: undefined }, 'missing_required_field', 'Missing `to` field.'],
    [{ ...MAIL, subject: undefined }, 'missing_required_field', 'Missing `subject` field.'],
    [{ ...MAIL, html: undefined }, 'missing_required_field', 'Missing `html` or `text` field.'],
    [{ ...MAIL, to: 'asha' }, 'validation_error', 'Invalid `to` field.'],
    [{ ...MAIL, from: 'Acme <shop>' }, 'validation_error', 'Invalid `from` field.'],
    [{ ...MAIL, from: 'a\r\nBcc: x@y.example <shop@acme.example>' }, 'validation_error', 'from'],
    [{ ...MAIL, subject: 'a\r\nBcc: x@y.example' }, 'validation_error', 'line breaks'],
    [{ ...MAIL, headers: { 'X-A\r\nBcc': 'x' } }, 'validation_error', 'not allowed'],
    [{ ...MAIL, headers: { DKIM: 'x' } }, 'validation_error', 'not allowed'],
    [{ ...MAIL, tags: [{ name: 'a b', value: 'c' }] }, 'validation_error', 'tags'],
    [{ ...MAIL, template: { id: 'x' } }, 'validation_error', 'cannot have `html` or `text`'],
    [
      { from: FROM, to: TO, template: { id: 'x' } },
      'validation_error',
      'No template has the name x',
    ],
    [{ to: TO, template: { id: 'Größe' } }, 'validation_error', 'The name of a template'],
    [{ ...MAIL, sheduled_at: 'in 1 hour' }, 'validation_error', 'sheduled_at'],
    [{ ...MAIL, attachments: [{ filename: 'a' }] }, 'invalid_attachment', 'either'],
    [{ ...MAIL, attachments: [{ filename: 'a', content: '!' }] }, 'invalid_attachment', 'base64'],
    [[], 'validation_error', ''],
    ['text', 'validation_error', ''],
    [null, 'validation_error', ''],
  ])('refuse %j', async (mail, name, text) => {
    const { status, body } = await post('/emails', mail)
    expect(body).toStrictEqual({
      statusCode: status,
      name,
      message: expect.stringContaining(text),
    })
    expect([400, 422]).toContain(status)
  })

  it('go to several recipients as one message, with cc and bcc', async () => {
    const to = ['delivered@sandbox.svc', 'delivered+2@sandbox.svc']
    const id = await sent({ to, cc: 'copy@example.com', bcc: ['hidden@example.com'] })
    const { data } = await resend.emails.get(id)
    expect(data).toMatchObject({ to, cc: ['copy@example.com'], bcc: ['hidden@example.com'] })
    expect((await messageOf(id)).recipients).toHaveLength(4)
  })

  it('go once to an address that is named several times, in its first role', async () => {
    const before = (await world().core.workspaces.account(owner.id)).credits_balance
    const id = await sent({
      to: [TO, 'Asha <DELIVERED@sandbox.svc>'],
      cc: ['Asha <Delivered@Sandbox.SVC>', 'copy@example.com', 'copy@example.com'],
      bcc: ['COPY@example.com', 'hidden@example.com'],
      headers: { importance: 'high' },
    })
    const { data } = await resend.emails.get(id)
    expect(data).toMatchObject({
      to: [TO],
      cc: ['copy@example.com'],
      bcc: ['hidden@example.com'],
    })
    const { recipients, content } = await messageOf(id)
    expect(recipients).toHaveLength(3)
    expect(content.headers).toEqual({ importance: 'high' })
    expect((await world().core.workspaces.account(owner.id)).credits_balance).toBe(before)
    const only = await messageOf(await sent({ cc: TO, bcc: [TO] }))
    expect([only.recipient, only.content.cc, only.content.bcc]).toEqual([TO, undefined, undefined])
  })

  test.each([
    ['tags', { tags: Array.from({ length: 21 }, (_, i) => ({ name: `t${i}`, value: 'v' })) }],
    ['reply_to', { replyTo: Array.from({ length: 11 }, (_, i) => `a${i}@example.com`) }],
    [
      'attachments',
      {
        attachments: Array.from({ length: 11 }, (_, i) => ({
          filename: `${i}`,
          content: 'SGVsbG8',
        })),
      },
    ],
  ])('refuse too many %s', async (_, more) => {
    const { error } = await resend.emails.send({ ...MAIL, ...more })
    expect(error).toMatchObject({
      statusCode: 422,
      message: expect.stringMatching(/at most (10|20) /i),
    })
  })

  it('refuse more than 50 recipients', async () => {
    const to = Array.from({ length: 51 }, (_, i) => `delivered+${i}@sandbox.svc`)
    expect((await post('/emails', { ...MAIL, to })).body).toMatchObject({ statusCode: 422 })
  })

  test.each(['{', '{"a":', '\u0000', `${'['.repeat(100)}${']'.repeat(100)}`])(
    'refuse a body that is not JSON: %j',
    async (body) => {
      const answer = await request('POST', '/emails', { body })
      expect(answer.body).toMatchObject({ statusCode: 400, name: 'validation_error' })
    },
  )

  it('name a missing key, a wrong key, and a key without the scope', async () => {
    const none = await request('GET', '/emails', { headers: {} })
    expect(none.body).toStrictEqual({
      statusCode: 401,
      name: 'missing_api_key',
      message: 'Missing API key in the authorization header.',
    })
    const wrong = await clientOf('svc_wrong').emails.list()
    expect(wrong.error).toStrictEqual({
      statusCode: 403,
      name: 'invalid_api_key',
      message: 'API key is invalid.',
    })
    const scopes = ['send_messages'] as const
    const { key: narrow } = await world().key(owner, { mode: 'test', scopes: [...scopes] })
    const refused = await clientOf(narrow).emails.list()
    expect(refused.error).toMatchObject({ statusCode: 401, name: 'restricted_api_key' })
  })

  it('name an unknown e-mail, an unknown endpoint and how keys are made', async () => {
    const unknown = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
    expect((await resend.emails.get(unknown)).error).toMatchObject({
      statusCode: 404,
      name: 'not_found',
    })
    expect((await resend.emails.get('x')).error).toMatchObject({ statusCode: 404 })
    const sms = await world().send(key)
    const { message_id } = sms.body.data
    expect((await resend.emails.get(message_id)).error).toMatchObject({ statusCode: 404 })
    expect((await request('GET', '/nothing')).body).toStrictEqual({
      statusCode: 404,
      name: 'not_found',
      message: 'The requested endpoint does not exist.',
    })
    expect((await request('POST', '/api-keys')).body).toMatchObject({
      statusCode: 404,
      message: expect.stringContaining('API keys are created with the API'),
    })
  })

  it('name a workspace without credits', async () => {
    const poor = await world().key(await world().signup())
    const { error } = await clientOf(poor.key).emails.send(MAIL)
    expect(error).toMatchObject({ statusCode: 429, name: 'monthly_quota_exceeded' })
  })

  it('show the limits in headers', async () => {
    const { headers } = await request('GET', '/emails')
    for (const name of ['limit', 'remaining', 'reset']) {
      expect(headers.get(`ratelimit-${name}`)).toMatch(/^\d+$/)
    }
  })
})
