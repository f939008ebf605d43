import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { fakeClock } from '../src/clock.ts'
import { fixture } from '../src/fixture.ts'
import { createReceiver, type ReceiverOptions, type TestReceiver } from '../src/receiver.ts'
import { createSender } from '../src/sender.ts'
import { other, secret } from './secrets.ts'

const event = fixture('message.delivered')
const MINUTE_S = 60
const HOUR_S = 3600
const SCHEDULE_S = [
  5,
  30,
  2 * MINUTE_S,
  10 * MINUTE_S,
  30 * MINUTE_S,
  2 * HOUR_S,
  5 * HOUR_S,
].concat([10 * HOUR_S, 14 * HOUR_S, 20 * HOUR_S, 24 * HOUR_S])

const open: TestReceiver[] = []
async function receiver(
  script: ReceiverOptions['script'] = [],
  more: Partial<ReceiverOptions> = {},
) {
  const one = await createReceiver({ secret, script, ...more })
  open.push(one)
  return one
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

describe('deliver', () => {
  it('ends with the first 2xx', async () => {
    const { url, requests } = await receiver([204])
    const report = await createSender({ secret }).deliver(url, event)
    expect(report).toMatchObject({
      event_id: event.event_id,
      event: 'message.delivered',
      outcome: 'delivered',
      attempts: [{ attempt: 1, status: 204, error: null, wait_ms: null }],
      waited_ms: 0,
    })
    expect(report.attempts[0]?.duration_ms).toBeGreaterThanOrEqual(0)
    expect(requests[0]?.verification).toMatchObject({ ok: true, event_id: event.event_id })
  })

  it("makes twelve attempts on the service's schedule, without real waits", async () => {
    const clock = fakeClock()
    const began_ms = clock.now().getTime()
    const { url, requests } = await receiver(Array(12).fill(500), { now: clock.now })
    const report = await createSender({ secret, clock }).deliver(url, event)
    expect(report.outcome).toBe('failed')
    expect(clock.sleeps).toEqual(SCHEDULE_S.map((s) => s * 1000))
    expect(report.waited_ms).toBe(clock.now().getTime() - began_ms)
    expect(requests.map(({ verification }) => verification.ok)).toEqual(Array(12).fill(true))
    expect(requests.map(({ headers }) => headers['x-svc-attempt'])).toEqual(
      Array.from({ length: 12 }, (_, i) => String(i + 1)),
    )
    expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(requests.map(({ headers }) => headers['x-svc-delivery'])).size).toBe(1)
  })

  it('signs with the real time by default, so that any receiver accepts retries', async () => {
    const { url, requests } = await receiver([500, 500, 500])
    const report = await createSender({ secret }).deliver(url, event)
    expect(report).toMatchObject({ outcome: 'delivered', waited_ms: 155_000 })
    expect(requests.every(({ verification }) => verification.ok)).toBe(true)
  })

  it('adds jitter of at most a tenth', async () => {
    const clock = fakeClock()
    const { url } = await receiver([500, 500], { now: clock.now })
    await createSender({ secret, clock, random: () => 0.5 }).deliver(url, event)
    expect(clock.sleeps).toEqual([5_250, 31_500])
  })

  it('waits as configured, and fails after the last attempt', async () => {
    const clock = fakeClock()
    const { url, requests } = await receiver([500, 404, 400], { now: clock.now })
    const report = await createSender({ secret, clock, retry: [1, 2] }).deliver(url, event)
    expect(report).toMatchObject({ outcome: 'failed', waited_ms: 3_000 })
    expect(report.attempts.map(({ status }) => status)).toEqual([500, 404, 400])
    expect(requests).toHaveLength(3)
  })

  it('waits longer, never shorter, for Retry-After of a 429 or 503, and at most a day', async () => {
    const at = new Date('2026-05-04T09:30:00Z')
    const clock = fakeClock(at)
    const date = new Date(at.getTime() + 3_600_000).toUTCString()
    const { url } = await receiver(
      [
        { status: 503, retry_after: date },
        { status: 429, retry_after: 1 },
        { status: 503, retry_after: 999_999_999 },
        { status: 500, retry_after: 3_600 },
        { status: 429, retry_after: 'soon' },
        // No HTTP date: the service ignores it too.
        { status: 429, retry_after: '2026-05-06' },
      ],
      { now: clock.now },
    )
    await createSender({ secret, clock }).deliver(url, event)
    expect(clock.sleeps).toEqual([3_600_000, 30_000, 86_400_000, 600_000, 1_800_000, 7_200_000])
  })

  it('stops at a 410', async () => {
    const { url, requests } = await receiver([500, 410])
    const report = await createSender({ secret }).deliver(url, event)
    expect(report.outcome).toBe('gone')
    expect(requests).toHaveLength(2)
  })

  it('reports the error when there is no answer, and retries', async () => {
    const { url, requests } = await receiver(['timeout', 'reset', 'drip', 'redirect', 'huge'])
    const report = await createSender({ secret, deadline_ms: 150 }).deliver(url, event)
    expect(report.attempts.map(({ status, error }) => status ?? error)).toEqual([
      'timeout',
      'reset',
      'timeout',
      302,
      200,
    ])
    expect(report.attempts[0]?.duration_ms).toBeGreaterThanOrEqual(140)
    expect(report.attempts[4]?.body).toHaveLength(16 * 1024)
    expect(requests.map(({ path }) => path)).toEqual(Array(5).fill('/'))
  })

  it('reports a refused connection', async () => {
    const { url, close } = await receiver()
    await close()
    const report = await createSender({ secret, retry: [] }).deliver(url, event)
    expect(report.attempts).toMatchObject([{ status: null, error: 'connect' }])
  })

  it('finds the secret that a receiver accepts during a rotation', async () => {
    const { url, requests } = await receiver([403], { secret })
    const sender = createSender({ secret, previous_secret: other })
    const report = await sender.deliver(url, event)
    expect(report).toMatchObject({ outcome: 'delivered', attempts: [{ attempt: 1, status: 200 }] })
    await sender.deliver(url, fixture('message.sent'))
    const by = requests.map(({ headers, body }) => [
      headers['x-svc-attempt'],
      [other, secret].findIndex((each) => isSignedBy(each, headers, body)),
    ])
    expect(by).toEqual([
      ['1', 0],
      ['1', 1],
      ['1', 1],
    ])
  })
})

