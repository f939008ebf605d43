import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { serve } from '@hono/node-server'
import { EVENTS, type EventKind } from '@svc/core/contract'
import { sign } from '@svc/core/webhooks'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { listening } from '../../testkit/test/listening.ts'
import type { WebhookAdapters } from '../src/webhooks/adapters.ts'
import { createMemoryStore } from '../src/webhooks/dedupe.ts'
import type { WebhookEvent } from '../src/webhooks/event.ts'
import { type WebhookHandlerOptions, webhookHandler } from '../src/webhooks/handler.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const otherSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Delivered {
  kind?: EventKind | 'message.exploded'
  body?: string
  key?: string
  id?: string
  at?: Date
  without?: string[]
}

let count = 0

function delivery({
  kind = 'message.delivered',
  key = secret,
  at = new Date(),
  ...more
}: Delivered) {
  const data = kind === 'message.exploded' ? { count: 1 } : EVENTS[kind].example
  const { body = JSON.stringify({ event: kind, data }), id = `evt_${++count}`, without = [] } = more
  const ids = { event_id: id, delivery_id: 'dlv_1', attempt: 2 }
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...sign({ secret: key, body, event: kind, at, ...ids }),
  }
  for (const name of without) delete headers[name]
  return { method: 'POST', headers, body }
}

async function post(url: string, options: Delivered = {}, altered?: string) {
  const sent = delivery(options)
  const response = await fetch(url, { ...sent, body: altered ?? sent.body })
  return {
    status: response.status,
    answer: (await response.json()) as { error?: string },
    response,
  }
}

/** Each framework with the handler mounted as in the guide. */
const FRAMEWORKS: Record<string, (hooks: WebhookAdapters) => Promise<string>> = {
  async 'node:http'(hooks) {
    const { url, close } = await listening(hooks.node)
    closing.push(close)
    return `${url}/hooks/svc`
  },
  async fetch(hooks) {
    const server = serve({ fetch: hooks.fetch, port: 0, hostname: '127.0.0.1' })
    return urlOf(server)
  },
  async express(hooks) {
    const app = express()
    app.post('/hooks/svc', hooks.express)
    app.use(express.json())
    return urlOf(app.listen(0, '127.0.0.1'))
  },
  async 'express behind express.raw()'(hooks) {
    const app = express()
    app.post('/hooks/svc', express.raw({ type: '*/*' }), hooks.express)
    return urlOf(app.listen(0, '127.0.0.1'))
  },
  async 'express behind express.json() that keeps rawBody'(hooks) {
    const app = express()
    const verify = (request: object, _: unknown, bytes: Buffer) =>
      void Object.assign(request, { rawBody: bytes })
    app.use(express.json({ verify }))
    app.post('/hooks/svc', hooks.express)
    return urlOf(app.listen(0, '127.0.0.1'))
  },
  async fastify(hooks) {
    const app = Fastify()
    closing.push(() => app.close())
    app.register(hooks.fastify, { url: '/hooks/svc' })
    app.post('/echo', async (request) => request.body)
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/hooks/svc`
  },
  async hono(hooks) {
    const app = new Hono().post('/hooks/svc', hooks.hono)
    return urlOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
  async 'hono behind a middleware that read the JSON'(hooks) {
    const app = new Hono()
    app.use(async (c, next) => {
      await c.req.json()
      await next()
    })
    app.post('/hooks/svc', hooks.hono)
    return urlOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
}

/** Setups in which a parser consumes the bytes before the handler. */
const PARSED: Record<string, (hooks: WebhookAdapters) => Promise<string>> = {
  async 'express.json() before it'(hooks) {
    const app = express()
    app.use(express.json())
    app.post('/hooks/svc', hooks.express)
    return urlOf(app.listen(0, '127.0.0.1'))
  },
  async 'node:http that read the request'(hooks) {
    const { url, close } = await listening(async (request, response) => {
      for await (const _ of request);
      await hooks.node(request, response)
    })
    closing.push(close)
    return url
  },
  async 'a Fetch request whose json() was called'(hooks) {
    const app = new Hono().post('/hooks/svc', async (c) => {
      await c.req.raw.json()
      return hooks.fetch(c.req.raw)
    })
    return urlOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
  async 'hono whose raw request was read'(hooks) {
    const app = new Hono()
    app.use(async (c, next) => {
      await c.req.raw.json()
      await next()
    })
    app.post('/hooks/svc', hooks.hono)
    return urlOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
  async 'fastify with a hook that replaces the body'(hooks) {
    const app = Fastify()
    closing.push(() => app.close())
    app.addHook('preValidation', async (request) => {
      request.body = JSON.parse(String(request.body))
    })
    app.register(hooks.fastify, { url: '/hooks/svc' })
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/hooks/svc`
  },
}

