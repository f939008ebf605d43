import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import jwt from '@fastify/jwt'
import { type Core, createCore } from '@svc/core'
import type { RATES, RateLimit } from '@svc/core/contract'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHandler, svc } from '../src/index.ts'
import { sms } from './accounts.ts'

const PREFIX = '/messaging'
const PUBLIC_URL = `https://app.example.com${PREFIX}`
const AUTH_TOKEN = '0123456789abcdef0123456789abcdef'

type Rates = Partial<Record<keyof typeof RATES, RateLimit>>

/** A program that serves the API below `PREFIX`. Paths of `request` begin with the prefix or are the program's own. */
interface Program {
  request(path: string, init?: RequestInit & { duplex?: 'half' }): Promise<Response>
  /** Stops the API, not the core. */
  close(): Promise<void>
}

interface Opening {
  core: Core
  rates?: Rates | undefined
}

const public_url = () => PUBLIC_URL

async function inFastify({ core, rates }: Opening): Promise<Program> {
  const app = Fastify({ bodyLimit: 100 })
  // Names and parsers that the API uses too.
  await app.register(jwt, { secret: 'a secret of the host' })
  app.decorateRequest<unknown>('identity', 'of the host')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, async (_: unknown, text: string) =>
    text.toUpperCase(),
  )
  app.setErrorHandler((error: Error, _request, reply) => reply.code(418).send(error.message))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send('not here'))
  app.addHook('onRequest', async (_request, reply) => void reply.header('x-host', 'yes'))
  app.post('/own', async (request) => `${request.body} ${Reflect.get(request, 'identity')}`)
  app.get('/fails', async () => {
    throw new Error('a fault of the host')
  })
  await app.register(svc, { prefix: PREFIX, core, rates, public_url })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { request: (path, init) => fetch(url + path, init), close: () => app.close() }
}

async function inExpress({ core, rates }: Opening): Promise<Program> {
  const handler = await createHandler({ core, rates, public_url })
  const app = express()
  app.use(PREFIX, handler.node)
  app.use(express.json())
  app.post('/own', (request, response) => void response.json({ own: request.body }))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    request: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
    async close() {
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
      await handler.close()
    },
  }
}

async function inHono({ core, rates }: Opening): Promise<Program> {
  const handler = await createHandler<{ address: string }>({
    core,
    rates,
    public_url,
    prefix: PREFIX,
    clientAddress: (_, { address }) => address,
  })
  const app = new Hono()
  app.all(`${PREFIX}/*`, (c) => handler.fetch(c.req.raw, { address: '198.51.100.7' }))
  return {
    request: async (path, init) => app.request(path, init),
    close: handler.close,
  }
}

/** As `app/messaging/[...path]/route.ts` of Next.js exports them. */
async function inNext({ core, rates }: Opening): Promise<Program> {
  const handler = await createHandler({ core, rates, public_url, prefix: PREFIX })
  const route = { GET: handler.fetch, POST: handler.fetch }
  return {
    async request(path, { method = 'GET', ...init } = {}) {
      const request = new Request(`https://app.example.com${path}`, { method, ...init })
      return route[method as 'GET'](request, { params: Promise.resolve({}) })
    },
    close: handler.close,
  }
}

const PROGRAMS = { Fastify: inFastify, Express: inExpress, Hono: inHono, 'Next.js': inNext }

let core: Core
let key: string
const folder = mkdtempSync(join(tmpdir(), 'svc-hosted-'))

beforeAll(async () => {
  core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: '100',
    threads: 0,
    public_url,
    providers: [
      {
        type: 'twilio',
        name: 'twilio',
        account_sid: `AC${'0'.repeat(32)}`,
        auth_token: AUTH_TOKEN,
        senders: { sms: ['+14155550190'] },
      },
    ],
  })
  const { id } = await core.workspaces.create({
    email: 'ops@example.com',
    password: 'correct horse',
    company_name: 'Example',
  })
  const scopes = ['send_messages', 'read_messages', 'manage_contacts'] as const
  key = (await core.apiKeys.create(id, { name: 'app', scopes: [...scopes], mode: 'live' })).key
})