describe('targets', () => {
  const seen: string[] = []
  const note = (header: string | undefined) => void seen.push(String(header))
  const app = express().post('/', (request, response) => {
    note(request.get('x-svc-event'))
    response.sendStatus(204)
  })
  const hono = new Hono().post('/', (context) => {
    note(context.req.header('x-svc-event'))
    return context.body(null, 204)
  })
  const answer = (request: Request) => {
    note(request.headers.get('x-svc-event') ?? undefined)
    return new Response(null, { status: 204 })
  }

  it.each([
    ['an Express app', app],
    ['a Hono app', hono],
    ['a fetch handler', answer],
    ['an object with a fetch handler', { fetch: answer }],
  ])('%s', async (_, target) => {
    seen.length = 0
    const report = await createSender({ secret }).deliver(target, event)
    expect([report.outcome, seen]).toEqual(['delivered', ['message.delivered']])
  })

  it('the routing function of Fastify', async () => {
    const fastify = Fastify()
    fastify.post('/', async (request) => note(request.headers['x-svc-event'] as string))
    await fastify.ready()
    seen.length = 0
    await createSender({ secret }).deliver(fastify.routing, event)
    expect(seen).toEqual(['message.delivered'])
    await fastify.close()
  })

  it('a URL object', async () => {
    const { url, requests } = await receiver()
    await createSender({ secret }).deliver(new URL(url), event)
    expect(requests).toHaveLength(1)
  })

  it.each<[string, () => Promise<Response>, string]>([
    ['that throws', () => Promise.reject(new Error('broken')), 'failed'],
    ['that never answers', () => new Promise(() => {}), 'timeout'],
  ])('a fetch handler %s', async (_, handler, error) => {
    const sender = createSender({ secret, retry: [], deadline_ms: 30 })
    expect(await sender.deliver(handler, event)).toMatchObject({
      attempts: [{ error, status: null }],
    })
  })
})

