import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { buildApp } from '../src/app.ts'
import { sms } from './accounts.ts'
import { notification } from './notification.ts'
import { within } from './within.ts'
import { JWT_SECRET, openWorld, QUIET, ratesOf, type WorldOptions } from './world.ts'

/** A world whose reads of single messages wait until the test releases them. */
async function heldWorld(options: WorldOptions = {}) {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let waiting = 0
  const world = await openWorld({
    listen: true,
    ...options,
    alter: (core) => ({
      ...core,
      messages: {
        ...core.messages,
        async get(...args) {
          waiting += 1
          await held
          return core.messages.get(...args)
        },
      },
    }),
  })
  const account = await world.signup({ credits: 10 })
  const { key } = await world.key(account)
  const id: string = (await world.send(key)).body.data.message_id
  const text = (method: string, path: string) =>
    `${method} ${path} HTTP/1.1\r\nHost: svc\r\nX-API-Key: ${key}\r\n\r\n`
  return {
    world,
    letGo,
    /** Resolves when this number of requests is held. */
    holding: (count: number) => expect.poll(() => waiting).toBe(count),
    heldRequest: text('GET', `/api/v1/messages/${id}`),
    request: (path: string) => text('GET', path),
  }
}

/** A connection with its received bytes. */
async function open(url: string): Promise<{ socket: Socket; received: () => string }> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'connect')
  return { socket, received: () => text }
}

const statusesOf = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

it('answers requests in flight, refuses late ones, and closes idle connections', async () => {
  const { world, letGo, holding, heldRequest, request } = await heldWorld()
  const busy = await open(world.url)
  const late = await open(world.url)
  const idle = await open(world.url)
  idle.socket.write(request('/health'))
  busy.socket.write(heldRequest)
  late.socket.write(heldRequest)
  await holding(2)
  await expect.poll(idle.received).toContain('"status":')

  const ended = Promise.all([busy, late, idle].map(({ socket }) => once(socket, 'close')))
  const closing = world.app.close()
  await within(1_000, 'the idle connection to end', once(idle.socket, 'close'))
  await expect(fetch(`${world.url}/health`)).rejects.toThrow()
  late.socket.write(request('/api/v1/messages') + request('/nothing'))
  late.socket.write(request('/health/live') + request('/health/ready'))
  await pause(100)
  letGo()
  await within(2_000, 'the app to close', closing)
  await ended

  expect(statusesOf(busy.received())).toStrictEqual([200])
  expect(busy.received()).toContain('"success":true')
  const [first, second] = late.received().split(/(?=HTTP\/1\.1 429 )/)
  expect(statusesOf(first ?? '')).toStrictEqual([200])
  expect(second?.toLowerCase()).toContain('\r\nretry-after: 5\r\n')
  expect(second?.toLowerCase()).toContain('\r\nconnection: close\r\n')
  expect(second).toContain(
    '{"success":false,"error":"rate_limit_exceeded","message":"Too many requests. Please try again later."}',
  )
  await world.close()
})

it.each([
  ['/health', 200, '"status":"degraded"'],
  ['/health/live', 200, '{"status":"ok"}'],
  ['/health/ready', 503, '{"status":"stopping"}'],
])('answers the probe %s while it stops: %d %s', async (path, status, text) => {
  const { world, letGo, holding, heldRequest, request } = await heldWorld()
  const probe = await open(world.url)
  probe.socket.write(heldRequest)
  await holding(1)
  const ended = once(probe.socket, 'close')
  const closing = world.app.close()
  await pause(20)
  probe.socket.write(request(path))
  await pause(50)
  letGo()
  await Promise.all([closing, ended])
  expect(statusesOf(probe.received())).toStrictEqual([200, status])
  expect(probe.received()).toContain(text)
  await world.close()
})

it('requests accepted before the end are stored after it', async () => {
  const world = await openWorld({ listen: true, dispatch: true })
  const account = await world.signup({ credits: 200 })
  const { key } = await world.key(account)
  const sending = Array.from({ length: 100 }, () => world.send(key))
  const closing = world.app.close()
  const statuses = (await Promise.all(sending)).map(({ status }) => status)
  await closing
  const sent = statuses.filter((status) => status === 201).length
  expect(sent + statuses.filter((status) => status === 429).length).toBe(100)
  expect((await world.written(account)).messages).toBe(sent)
  await world.close()
})

