import { createHmac, timingSafeEqual } from 'node:crypto'
import { verify } from '@svc/core/webhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer } from './every-answer.ts'
import { type Arrival, openReceiver } from './receiver.ts'
import { useWorld } from './world.ts'

/**
 * The whole path over real sockets: sign up, log in, create a key and a webhook, send to every test recipient
 * (contract, section 9), and check statuses, credits, events and deliveries against the contract.
 */

const STORIES = [
  ['sms', '+255700000001', 'delivered', null, ['sent', 'delivered']],
  ['sms', '+15005550001', 'failed', 'invalid_recipient', ['failed']],
  ['sms', '+15005550002', 'failed', 'unroutable', ['failed']],
  ['sms', '+15005550004', 'failed', 'opted_out', ['failed']],
  ['sms', '+15005550005', 'delivered', null, ['sent', 'delivered']],
  ['sms', '+15005550006', 'delivered', null, ['sent', 'delivered']],
  ['sms', '+15005550007', 'failed', 'undelivered', ['sent', 'failed']],
  ['sms', '+15005550008', 'delivered', null, ['sent', 'delivered']],
  ['sms', '+15005550009', 'delivered', null, ['sent', 'delivered']],
  ['whatsapp', '+255700000001', 'delivered', null, ['sent', 'delivered']],
  ['email', 'asha@example.com', 'delivered', null, ['sent', 'delivered']],
  ['email', 'invalid@sandbox.svc', 'failed', 'invalid_recipient', ['failed']],
  ['email', 'delivered@sandbox.svc', 'delivered', null, ['sent', 'delivered']],
  ['email', 'bounced@sandbox.svc', 'failed', 'bounced', ['sent', 'failed']],
] as const

const PRICES = { sms: 1, whatsapp: 0.5, email: 0.1 }
const CONTENTS = {
  sms: { text: 'Your order A1 is ready' },
  whatsapp: { text: 'Your order A1 is ready' },
  email: { subject: 'Your order', html: '<p>It is ready.</p>' },
}

const world = useWorld({ listen: true, dispatch: true, signup_credits: '100' })

interface Event {
  event: string
  data: Record<string, unknown> & { message_id: string; sequence: number }
}

let receiver: Awaited<ReturnType<typeof openReceiver>>
let token: string
let key: string
let webhook: { id: string; secret: string }
/** The message to each recipient, by channel and recipient. */
const ids = new Map<string, string>()