async function urlOf(
  server: ReturnType<typeof serve> | import('node:http').Server,
): Promise<string> {
  closing.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  if (!server.listening) await new Promise<void>((resolve) => server.once('listening', resolve))
  const address = server.address() as import('node:net').AddressInfo
  return `http://127.0.0.1:${address.port}/hooks/svc`
}

function handler(more: Partial<WebhookHandlerOptions> = {}) {
  const seen: WebhookEvent[] = []
  const log = vi.fn()
  const on_event = (event: WebhookEvent) => void seen.push(event)
  return { seen, log, hooks: webhookHandler({ secret, on_event, log, ...more }) }
}

describe.each(Object.entries(FRAMEWORKS))('%s', (_, mount) => {
  it('calls the function once for a verified event, and acknowledges repetitions', async () => {
    const { seen, hooks } = handler()
    const url = await mount(hooks)
    const id = 'evt_same'
    expect([(await post(url, { id })).status, (await post(url, { id })).status]).toEqual([200, 200])
    expect(seen).toEqual([
      { event: 'message.delivered', data: EVENTS['message.delivered'].example },
    ])
    expect((await post(url, {})).status).toBe(200)
    expect(seen).toHaveLength(2)
  })

  it('verifies the exact bytes, whatever their spacing', async () => {
    const { seen, hooks } = handler()
    const body = `{ "event" : "message.sent",\n "data": { "text": "zażółć 🚀 \\u0041" } }\n`
    expect((await post(await mount(hooks), { kind: 'message.sent', body })).status).toBe(200)
    expect(seen).toMatchObject([{ data: { text: 'zażółć 🚀 A' } }])
  })

  it('answers 403 to tampered, old and wrongly signed deliveries', async () => {
    const { seen, hooks } = handler()
    const url = await mount(hooks)
    const tampered = await post(url, {}, '{"event":"message.delivered","data":{}}')
    expect(tampered).toMatchObject({ status: 403, answer: { error: 'signature_mismatch' } })
    expect((await post(url, { key: otherSecret })).status).toBe(403)
    const old = await post(url, { at: new Date(Date.now() - 3_600_000) })
    expect(old).toMatchObject({ status: 403, answer: { error: 'timestamp_too_old' } })
    const unsigned = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect(unsigned.status).toBe(403)
    expect(seen).toEqual([])
  })

  it('answers 500 when the function fails, and calls the function again on the retry', async () => {
    let calls = 0
    const fails = async () => {
      calls += 1
      if (calls === 1) throw new Error('database down')
    }
    const { log, hooks } = handler({ on_event: fails })
    const url = await mount(hooks)
    const id = 'evt_again'
    const first = await post(url, { id })
    expect(first).toMatchObject({ status: 500, answer: { error: 'handler_failed' } })
    expect(JSON.stringify(first.answer)).not.toContain('database')
    expect(log).toHaveBeenCalledWith(expect.stringContaining(id), expect.any(Error))
    expect((await post(url, { id })).status).toBe(200)
    expect((await post(url, { id })).status).toBe(200)
    expect(calls).toBe(2)
  })

  it('answers 503 while the function runs too long, and 200 after it is done', async () => {
    let finish = () => {}
    let calls = 0
    const on_event = () => {
      calls += 1
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    }
    const { hooks } = handler({ on_event, answer_within_ms: 50 })
    const url = await mount(hooks)
    const id = 'evt_slow'
    const early = await post(url, { id })
    expect(early.status).toBe(503)
    expect(early.response.headers.get('retry-after')).toBe('5')
    expect((await post(url, { id })).status).toBe(503)
    const joined = post(url, { id })
    finish()
    expect((await joined).status).toBe(200)
    expect((await post(url, { id })).status).toBe(200)
    expect(calls).toBe(1)
  })

  it('gives two concurrent deliveries the same answer, and calls the function once', async () => {
    let calls = 0
    const on_event = async () => {
      calls += 1
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const url = await mount(handler({ on_event }).hooks)
    const id = 'evt_twice'
    const both = await Promise.all([post(url, { id }), post(url, { id })])
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    expect(calls).toBe(1)
  })

  it('survives a sender that disconnects within the body', async () => {
    const { seen, log, hooks } = handler()
    const url = new URL(await mount(hooks))
    // The framework may log the aborted request.
    const console_error = vi.spyOn(console, 'error').mockReturnValue()
    const socket = connect(Number(url.port), url.hostname)
    socket.write(`POST ${url.pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"event"`)
    await new Promise((resolve) => setTimeout(resolve, 30))
    socket.destroy()
    expect((await post(url.href)).status).toBe(200)
    expect(seen).toHaveLength(1)
    expect(log).not.toHaveBeenCalled()
    console_error.mockRestore()
  })

  it('answers 413 to a body that is too large', async () => {
    const { seen, hooks } = handler({ max_body_bytes: 1000 })
    const url = await mount(hooks)
    const body = JSON.stringify({ event: 'message.sent', data: { text: 'x'.repeat(1000) } })
    expect((await fetch(url, delivery({ body }))).status).toBe(413)
    const unmeasured = {
      ...delivery({ body }),
      body: new Blob([body]).stream(),
      duplex: 'half' as const,
    }
    expect((await fetch(url, unmeasured)).status).toBe(413)
    expect((await post(url)).status).toBe(200)
    expect(seen).toHaveLength(1)
  })
})

describe.each(Object.entries(PARSED))('%s', (_, mount) => {
  it('answers 500 and logs the setup mistake, instead of a false 403', async () => {
    const { seen, log, hooks } = handler()
    const { status, answer } = await post(await mount(hooks))
    expect({ status, answer }).toMatchObject({
      status: 500,
      answer: { error: 'body_already_parsed' },
    })
    expect(log).toHaveBeenCalledWith(expect.stringContaining('parsed before the webhook handler'))
    expect(seen).toEqual([])
  })
})

describe('node:http', () => {
  it('does not read an oversized body to its end', async () => {
    const { url, close } = await listening(handler({ max_body_bytes: 1000 }).hooks.node)
    closing.push(close)
    const refused = await fetch(url, delivery({ body: 'x'.repeat(1001) }))
    expect([refused.status, refused.headers.get('connection')]).toEqual([413, 'close'])
    expect((await fetch(url, delivery({}))).headers.get('connection')).toBe('keep-alive')
  })

  it('does not answer after a middleware with a deadline has answered', async () => {
    const { hooks } = handler({
      on_event: () => new Promise((resolve) => setTimeout(resolve, 100)),
    })
    let answering: Promise<void> | undefined
    const listener: RequestListener = (request, response) => {
      setTimeout(() => response.writeHead(504).end('{}'), 20)
      answering = hooks.node(request, response)
    }
    const { url, close } = await listening(listener)
    closing.push(close)
    expect((await post(url)).status).toBe(504)
    await expect(answering).resolves.toBeUndefined()
  })

  it('handles a delivery whose sender disconnected before', async () => {
    const { hooks } = handler()
    let answered = () => {}
    const done = new Promise<void>((resolve) => {
      answered = resolve
    })
    const { url, close } = await listening(async (request, response) => {
      await new Promise((resolve) => request.once('close', resolve))
      await hooks.node(request, response)
      answered()
    })
    closing.push(close)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 30))
    socket.destroy()
    await done
  })
})

