import { once } from 'node:events'
import { connect } from 'node:net'
import { SvcError } from '@svc/core/contract'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Account, bulk, sms } from './accounts.ts'
import type { Answer } from './every-answer.ts'
import { notification } from './notification.ts'
import { requestText, speak } from './raw-http.ts'
import { refusal } from './refusal.ts'
import { openWorld, QUIET, useWorld } from './world.ts'

const TOO_BUSY = refusal('rate_limit_exceeded', 'Too many requests. Please try again later.')

it('answers 429 for work that the core is too busy for, without a fault in the log', async () => {
  const busy = new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 1,
  })
  const world = await openWorld({
    alter: (core) => ({
      ...core,
      messages: { ...core.messages, send: () => Promise.reject(busy) },
    }),
  })
  const { key } = await world.key(await world.signup({ credits: 1 }))
  const { status, headers, body } = await world.send(key)
  expect(status).toBe(429)
  expect(headers['retry-after']).toBe('1')
  expect(body).toStrictEqual(TOO_BUSY)
  // The rate limit still has requests left, as the headers show.
  expect(Number(headers['x-ratelimit-remaining'])).toBeGreaterThan(0)
  await world.close()
})

describe('under increasing load', () => {
  let load = QUIET
  afterEach(() => {
    load = QUIET
  })
  const world = useWorld({
    listen: true,
    overload: { requests: 100, delay_ms: 1_000 },
    load: () => load,
    rates: { failed_auth: { max: 1, window_s: 60 } },
  })
  let owner: Account
  let key: string
  beforeAll(async () => {
    owner = await world().signup({ credits: 100 })
    key = (await world().key(owner)).key
  })

  const calls: Record<string, () => Promise<Answer>> = {
    bulk: () => world().bulk(key),
    list: () => world().call('GET', '/api/v1/messages', { key }),
    account: () => world().call('GET', '/api/v1/account', { token: owner.token }),
    estimate: () => world().call('POST', '/api/v1/messages/estimate', { key, json: sms }),
    page: () => world().app.inject('/docs').then(asAnswer),
    send: () => world().send(key),
    checkout: () =>
      world().call('POST', '/api/v1/billing/checkout', {
        token: owner.token,
        json: { package_id: 'starter' },
      }),
    notification: () =>
      world().call('POST', '/api/v1/billing/webhook', notification(world().now())),
    health: () => world().call('GET', '/health'),
    live: () => world().call('GET', '/health/live'),
    ready: () => world().call('GET', '/health/ready'),
  }
  const ORDINARY = ['list', 'account', 'estimate', 'page']

  it.each([
    ['requests', 25, []],
    ['requests', 26, ['bulk']],
    ['requests', 51, ['bulk', ...ORDINARY]],
    ['requests', 101, ['bulk', ...ORDINARY, 'send', 'checkout']],
    ['requests', 1_000_000, ['bulk', ...ORDINARY, 'send', 'checkout']],
    ['delay_ms', 251, ['bulk']],
    ['delay_ms', 501, ['bulk', ...ORDINARY]],
    ['delay_ms', 1_001, ['bulk', ...ORDINARY, 'send', 'checkout']],
  ])('%s %d refuses %j', async (measure, value, shed) => {
    load = { ...QUIET, [measure]: value }
    const refused: string[] = []
    for (const [name, request] of Object.entries(calls)) {
      const { status, headers, body } = await request()
      if (status < 300) continue
      expect(status, name).toBe(429)
      expect(headers['retry-after']).toBe('5')
      expect(body).toStrictEqual(TOO_BUSY)
      refused.push(name)
    }
    expect(refused).toStrictEqual(shed)
  })

  it('writes nothing for a refused request, which may be repeated', async () => {
    const headers = { 'idempotency-key': 'again' }
    const bulkOnce = () =>
      world().call('POST', '/api/v1/messages/bulk', { key, json: bulk, headers })
    const before = await world().written(owner)
    load = { ...QUIET, requests: 101 }
    expect((await world().send(key, {}, headers)).status).toBe(429)
    expect((await bulkOnce()).status).toBe(429)
    expect(await world().written(owner)).toStrictEqual(before)
    load = QUIET
    expect((await world().send(key, {}, headers)).status).toBe(201)
    expect((await bulkOnce()).status).toBe(201)
  })

  it('does not wait for the body of a refused request', async () => {
    load = { ...QUIET, requests: 26 }
    const head = requestText('POST /api/v1/messages/bulk HTTP/1.1', [
      `X-API-Key: ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${4 * 1024 * 1024}`,
    ])
    const { statuses } = await speak(world().url, (socket) => socket.write(head))
    expect(statuses).toStrictEqual([429])
  })

  it('reports a missing credential, a missing scope and an exceeded limit before overload', async () => {
    const { key: narrow } = await world().key(owner, { scopes: ['read_messages'] })
    load = { ...QUIET, requests: 101 }
    expect((await world().call('GET', '/nothing')).status).toBe(404)
    expect((await world().call('POST', '/api/v1/messages/bulk', { json: bulk })).status).toBe(401)
    expect((await world().bulk(narrow)).status).toBe(403)
    const from = '192.0.2.9'
    const guess = () => world().call('GET', '/api/v1/messages', { key: 'svc_bad', from })
    expect((await guess()).status).toBe(401)
    expect((await guess()).body.message).toMatch(/^Rate limit exceeded/)
  })
})

