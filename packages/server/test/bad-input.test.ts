import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import type { CallOptions } from './call.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const SEND = '/api/v1/messages/send'
const KB = 1024
const MB = 1024 * KB

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

/** Every endpoint that takes a body, and one that it takes. */
const BODIES = [
  ['/api/v1/auth/signup', { email: 'a@b.example', password: 'long enough', company_name: 'A' }],
  ['/api/v1/auth/login', { email: 'a@b.example', password: 'long enough' }],
  ['/api/v1/api-keys', { name: 'A' }],
  ['/api/v1/webhooks', { url: 'https://a.example/' }],
  [SEND, sms],
] as const

const post = (path: string, options: CallOptions) =>
  world().call(
    'POST',
    path,
    path === SEND ? { key, ...options } : { token: owner.token, ...options },
  )

/** Asks, expects a 400 of that text, and that nothing was written. */
async function expectRefused(path: string, options: CallOptions, message: string): Promise<void> {
  const before = await world().written(owner)
  const answer = await post(path, options)
  expect(answer.status).toBe(400)
  expect(answer.body).toMatchObject({ error: 'validation_error', message })
  expect(await world().written(owner)).toStrictEqual(before)
}

describe.each(BODIES)('POST %s', (path, body) => {
  const NOT_JSON = 'Request body must be valid JSON: it could not be parsed'
  it.each([
    '{',
    '{"a":1,}',
    "{'a':1}",
    '{"a":01}',
    '{"a":NaN}',
    '{"a":undefined}',
    'to=%2B1415&channel=sms',
    '\ufeff{}',
    '{} {}',
    '{"a":"\n"}',
    '\0',
    '{"a":"\\x41"}',
    '\u2028',
  ])('refuses %j, which is no JSON', async (raw) => {
    await expectRefused(path, { raw }, NOT_JSON)
  })

  it.each(['[]', '"text"', '7', 'true', 'null', '[{}]'])(
    'refuses %s, which is no object',
    async (raw) => {
      await expectRefused(path, { raw }, 'Request body must be a JSON object')
    },
  )

  it.each([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]])(
    'refuses bytes %j, which are no UTF-8',
    async (...bytes) => {
      const raw = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])
      await expectRefused(path, { raw }, 'Request body must be valid JSON: it is not UTF-8')
    },
  )

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/vnd.api+json',
    'application/xml',
    'json',
    '*/*',
    '',
    ';',
  ])('refuses the content type %j', async (type) => {
    const options = { raw: JSON.stringify(body), headers: { 'content-type': type } }
    await expectRefused(path, options, 'Content-Type must be application/json')
  })

  it('takes JSON with a character set', async () => {
    const raw = JSON.stringify({ ...body, unknown_field: true })
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
    const { status, body: answer } = await post(path, { raw, headers })
    expect([200, 201, 400, 401]).toContain(status)
    expect(answer.message).not.toBe('Content-Type must be application/json')
  })

  it('reads no body as an empty one', async () => {
    const { status, body: answer } = await post(path, {})
    expect(status).toBe(400)
    expect(answer.message).toMatch(/^Missing required field: /)
  })

  it('counts 16 levels and no more', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    const sixteen = await post(path, { raw: nested(16) })
    expect(sixteen.body.message).not.toContain('levels')
    const text = 'JSON must be at most 16 levels deep'
    await expectRefused(path, { raw: nested(17) }, text)
    await expectRefused(path, { raw: nested(40_000) }, text)
    await expectRefused(path, { raw: '['.repeat(250_000) }, text)
    await expectRefused(path, { raw: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }, text)
  })

  it('counts no brackets inside texts', async () => {
    const raw = JSON.stringify({ ...body, x: `${'['.repeat(100)}\\"${'{'.repeat(100)}` })
    expect((await post(path, { raw })).body.message).not.toBe('JSON must be at most 16 levels deep')
  })

  const NUL = 'Text must not contain the character U+0000'
  const SURROGATE = 'Text must not contain unpaired surrogates'
  it.each([
    ['\\u0000', NUL],
    ['a\\u0000b', NUL],
    ['\\ud800', SURROGATE],
    ['\\udc00', SURROGATE],
    ['\\ud83dx', SURROGATE],
    ['\\udE00\\uD83D', SURROGATE],
  ])('refuses the text %s in a value, a key, or deep inside', async (text, message) => {
    const open = JSON.stringify(body).slice(0, -1)
    for (const extra of [
      `"x":"${text}"`,
      `"${text}":1`,
      `"metadata":{"a":[{"b":"${text}"}]}`,
      `"metadata":{"a":{"${text}":null}}`,
    ]) {
      await expectRefused(path, { raw: `${open},${extra}}` }, message)
    }
  })
})