it('waits a limited time for a client that does not finish its request', async () => {
  const { world, letGo } = await heldWorld({ grace_ms: 300 })
  letGo()
  const slow = await open(world.url)
  slow.socket.on('error', () => {})
  slow.socket.write('POST /api/v1/auth/login HTTP/1.1\r\nHost: svc\r\nContent-Le')
  const drip = setInterval(() => slow.socket.write('n'), 50)
  await pause(100)
  const began = performance.now()
  await within(3_000, 'the app to close', world.app.close())
  clearInterval(drip)
  expect(performance.now() - began).toBeGreaterThan(250)
  slow.socket.destroy()
  await world.close()
})

/** Sends repeatedly on one keep-alive connection until a refusal. Resolves with all other faults. */
async function sendUntilRefused(url: string, key: string, onSent: () => void): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const send = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const sending = httpRequest(`${url}/api/v1/messages/send`, { agent, method: 'POST', headers })
      sending.once('error', reject).once('response', (response) => {
        response.once('error', reject).resume()
        response.once('end', () => resolve(response.statusCode))
      })
      sending.end(JSON.stringify(sms))
    })
  const faults: string[] = []
  for (;;) {
    try {
      const status = await send()
      if (status === 201) onSent()
      else faults.push(`status ${status}`)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'ECONNREFUSED') faults.push(code ?? message)
      else break
    }
  }
  agent.destroy()
  return faults
}

it('resets no client that keeps its connection and sends during a close, in many stops', async () => {
  const world = await openWorld({ signup_credits: '100000' })
  const account = await world.signup()
  const { key } = await world.key(account)
  const config = { jwt_secret: JWT_SECRET, rates: ratesOf(), trust_proxy: [] }
  let sent = 0
  for (let stop = 0; stop < 12; stop++) {
    const app = await buildApp(world.core, { config, load: () => QUIET })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const before = sent
    const callers = Array.from({ length: 6 }, () => sendUntilRefused(url, key, () => void sent++))
    await expect.poll(() => sent, { interval: 5, timeout: 20_000 }).toBeGreaterThan(before + 20)
    await app.close()
    expect((await Promise.all(callers)).flat()).toStrictEqual([])
  }
  // Each answer arrived: no request lacks an answer.
  expect((await world.written(account)).messages).toBe(sent)
  await world.close()
})

it('serves open connections for a while, and marks each answer as the last', async () => {
  const { world, letGo, holding, heldRequest, request } = await heldWorld({ linger_ms: 20_000 })
  const busy = await open(world.url)
  const idle = await open(world.url)
  busy.socket.write(heldRequest)
  idle.socket.write(request('/health/live'))
  await holding(1)
  await expect.poll(idle.received).toContain('"status":')
  const ended = Promise.all([busy, idle].map(({ socket }) => once(socket, 'close')))
  const closing = world.app.close()
  const { port } = new URL(world.url)
  await expect.poll(() => refuses(Number(port)), { timeout: 5_000 }).toBe(true)
  idle.socket.write(request('/api/v1/messages'))
  letGo()
  await expect.poll(() => statusesOf(busy.received())).toHaveLength(1)
  busy.socket.write(request('/health/ready'))
  await ended
  await within(5_000, 'the app to close', closing)
  const closes = /\r\nconnection: close\r\n/gi
  expect(statusesOf(busy.received())).toStrictEqual([200, 503])
  expect(busy.received().match(closes)).toHaveLength(1)
  expect(statusesOf(idle.received())).toStrictEqual([200, 200])
  expect(idle.received().match(closes)).toHaveLength(1)
  await world.close()
})

/** Whether no server listens there. */
function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
    socket.once('connect', () => socket.destroy())
  })
}

it('a second close does no harm', async () => {
  const world = await openWorld({ listen: true })
  await Promise.all([world.app.close(), world.app.close()])
  await world.close()
})

it('accepts payment notifications to the end', async () => {
  const { world, letGo, holding, heldRequest } = await heldWorld()
  const provider = await open(world.url)
  provider.socket.write(heldRequest)
  await holding(1)
  const ended = once(provider.socket, 'close')
  const closing = world.app.close()
  await pause(20)
  const { raw, headers } = notification(world.now())
  provider.socket.write(
    `POST /api/v1/billing/webhook HTTP/1.1\r\nHost: svc\r\nStripe-Signature: ${headers['stripe-signature']}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${raw.length}\r\n\r\n${raw}`,
  )
  await pause(50)
  letGo()
  await Promise.all([closing, ended])
  expect(statusesOf(provider.received())).toStrictEqual([200, 200])
  await world.close()
})

it('has no limit for the time of its start, in which its process may be stopped', async () => {
  const world = await openWorld()
  const config = { jwt_secret: JWT_SECRET, rates: ratesOf(), trust_proxy: [] }
  const app = await buildApp(world.core, { config, load: () => QUIET })
  expect(app.initialConfig.pluginTimeout).toBe(0)
  await app.close()
  await world.close()
})