describe('duplicate', () => {
  it('sends the same event again after it was acknowledged', async () => {
    const one = await receiver()
    const reports = await createSender({ secret }).duplicate(one.url, event, { times: 3 })
    expect(reports.map(({ outcome }) => outcome)).toEqual(Array(3).fill('delivered'))
    expect(one.requests).toHaveLength(3)
    expect(one.duplicates).toMatchObject([{ event_id: event.event_id }])
  })

  it('sends concurrently with `concurrent`', async () => {
    let inFlight = 0
    let most = 0
    const server = createServer(async (request, response) => {
      most = Math.max(most, ++inFlight)
      request.resume()
      setTimeout(() => {
        inFlight--
        response.end()
      }, 50)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    await createSender({ secret }).duplicate(url, event, { times: 4, concurrent: true })
    expect(most).toBe(4)
    server.close()
  })
})

describe('reorder', () => {
  const events = [1, 2, 3].map((sequence) => fixture('message.sent', { sequence }))
  const order = (one: TestReceiver) => one.requests.map(({ data }) => data?.sequence)

  it.each([
    ['reversed', [3, 2, 1]],
    ['shuffled', [2, 1, 3]],
  ] as const)('%s', async (name, expected) => {
    const one = await receiver()
    const reports = await createSender({ secret }).reorder(one.url, events, { order: name })
    expect(order(one)).toEqual(expected)
    expect(reports).toHaveLength(3)
  })
})

describe('an app in this process with the receiver at a path', () => {
  const express_ = express().post('/hooks/svc', (_, response) => void response.sendStatus(204))
  const hono = new Hono().post('/hooks/svc', (context) => context.body(null, 204))
  const fetch_ = (request: Request) =>
    new Response(null, { status: new URL(request.url).pathname === '/hooks/svc' ? 204 : 404 })

  it.each([
    ['Express', express_],
    ['Hono', hono],
    ['a fetch handler', fetch_],
  ])('%s gets deliveries at the path, and a 404 is explained', async (_, app) => {
    const there = createSender({ secret, path: '/hooks/svc' })
    const done = await there.deliver(app, event)
    expect(done).toMatchObject({ outcome: 'delivered', attempts: [{ status: 204 }] })
    expect(done.attempts[0]).not.toHaveProperty('hint')
    expect((await there.forge(app, event, 'flipped_byte')).status).toBe(204)
    const { attempts } = await createSender({ secret, retry: [] }).deliver(app, event)
    const hint = expect.stringMatching(/404 at \/\. .*path: '\/hooks\/svc'/)
    expect(attempts).toMatchObject([{ status: 404, hint }])
  })

  it('refuses a path without a slash', async () => {
    const sender = createSender({ secret, path: 'hooks' })
    await expect(sender.deliver(fetch_, event)).rejects.toThrow('path must begin with a slash')
  })
})

describe('forge', () => {
  it('makes one attempt with a forgery', async () => {
    const { url, requests } = await receiver()
    const attempt = await createSender({ secret }).forge(url, event, 'flipped_byte')
    expect(attempt).toMatchObject({ attempt: 1, status: 403, wait_ms: null })
    expect(requests).toMatchObject([{ verification: { ok: false, reason: 'signature_mismatch' } }])
  })
})

function isSignedBy(
  each: string,
  headers: Record<string, string | string[] | undefined>,
  body: Buffer,
): boolean {
  return createHmac('sha256', each).update(body).digest('hex') === headers['x-svc-signature']
}