describe('sizes', () => {
  /** A body of exactly so many bytes. */
  const ofBytes = (bytes: number) => `{"x":"${'a'.repeat(bytes - 8)}"}`

  it.each([
    ['/api/v1/auth/signup', 256 * KB],
    ['/api/v1/api-keys', 256 * KB],
    ['/api/v1/webhooks', 256 * KB],
    [SEND, 4 * MB],
  ])('POST %s takes %d bytes and no more', async (path, max) => {
    const most = await post(path, { raw: ofBytes(max) })
    expect(most.status).toBe(400)
    expect(most.body.message).not.toBe('Request body is too large')
    await expectRefused(path, { raw: ofBytes(max + 1) }, 'Request body is too large')
  })

  it('an e-mail of 2 MB goes through, one byte more does not', async () => {
    const email = (bytes: number) => ({
      to: 'asha@example.com',
      channel: 'email',
      content: { subject: 'Big', html: 'é'.repeat((bytes - 2) / 2), text: 'ab' },
    })
    const sent = await post(SEND, { json: email(2 * MB) })
    expect(sent.status).toBe(201)
    const { id } = (
      await world().call('GET', `/api/v1/messages/${sent.body.data.message_id}`, { key })
    ).body.data.message
    expect(id).toBe(sent.body.data.message_id)
    await expectRefused(
      SEND,
      { json: { ...email(2 * MB), content: { ...email(2 * MB).content, text: 'abc' } } },
      `content.html and content.text must be at most ${2 * MB} bytes together`,
    )
  })

  it('a Content-Length that is not true is refused', async () => {
    const raw = JSON.stringify(sms)
    const headers = { 'content-length': String(raw.length + 5) }
    await expectRefused(SEND, { raw, headers }, 'Content-Length does not match the request body')
  })
})

describe('keys that mean something to JavaScript', () => {
  const NAMES = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'then',
    'toJSON',
  ]

  it('are plain keys of metadata: stored, given back, and harmless', async () => {
    const inner = '{"polluted":true,"isAdmin":true,"__proto__":{"polluted":true}}'
    const metadata = `{${NAMES.map((name) => `"${name}":${inner}`).join(',')}}`
    const raw = `{"to":"+14155552671","channel":"sms","content":{"text":"a"},"metadata":${metadata}}`
    const sent = await post(SEND, { raw })
    expect(sent.status).toBe(201)
    const path = `/api/v1/messages/${sent.body.data.message_id}`
    expect((await world().call('GET', path, { key })).text).toContain(`"metadata":${metadata}`)
    expect((await world().call('GET', '/api/v1/messages', { key })).text).toContain(metadata)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.prototype).not.toHaveProperty('isAdmin')
  })

  it('tell one metadata from another where a request is repeated', async () => {
    const send = (value: number) =>
      post(SEND, {
        raw: `{"to":"+14155552671","channel":"sms","content":{"text":"a"},"metadata":{"__proto__":${value}}}`,
        headers: { 'idempotency-key': 'proto' },
      })
    expect((await send(1)).status).toBe(201)
    expect((await send(1)).headers['idempotent-replayed']).toBe('true')
    expect((await send(2)).status).toBe(400)
  })

  it.each(NAMES.filter((name) => name !== '__proto__'))(
    '%s is an unknown field of a send',
    async (name) => {
      const raw = `${JSON.stringify(sms).slice(0, -1)},"${name}":{}}`
      await expectRefused(SEND, { raw }, `Unknown field: ${name}`)
    },
  )

  it.each(NAMES)('%s is no channel, no scope and no event', async (name) => {
    const channel = 'Invalid channel. Must be one of: sms, whatsapp, email'
    await expectRefused(SEND, { json: { ...sms, channel: name } }, channel)
    const made = await post('/api/v1/api-keys', { json: { name: 'A', scopes: [name] } })
    expect(made.status).toBe(400)
    const hook = await post('/api/v1/webhooks', {
      json: { url: 'https://a.example/', events: [name] },
    })
    expect(hook.status).toBe(400)
  })

  it('are no query parameters either', async () => {
    const { status } = await world().call('GET', '/api/v1/messages?__proto__[x]=1&constructor=2', {
      key,
    })
    expect(status).toBe(200)
  })
})