describe('fastify', () => {
  it('keeps parsing JSON on the other routes', async () => {
    const mount = FRAMEWORKS.fastify as (typeof FRAMEWORKS)[string]
    const url = await mount(handler().hooks)
    const response = await fetch(new URL('/echo', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    expect(await response.json()).toEqual({ a: 1 })
  })

  it('explains the use when the plugin is mounted as a route handler', async () => {
    const { hooks } = handler()
    const app = Fastify()
    closing.push(() => app.close())
    app.post('/hooks/svc', hooks.fastify as never)
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/hooks/svc`
    const response = await fetch(url, delivery({}))
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('app.register(hooks.fastify, { url })')
  })
})

describe('webhookHandler', () => {
  const send = async (hooks: WebhookAdapters, options: Delivered = {}) => {
    const sent = delivery(options)
    return (await hooks.fetch(new Request('http://x/', sent))).status
  }

  it('calls the function of the kind, and on_event for the other kinds', async () => {
    const failed: string[] = []
    const { seen, hooks } = handler({
      on: { 'message.failed': ({ data }) => void failed.push(data.error_message ?? '') },
    })
    await send(hooks, { kind: 'message.failed' })
    await send(hooks, { kind: 'credits.low' })
    expect(failed).toEqual(['The handset could not be reached.'])
    expect(seen.map(({ event }) => event)).toEqual(['credits.low'])
  })

  it("passes the delivery's ids, attempt and time as context", async () => {
    const on_event = vi.fn()
    const { hooks } = handler({ on_event })
    const at = new Date(Math.floor(Date.now() / 1000) * 1000)
    await send(hooks, { id: 'evt_x', at })
    expect(on_event.mock.calls[0]?.[1]).toEqual({
      event_id: 'evt_x',
      is_standard: true,
      delivery_id: 'dlv_1',
      attempt: 2,
      signed_at: at,
    })
  })

  it('accepts X-Svc-Signature alone, and detects repetitions by the body', async () => {
    const { seen, hooks } = handler()
    const without = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'X-Svc-Signature-256']
    expect(await send(hooks, { without })).toBe(200)
    expect(await send(hooks, { without })).toBe(200)
    expect(seen).toHaveLength(1)
    expect(await send(hooks, { without, key: otherSecret })).toBe(403)
  })

  it('accepts both secrets during a rotation', async () => {
    const hooks = webhookHandler({ secrets: [secret, otherSecret], on_event: () => {} })
    expect([await send(hooks), await send(hooks, { key: otherSecret })]).toEqual([200, 200])
  })

  it('acknowledges unknown kinds, and passes them to on_unknown_event', async () => {
    const on_unknown_event = vi.fn()
    const { seen, hooks } = handler({ on_unknown_event })
    expect(await send(hooks, { kind: 'message.exploded' })).toBe(200)
    expect(on_unknown_event.mock.calls[0]?.[0]).toEqual({
      event: 'message.exploded',
      data: { count: 1 },
    })
    expect(await send(handler().hooks, { kind: 'message.exploded' })).toBe(200)
    expect(seen).toEqual([])
  })

  it('answers 400 to a signed body that is not an event, and 405 to methods other than POST', async () => {
    const { hooks } = handler()
    for (const body of [
      'no json',
      '{"event":1,"data":{}}',
      '{"event":"message.delivered","data":[]}',
      'null',
    ]) {
      expect(await send(hooks, { body })).toBe(400)
    }
    const answer = await hooks.fetch(new Request('http://x/'))
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('does not acknowledge when the store fails or another process handles the event', async () => {
    const store = { ...createMemoryStore(), claim: () => Promise.reject(new Error('redis down')) }
    expect(await send(handler({ dedupe: store }).hooks)).toBe(500)
    const busy = { ...createMemoryStore(), claim: () => 'busy' as const }
    expect(await send(handler({ dedupe: busy }).hooks)).toBe(503)
  })

  it('releases an event whose function failed, even when releasing fails', async () => {
    const release = vi.fn(() => {
      throw new Error('redis down')
    })
    const on_event = () => Promise.reject(new Error('no'))
    const { hooks } = handler({ dedupe: { ...createMemoryStore(), release }, on_event })
    expect(await send(hooks, { id: 'evt_r' })).toBe(500)
    expect(release).toHaveBeenCalledWith('evt_r')
  })

  it.each([
    [{ secret: undefined, on_event: () => {} }, /no usable secret\. Give the secret/],
    [{ secret: '', on_event: () => {} }, /no usable secret/],
    [{ secrets: [], on_event: () => {} }, /no usable secret/],
    [{ secret }, /set on_event, or functions by kind/],
  ])('refuses to start with %o', (options, text) => {
    expect(() => webhookHandler(options)).toThrow(text)
  })
})

describe('createMemoryStore', () => {
  it('forgets the oldest first', () => {
    const store = createMemoryStore({ ids_max: 2 })
    for (const id of ['a', 'b', 'c']) {
      expect(store.claim(id)).toBe('claimed')
      store.complete(id)
    }
    expect([store.claim('b'), store.claim('c'), store.claim('a')]).toEqual([
      'done',
      'done',
      'claimed',
    ])
  })
  it('keeps the events whose function runs, however many newer events are handled', () => {
    const store = createMemoryStore({ ids_max: 2 })
    expect(store.claim('slow')).toBe('claimed')
    for (const id of ['a', 'b', 'c']) {
      expect(store.claim(id)).toBe('claimed')
      store.complete(id)
    }
    expect(store.claim('slow')).toBe('busy')
    store.complete('slow')
    expect([store.claim('slow'), store.claim('c'), store.claim('b')]).toEqual([
      'done',
      'done',
      'claimed',
    ])
  })

  it('refuses other events while the maximum number of functions runs', () => {
    const store = createMemoryStore({ ids_max: 2 })
    expect([store.claim('a'), store.claim('b'), store.claim('c')]).toEqual([
      'claimed',
      'claimed',
      'busy',
    ])
    store.release('a')
    expect([store.claim('c'), store.claim('a')]).toEqual(['claimed', 'busy'])
  })
})