async function request(method: string, path: string, body?: object, headers = {}) {
  const response = await fetch(`${world().url}/api/v1${path}`, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as Answer['body']
  if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return answer.data
}
const asOwner = (method: string, path: string, body?: object) =>
  request(method, path, body, { authorization: `Bearer ${token}` })
const asKey = (method: string, path: string, body?: object) =>
  request(method, path, body, { 'x-api-key': key })

beforeAll(async () => {
  receiver = await openReceiver()
  const email = 'Owner@Example.com'
  const password = 'correct horse battery'
  await request('POST', '/auth/signup', { email, password, company_name: 'Journey Ltd' })
  token = (await request('POST', '/auth/login', { email: 'owner@example.com', password })).token
  const scopes = ['send_messages', 'read_messages']
  key = (await asOwner('POST', '/api-keys', { name: 'Journey', scopes })).key
  webhook = (await asOwner('POST', '/webhooks', { url: receiver.url })).webhook
  for (const [channel, to] of STORIES) {
    const metadata = { story: to }
    const sent = await asKey('POST', '/messages/send', {
      to,
      channel,
      content: CONTENTS[channel],
      metadata,
    })
    ids.set(`${channel} ${to}`, sent.message_id)
  }
  await world().dispatcher.idle()
})
afterAll(() => receiver.close())

const messageOf = async (channel: string, to: string) =>
  (await asKey('GET', `/messages/${ids.get(`${channel} ${to}`)}`)).message

/** The events about a message, in their order. */
function eventsOf(messageId: string | undefined): Event[] {
  return receiver.arrivals
    .map(({ body }): Event => JSON.parse(body.toString()))
    .filter(({ event, data }) => event !== 'message.received' && data.message_id === messageId)
    .sort((a, b) => a.data.sequence - b.data.sequence)
}

describe('before time passes', () => {
  it('a slow recipient has no message yet, and a flaky provider is retried later', async () => {
    expect(await messageOf('sms', '+15005550005')).toMatchObject({
      status: 'sent',
      delivered_at: null,
    })
    expect(await messageOf('sms', '+15005550009')).toMatchObject({ status: 'queued' })
    await world().advance(29_000)
    expect(await messageOf('sms', '+15005550005')).toMatchObject({ status: 'sent' })
    expect(await messageOf('sms', '+15005550009')).toMatchObject({ status: 'delivered' })
    await world().advance(1_000)
    const slow = await messageOf('sms', '+15005550005')
    expect(slow).toMatchObject({ status: 'delivered', delivered_at: '2026-05-04T09:00:30.000Z' })
  })
})

describe('at the end', () => {
  it.each(STORIES)(
    '%s to %s is %s (%s), with events %j',
    async (channel, to, status, code, statuses) => {
      const message = await messageOf(channel, to)
      const isRefunded = status === 'failed' && !statuses.some((word) => word === 'sent')
      expect(message).toMatchObject({
        status,
        error_code: code,
        error_message: code === null ? null : expect.any(String),
        credits_used: PRICES[channel],
        credits_refunded: isRefunded ? PRICES[channel] : 0,
        provider: 'sandbox',
        provider_message_id: isRefunded ? null : expect.stringMatching(/^sandbox_/),
        livemode: true,
      })
      const events = eventsOf(message.id)
      expect(events.map(({ event }) => event)).toStrictEqual(
        statuses.map((word) => `message.${word}`),
      )
      for (const [i, { event, data }] of events.entries()) {
        expect(data).toStrictEqual({
          message_id: message.id,
          recipient: to,
          channel,
          status: event.replace('message.', ''),
          credits_used: PRICES[channel],
          metadata: { story: to },
          bulk_id: null,
          livemode: true,
          provider_message_id: message.provider_message_id,
          error_code: event === 'message.failed' ? code : null,
          error_message: event === 'message.failed' ? message.error_message : null,
          occurred_at: expect.stringMatching(/^2026-05-04T09:00:\d\d\.\d{3}Z$/),
          sequence: i + 1,
        })
      }
    },
  )

  it('only messages that no provider accepted are refunded', async () => {
    const spent = STORIES.reduce((sum, [channel]) => sum + PRICES[channel], 0)
    const back = 3 * PRICES.sms + PRICES.email
    const { credits_balance, credits_held } = await asOwner('GET', '/account')
    expect(credits_balance).toBeCloseTo(100 - spent + back, 6)
    expect(credits_held).toBe(0)
  })

  it('the talkative recipient replies', () => {
    const replies = receiver.arrivals
      .map(({ body }): Event => JSON.parse(body.toString()))
      .filter(({ event }) => event === 'message.received')
    expect(replies).toHaveLength(1)
    expect(replies[0]?.data).toMatchObject({ channel: 'sms', sender: '+15005550008' })
  })
})

describe('every delivery', () => {
  it('is signed, checked with the library for receivers', () => {
    expect(receiver.arrivals.length).toBeGreaterThan(20)
    for (const { headers, body } of receiver.arrivals) {
      const checked = verify({ secret: webhook.secret, body, headers, now: world().now() })
      expect(checked).toMatchObject({ ok: true, event: JSON.parse(body.toString()).event })
      const altered = Buffer.concat([body.subarray(0, -1), Buffer.from(' }')])
      expect(verify({ secret: webhook.secret, body: altered, headers }).ok).toBe(false)
      const signature = headers['x-svc-signature'] as string
      expect(verify({ secret: webhook.secret, body, signature }).ok).toBe(true)
    }
  })

  it('is signed, checked with eight lines of node:crypto', () => {
    for (const { headers, body } of receiver.arrivals) expect(isOurs(headers, body)).toBe(true)
    const [first] = receiver.arrivals
    const forged = { ...first?.headers, 'x-svc-signature': '0'.repeat(64) }
    expect(isOurs(forged, first?.body ?? Buffer.alloc(0))).toBe(false)
  })

  it('is signed according to Standard Webhooks', () => {
    const bytes = Buffer.from(webhook.secret.replace('whsec_', ''), 'base64')
    for (const { headers, body } of receiver.arrivals) {
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
      const digest = createHmac('sha256', bytes).update(signed).digest('base64')
      expect(headers['webhook-signature']).toBe(`v1,${digest}`)
    }
  })

  it('has the headers of the contract, each once', () => {
    for (const { headers, body } of receiver.arrivals) {
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'x-svc-event': JSON.parse(body.toString()).event,
        'x-svc-signature-256': `sha256=${headers['x-svc-signature']}`,
        'x-svc-attempt': '1',
      })
      expect(Object.keys(JSON.parse(body.toString()))).toStrictEqual(['event', 'data'])
    }
    const names = receiver.arrivals.map(({ headers }) => headers['x-svc-delivery'])
    expect(new Set(names).size).toBe(names.length)
  })

  it('is in the list of deliveries', async () => {
    const { deliveries, pagination } = await asOwner(
      'GET',
      `/webhooks/${webhook.id}/deliveries?limit=100`,
    )
    expect(pagination.total).toBe(receiver.arrivals.length)
    const listed = deliveries.map(({ id }: { id: string }) => id).sort()
    expect(listed).toStrictEqual(receiver.arrivals.map((a) => a.headers['x-svc-delivery']).sort())
    for (const delivery of deliveries) {
      expect(delivery).toStrictEqual({
        id: expect.any(String),
        webhook_id: webhook.id,
        event: expect.stringMatching(/^message\./),
        message_id: expect.any(String),
        status: 'delivered',
        trigger: 'event',
        livemode: true,
        attempt_count: 1,
        max_attempts: 12,
        next_attempt_at: null,
        next_attempt_reason: null,
        response_status: 200,
        response_time_ms: expect.any(Number),
        error: null,
        created_at: expect.any(String),
        delivered_at: expect.any(String),
      })
    }
    const record = (await asOwner('GET', `/webhooks/${webhook.id}`)).webhook
    expect(record).toMatchObject({ status: 'active', consecutive_failures: 0 })
    expect(record.last_success_at).not.toBeNull()
  })
})

/** The check of a receiver without a library. */
function isOurs(headers: Arrival['headers'], body: Buffer): boolean {
  const received = Buffer.from(String(headers['x-svc-signature']), 'hex')
  const hmac = createHmac('sha256', webhook.secret)
  hmac.update(body)
  const expected = hmac.digest()
  if (received.length !== expected.length) return false
  return timingSafeEqual(received, expected)
}
