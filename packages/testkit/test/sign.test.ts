import { execFileSync } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { verify as verifyWithOctokit } from '@octokit/webhooks-methods'
import { EVENT_KINDS } from '@svc/core/contract'
import Fastify from 'fastify'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { fixture } from '../src/fixture.ts'
import { verify } from '../src/index.ts'
import { sign } from '../src/sign.ts'
import { other, secret } from './secrets.ts'

const event = fixture('message.delivered', { metadata: { note: "Asha's – 😀" } })

describe.each(EVENT_KINDS)('a signed %s is accepted', (kind) => {
  const { headers, body } = sign(fixture(kind), { secret })
  const text = body.toString('utf8')

  it('by our verifier', () => {
    expect(verify({ secret, headers, body })).toMatchObject({ ok: true, event: kind })
  })

  it('by standardwebhooks', () => {
    expect(new StandardWebhook(secret).verify(text, { ...headers })).toEqual(JSON.parse(text))
    expect(() => new StandardWebhook(other).verify(text, { ...headers })).toThrow()
  })

  it('by svix', () => {
    expect(() => new SvixWebhook(secret).verify(text, { ...headers })).not.toThrow()
    expect(() => new SvixWebhook(other).verify(text, { ...headers })).toThrow()
  })

  it('by @octokit/webhooks-methods', async () => {
    const signature = headers['X-Svc-Signature-256'] as string
    expect(await verifyWithOctokit(secret, text, signature)).toBe(true)
    expect(await verifyWithOctokit(other, text, signature)).toBe(false)
  })

  it('by node:crypto alone, as in the specification', () => {
    const expected = createHmac('sha256', secret).update(body).digest()
    const signature = Buffer.from(headers['X-Svc-Signature'] as string, 'hex')
    expect(timingSafeEqual(expected, signature)).toBe(true)
  })
})

describe('sign', () => {
  it('returns the bytes and the headers of the service', () => {
    const at = new Date('2026-05-04T09:30:00.900Z')
    const { headers, body } = sign(event, { secret, at, attempt: 3 })
    expect(body.toString('utf8')).toBe(JSON.stringify({ event: event.event, data: event.data }))
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Svc-Webhooks/1',
      'X-Svc-Event': 'message.delivered',
      'X-Svc-Attempt': '3',
      'webhook-id': event.event_id,
      'webhook-timestamp': '1777887000',
    })
  })

  it('keeps ids across the attempts of one event', () => {
    const first = sign(event, { secret }).headers
    const second = sign(event, { secret, attempt: 2, at: new Date(0) }).headers
    expect(second['webhook-id']).toBe(first['webhook-id'])
    expect(second['X-Svc-Delivery']).toBe(first['X-Svc-Delivery'])
  })

  it('signs with both secrets of a rotation', () => {
    const { headers, body } = sign(event, { secret, previous_secret: other })
    expect(verify({ secret, headers, body })).toMatchObject({ ok: true })
    expect(verify({ secret: other, headers, body })).toMatchObject({ ok: true })
  })

  it('sends the webhook’s own headers, but never in place of the service’s', () => {
    const own = { 'X-Team': 'blue', 'x-svc-signature': 'forged', 'Content-Type': 'text/plain' }
    const { headers, body } = sign(event, { secret, headers: own })
    expect(headers).toMatchObject({ 'X-Team': 'blue', 'content-type': 'application/json' })
    expect(Object.keys(headers)).not.toContain('x-svc-signature')
    expect(verify({ secret, headers, body })).toMatchObject({ ok: true })
  })

  it('signs events of other kinds, with ids derived from their content', () => {
    const custom = { event: 'order.paid', data: { id: 1 } }
    const { headers } = sign(custom, { secret })
    expect(headers['webhook-id']).toBe(sign(custom, { secret }).headers['webhook-id'])
    expect(headers['X-Svc-Event']).toBe('order.paid')
  })

  it.each(['', 'whsec_'])('refuses the empty secret %j', (empty) => {
    expect(() => sign(event, { secret: empty })).toThrow('A webhook secret is empty')
  })
})

describe('a signed delivery', () => {
  const delivery = sign(event, { secret })

  it('converts to a fetch Request', async () => {
    const request = delivery.toRequest('http://receiver.test/hooks')
    expect([request.method, request.url]).toEqual(['POST', 'http://receiver.test/hooks'])
    const body = Buffer.from(await request.arrayBuffer())
    expect(verify({ secret, headers: request.headers, body })).toMatchObject({ ok: true })
  })

  it('converts to the options of fastify.inject', async () => {
    const app = Fastify()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) =>
      done(null, body),
    )
    app.post('/hooks', ({ headers, body }) => verify({ secret, headers, body: body as Buffer }))
    const { statusCode, body } = await app.inject(delivery.toInject('/hooks'))
    expect([statusCode, JSON.parse(body)]).toMatchObject([200, { ok: true }])
    await app.close()
  })

  it('converts to a shell command that sends the exact bytes', () => {
    const printing = `curl() { for each in "$@"; do printf '%s\\0' "$each"; done; }; ${delivery.toCurl("http://receiver.test/it's")}`
    const words = execFileSync('sh', ['-c', printing]).toString('utf8').split('\0').slice(0, -1)
    const names = Object.entries(delivery.headers).flatMap(([name, value]) => [
      '-H',
      `${name}: ${value}`,
    ])
    expect(words).toEqual([
      '-X',
      'POST',
      "http://receiver.test/it's",
      ...names,
      '--data-raw',
      delivery.body.toString('utf8'),
    ])
  })
})