afterAll(async () => {
  await core.close()
  rmSync(folder, { recursive: true })
})

describe.each(Object.entries(PROGRAMS))('the API in %s', (_, open) => {
  let program: Program
  beforeAll(async () => {
    program = await open({ core })
  })
  afterAll(() => program.close())

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    program.request(PREFIX + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  it('accepts a message, and answers with an id of the request', async () => {
    const response = await post('/api/v1/messages/send', sms, { 'x-api-key': key })
    expect(response.status).toBe(201)
    expect(response.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/)
    expect(response.headers.get('x-ratelimit-limit')).not.toBeNull()
    const { success, data } = (await response.json()) as { success: boolean; data: SentData }
    expect(success).toBe(true)
    const stored = await program.request(`${PREFIX}/api/v1/messages/${data.message_id}`, {
      headers: { 'x-api-key': key },
    })
    expect(await stored.json()).toMatchObject({ data: { message: { id: data.message_id } } })
  })

  it.each([
    ['no key', sms, {}, 401, 'unauthorized'],
    ['a wrong key', sms, { 'x-api-key': 'svc_wrong' }, 401, 'unauthorized'],
    ['a wrong request', { ...sms, to: 'x' }, null, 400, 'validation_error'],
    ['a body that is no JSON', '{', null, 400, 'validation_error'],
    ['a body of another type', 'x', { 'content-type': 'text/plain' }, 400, 'validation_error'],
    ['a body above the limit', ' '.repeat(3_000_000), null, 400, 'validation_error'],
  ])('refuses %s with the envelope', async (_, body, headers, status, error) => {
    const response = await post('/api/v1/messages/send', body, {
      ...(error === 'validation_error' && { 'x-api-key': key }),
      ...headers,
    })
    expect(await response.json()).toMatchObject({ success: false, error })
    expect(response.status).toBe(status)
  })

  it.each(['/nothing', '/api/v1/nothing', '/', '', `/api/v1/messages/${'x'.repeat(200)}`])(
    'answers 404 with the envelope below the prefix: %s',
    async (path) => {
      const response = await program.request(PREFIX + path, { headers: { 'x-api-key': key } })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ success: false, error: 'not_found' })
    },
  )

  it('serves the reference, whose links and paths keep the prefix', async () => {
    const page = await program.request(`${PREFIX}/docs`)
    expect(await page.text()).toContain('href="docs/docs.css"')
    expect((await program.request(`${PREFIX}/docs/docs.css`)).status).toBe(200)
    const document = await program.request(`${PREFIX}/openapi.json`)
    expect(await document.json()).toMatchObject({ servers: [{ url: PUBLIC_URL }] })
  })

  it('answers an unchanged page with 304', async () => {
    const etag = (await program.request(`${PREFIX}/docs`)).headers.get('etag') ?? ''
    const again = await program.request(`${PREFIX}/docs`, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it('serves the pages behind links of mails', async () => {
    const page = await program.request(`${PREFIX}/unsubscribe/unknown`)
    expect(await page.text()).toContain('Unknown link')
  })

  it('checks the signature of a callback over the public URL', async () => {
    const path = '/callbacks/twilio?workspace_id=a&message_id=b'
    const signature = createHmac('sha1', AUTH_TOKEN).update(`${PUBLIC_URL}${path}`).digest('base64')
    const call = (signed: string) =>
      program.request(PREFIX + path, { headers: { 'x-twilio-signature': signed } })
    expect((await call('wrong')).status).toBe(403)
    expect((await call(signature)).status).not.toBe(403)
  })

  it('streams a long answer', async () => {
    const to = Array.from({ length: 500 }, (_, i) => `+1415555${String(1000 + i)}`)
    const contacts = to.map((phone) => ({ phone, name: 'x'.repeat(100) }))
    const headers = { 'x-api-key': key }
    expect((await post('/api/v1/contacts/import', { contacts }, headers)).status).toBe(200)
    const csv = await program.request(`${PREFIX}/api/v1/contacts/export?format=csv`, {
      headers,
    })
    expect((await csv.text()).trim().split('\n')).toHaveLength(501)
  })
})

interface SentData {
  message_id: string
}

describe.each(Object.entries(PROGRAMS))('limits and the end of the API in %s', (_, open) => {
  it('limits the rate of a client', async () => {
    const program = await open({ core, rates: { anonymous: { max: 2, window_s: 60 } } })
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) {
      const response = await program.request(`${PREFIX}/nothing`)
      statuses.push(response.status)
      if (response.status === 429) expect(response.headers.get('retry-after')).not.toBeNull()
    }
    await program.close()
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2)
  })

  it('closes, and leaves the core open', async () => {
    const program = await open({ core })
    await program.close()
    await core.ping()
  })
})

