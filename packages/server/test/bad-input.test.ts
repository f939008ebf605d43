import { describe, expect, it } from 'vitest'
import { sms } from './accounts.ts'
import { BODIES, SEND, usePoster } from './bodies.ts'
import { useWorld } from './world.ts'

const { post, get, expectRefused } = usePoster(useWorld())

describe('keys with a meaning in JavaScript', () => {
  const NAMES = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'then',
    'toJSON',
  ]

  it('are plain keys of metadata: stored, returned, and harmless', async () => {
    const inner = '{"polluted":true,"isAdmin":true,"__proto__":{"polluted":true}}'
    const metadata = `{${NAMES.map((name) => `"${name}":${inner}`).join(',')}}`
    const raw = `{"to":"+14155552671","channel":"sms","content":{"text":"a"},"metadata":${metadata}}`
    const sent = await post(SEND, { raw })
    expect(sent.status).toBe(201)
    const path = `/api/v1/messages/${sent.body.data.message_id}`
    expect((await get(path)).text).toContain(`"metadata":${metadata}`)
    expect((await get('/api/v1/messages')).text).toContain(metadata)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.prototype).not.toHaveProperty('isAdmin')
  })

  it('distinguish metadata in a repeated request', async () => {
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

  it.each(NAMES)('refuses %s as channel, scope and event', async (name) => {
    const channel = 'Invalid channel. Must be one of: sms, whatsapp, email'
    await expectRefused(SEND, { json: { ...sms, channel: name } }, channel)
    const made = await post('/api/v1/api-keys', { json: { name: 'A', scopes: [name] } })
    expect(made.status).toBe(400)
    const hook = await post('/api/v1/webhooks', {
      json: { url: 'https://a.example/', events: [name] },
    })
    expect(hook.status).toBe(400)
  })

  it('are refused as query parameters', async () => {
    const { status, body } = await get('/api/v1/messages?__proto__[x]=1&constructor=2')
    expect(status).toBe(400)
    expect(body.message).toBe('Unknown query parameter: __proto__[x]')
  })
})

describe('numbers', () => {
  it.each(['1e999', '-1e999', '1e-7', '-0', '9007199254740993', '0.5'])(
    'expires_in %s is not a number of seconds',
    async (number) => {
      const raw = `${JSON.stringify(sms).slice(0, -1)},"expires_in":${number}}`
      const answer = await post(SEND, { raw })
      expect(answer.status).toBe(400)
      expect(answer.body.details[0].path).toBe('expires_in')
    },
  )

  it.each(['1e999', '-1', '1e21', '0.0000001', '1000000000'])(
    'daily_credit_limit %s is not an amount',
    async (number) => {
      const answer = await post('/api/v1/api-keys', {
        raw: `{"name":"A","daily_credit_limit":${number}}`,
      })
      expect(answer.status).toBe(400)
      expect(answer.body.details[0].path).toBe('daily_credit_limit')
    },
  )
})

describe('a field of another type is refused, and not converted', () => {
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