describe('numbers', () => {
  it.each(['1e999', '-1e999', '1e-7', '-0', '9007199254740993', '0.5'])(
    'expires_in %s is no number of seconds',
    async (number) => {
      const raw = `${JSON.stringify(sms).slice(0, -1)},"expires_in":${number}}`
      const answer = await post(SEND, { raw })
      expect(answer.status).toBe(400)
      expect(answer.body.details[0].path).toBe('expires_in')
    },
  )

  it.each(['1e999', '-1', '1e21', '0.0000001', '1000000000'])(
    'daily_credit_limit %s is no amount',
    async (number) => {
      const answer = await post('/api/v1/api-keys', {
        raw: `{"name":"A","daily_credit_limit":${number}}`,
      })
      expect(answer.status).toBe(400)
      expect(answer.body.details[0].path).toBe('daily_credit_limit')
    },
  )
})

describe('a field of another type is refused, never bent into shape', () => {
  const VALUES = [null, true, 0, 7, '', 'text', [], [[]], ['x'], {}, { a: 1 }, '\u2028', '🦊', -1.5]

  it.each(
    BODIES.flatMap(([path, body]) => Object.keys(body).map((field) => [path, field] as const)),
  )('POST %s: %s', async (path, field) => {
    const body = Object.fromEntries(BODIES)[path]
    for (const value of VALUES) {
      // A name may be any text.
      if (typeof value === 'string' && value !== '' && /name|password/.test(field)) continue
      const { status } = await post(path, { json: { ...body, [field]: value } })
      expect([field, value, status]).toStrictEqual([field, value, 400])
    }
  })
})

describe('what is nowhere', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/api/v1'],
    ['GET', '/api/v2/messages'],
    ['GET', '/api/v1/Messages'],
    ['GET', '//api/v1/messages'],
    ['GET', '/api/v1/messages%2Fsend'],
    ['POST', '/api/v1/messages'],
    ['PUT', SEND],
    ['PATCH', SEND],
    ['HEAD', '/api/v1/messages'],
    ['OPTIONS', SEND],
    ['DELETE', '/api/v1/account'],
    ['PROPFIND', '/'],
    ['QUERY', '/api/v1/messages'],
    ['TRACE', '/'],
    ['GET', '/api/v1/messages/%zz'],
    ['GET', '/%'],
    ['GET', '/%ED%A0%80'],
    ['GET', '/%C0%AE%C0%AE/etc/passwd'],
    ['GET', '/\\..\\'],
    ['GET', `/${'a'.repeat(200)}`],
    ['GET', '/api/v1/messages;limit=0'],
  ])('%s %s is 404', async (method, path) => {
    const answer = await world().call(method, path, { key })
    expect(answer.status).toBe(404)
    if (method !== 'HEAD')
      expect(answer.body).toStrictEqual(refusal('not_found', 'Route not found'))
  })

  it('is 404 whatever is sent there', async () => {
    for (const options of [
      { raw: '{' },
      { raw: 'x'.repeat(300 * KB) },
      { raw: 'x', headers: { 'content-type': 'text/plain' } },
    ]) {
      const answer = await world().call('POST', '/nowhere', options)
      expect(answer.body).toStrictEqual(refusal('not_found', 'Route not found'))
    }
  })
})