describe('a Fastify host', () => {
  it('keeps its own parsers, errors, decorators and limits outside the prefix', async () => {
    const program = await inFastify({ core })
    const own = (body: string, type: string) =>
      program.request('/own', { method: 'POST', headers: { 'content-type': type }, body })
    expect(await (await own('hello', 'text/plain')).text()).toBe('HELLO of the host')
    expect((await own('{}', 'application/json')).status).toBe(418)
    expect((await own('x'.repeat(200), 'text/plain')).status).toBe(418)
    expect((await program.request('/fails')).status).toBe(418)
    expect(await (await program.request('/messagings')).text()).toBe('not here')
    await program.close()
  })

  it('adds the headers of its hooks to answers of the API', async () => {
    const program = await inFastify({ core })
    const { headers } = await program.request(`${PREFIX}/health/live`)
    expect(headers.get('x-host')).toBe('yes')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    await program.close()
  })

  it('gives the address that it trusts to the rate limits', async () => {
    const app = Fastify({ trustProxy: true })
    const rates = { anonymous: { max: 1, window_s: 60 } }
    await app.register(svc, { prefix: PREFIX, core, rates })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const statusFor = async (address: string) =>
      (await fetch(`${url}${PREFIX}/nothing`, { headers: { 'x-forwarded-for': address } })).status
    expect([
      await statusFor('198.51.100.20'),
      await statusFor('198.51.100.20'),
      await statusFor('198.51.100.21'),
    ]).toEqual([404, 429, 404])
    await app.close()
  })

  it('may serve the API at its root', async () => {
    const app = Fastify()
    await app.register(svc, { core })
    expect((await app.inject('/health/live')).statusCode).toBe(200)
    expect((await app.inject('/')).json()).toMatchObject({ error: 'not_found' })
    await app.close()
  })

  it.each([
    ['/messaging/', undefined],
    ['/outer/', '/messaging/'],
    ['/', undefined],
    ['/', '/messaging'],
  ])('may have the prefix %s, with an inner prefix %s', async (outer, inner) => {
    const app = Fastify()
    await app.register(
      async (scope) => void (await scope.register(svc, { core, ...(inner && { prefix: inner }) })),
      { prefix: outer },
    )
    const prefix = `${outer}${inner ?? ''}`.replace(/\/+/g, '/').replace(/\/$/, '')
    expect((await app.inject(`${prefix}/health/live`)).json()).toEqual({ status: 'ok' })
    expect((await app.inject(`${prefix}/api/v1/messages?limit=1`)).statusCode).toBe(401)
    expect((await app.inject(`${prefix}/`)).json()).toMatchObject({ error: 'not_found' })
    await app.close()
  })

  it.each(['/:tenant', '/a/:id/b', '/a*', '/:file(^\\d+).png'])(
    'gets an error at the registration for the prefix %s',
    async (prefix) => {
      const app = Fastify()
      const registered = async () => void (await app.register(svc, { prefix, core }))
      await expect(registered()).rejects.toThrow(
        `prefix: "${prefix}" must be a path without parameters, such as /messaging`,
      )
    },
  )

  it('logs a fault of the API without its URL', async () => {
    const lines: string[] = []
    const app = Fastify({
      logger: { level: 'error', stream: { write: (line) => void lines.push(line) } },
    })
    const messages = { ...core.messages, listShort: () => Promise.reject(new Error('a fault')) }
    await app.register(svc, { prefix: PREFIX, core: { ...core, messages } })
    const { statusCode } = await app.inject({
      url: `${PREFIX}/api/v1/messages?recipient=%2B14155550100`,
      headers: { 'x-api-key': key },
    })
    expect(statusCode).toBe(500)
    expect(lines.join('')).toContain('a fault')
    expect(lines.join('')).toContain('"route":"/api/v1/messages"')
    expect(lines.join('')).not.toContain('14155550100')
    await app.close()
  })
})