it('counts requests in progress as load, and not after they end', async () => {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let waiting = 0
  const world = await openWorld({
    load: 'measured',
    // Bulk is refused from the second request on, lists from the third, sends from the fifth.
    overload: { requests: 4, delay_ms: 1_000_000 },
    alter: (core) => ({
      ...core,
      messages: {
        ...core.messages,
        async listShort(...args) {
          waiting += 1
          await held
          // Failed work has ended too.
          if (waiting % 2) throw new SvcError('not_found', 'gone')
          return core.messages.listShort(...args)
        },
      },
    }),
  })
  const account = await world.signup({ credits: 100 })
  const { key } = await world.key(account)
  const list = () => world.call('GET', '/api/v1/messages', { key })
  const holding = [list(), list()]
  await expect.poll(() => waiting).toBe(2)
  expect((await world.bulk(key)).status).toBe(429)
  expect((await list()).status).toBe(429)
  expect((await world.send(key)).status).toBe(201)
  letGo()
  await Promise.all(holding)
  for (let i = 0; i < 10; i++) expect((await world.bulk(key)).status).toBe(201)
  await world.close()
})

it('refuses by the wait of requests, and still answers health checks', async () => {
  const world = await openWorld({
    load: 'measured',
    overload: { requests: 1_000_000, delay_ms: 20 },
  })
  const { key } = await world.key(await world.signup({ credits: 2_000 }))
  await world.send(key)
  let answered = 0
  const sending = Array.from({ length: 1_500 }, async () => {
    const { status, headers } = await world.send(key)
    answered += 1
    return { status, retry_after: headers['retry-after'] }
  })
  const { status } = await world.call('GET', '/health')
  expect(status).toBe(200)
  expect(answered).toBeLessThan(750)
  const answers = await Promise.all(sending)
  const shed = answers.filter((answer) => answer.status === 429)
  const accepted = answers.filter((answer) => answer.status === 201)
  // 1,500 sends take longer than 20 ms, and the first of them do not wait.
  expect(shed.length).toBeGreaterThan(0)
  expect(accepted.length).toBeGreaterThanOrEqual(64)
  expect(shed.length + accepted.length).toBe(1_500)
  expect(new Set(shed.map(({ retry_after }) => retry_after))).toStrictEqual(new Set(['5']))
  const again = async () => (await world.send(key)).status
  await expect.poll(again, { timeout: 10_000 }).toBe(201)
  await world.close()
})

it('answers one request on a connection above the limit, and closes it; health is served', async () => {
  const world = await openWorld({ listen: true, connections_max: 2 })
  const { key } = await world.key(await world.signup({ credits: 10 }))
  const get = (path: string) =>
    speak(world.url, (socket) =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: svc\r\nX-API-Key: ${key}\r\n\r\n`),
    )
  const { hostname, port } = new URL(world.url)
  const idle = [1, 2].map(() => connect({ host: hostname, port: Number(port) }))
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  const list = await get('/api/v1/messages')
  expect(list.statuses).toStrictEqual([429])
  expect(list.text).toMatch(/\r\nretry-after: 5\r\n/i)
  expect(list.text).toMatch(/\r\nconnection: close\r\n/i)
  expect(list.text).toContain(JSON.stringify(TOO_BUSY))
  const health = await get('/health')
  expect(health.statuses).toStrictEqual([200])
  expect(health.text).toMatch(/\r\nconnection: close\r\n/i)
  // Far above the limit, connections get no answer.
  expect(world.app.server.maxConnections).toBe(1_002)
  for (const socket of idle) socket.destroy()
  const status = async () => {
    const headers = { 'x-api-key': key, connection: 'close' }
    return (await fetch(`${world.url}/api/v1/messages`, { headers })).status
  }
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
  await world.close()
})

function asAnswer(response: { statusCode: number; headers: object; body: string }): Answer {
  const { statusCode: status, headers, body: text } = response
  const body = status === 200 ? undefined : JSON.parse(text)
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`])),
    text,
    body,
  }
}