describe('an Express host', () => {
  it('keeps its own parsers outside the prefix', async () => {
    const program = await inExpress({ core })
    const response = await program.request('/own', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    expect(await response.json()).toEqual({ own: { a: 1 } })
    await program.close()
  })

  it('gets an error that names the cause if a parser has read the body', async () => {
    const handler = await createHandler({ core })
    const app = express()
    app.use(express.json())
    app.use(PREFIX, handler.node)
    app.use((error: Error, _: unknown, response: express.Response, _next: unknown) => {
      response.status(500).send(error.message)
    })
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}${PREFIX}/api/v1/messages/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sms),
    })
    expect(await response.text()).toContain('mount svc before express.json()')
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await handler.close()
  })
})

describe('a handler', () => {
  it.each(['messaging', '/messaging/', '/', '/a?b'])('refuses the prefix %s', async (prefix) => {
    await expect(createHandler({ core, prefix })).rejects.toThrow(RangeError)
  })

  it('counts requests of unknown clients as one client', async () => {
    const handler = await createHandler({ core, rates: { anonymous: { max: 1, window_s: 60 } } })
    const statusOf = async () =>
      (await handler.fetch(new Request('https://app.example.com/nothing'))).status
    await statusOf()
    expect(await statusOf()).toBe(429)
    await handler.close()
  })

  it('refuses a stream above the limit of a body, and reads no more of it', async () => {
    const handler = await createHandler({ core })
    let chunks = 0
    let isCancelled = false
    const body = new ReadableStream({
      pull(controller) {
        chunks += 1
        controller.enqueue(new Uint8Array(65_536).fill(32))
      },
      cancel() {
        isCancelled = true
      },
    })
    const response = await handler.fetch(
      new Request('https://app.example.com/api/v1/messages/send', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body,
        duplex: 'half',
      } as RequestInit),
    )
    expect(await response.json()).toMatchObject({
      message: expect.stringMatching(/^Request body is too large: at most/),
    })
    expect(isCancelled).toBe(true)
    // A body may have 19 MB, for the files of a mail: about 290 pieces.
    expect(chunks).toBeLessThan(320)
    await handler.close()
  })

  it('refuses requests after its end', async () => {
    const handler = await createHandler({ core })
    await handler.close()
    const response = await handler.fetch(new Request('https://app.example.com/api/v1/messages'))
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ error: 'rate_limit_exceeded' })
    await handler.close()
  })
})

it('an aborted upload ends without an answer, and the host lives on', async () => {
  const program = await inExpress({ core })
  const { url } = await program.request(`${PREFIX}/health/live`)
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1')
  socket.write(
    `POST ${PREFIX}/api/v1/messages/send HTTP/1.1\r\nhost: a\r\nx-api-key: ${key}\r\n` +
      'content-type: application/json\r\ncontent-length: 100\r\n\r\n{',
  )
  await new Promise((resolve) => setImmediate(resolve))
  socket.destroy()
  expect((await program.request(`${PREFIX}/health/live`)).status).toBe(200)
  await program.close()
})
