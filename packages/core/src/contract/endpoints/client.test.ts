import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Client, createClient } from './client.ts'

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
}

const id = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const created_at = '2026-05-04T09:30:00.000Z'
const queued = { message_id: id, status: 'queued', credits_used: 0.1, created_at }

let server: Server
let client: Client
let seen: Seen[] = []
let answer: (response: ServerResponse) => void

function answerWith(status: number, body: unknown, headers: Record<string, string> = {}) {
  answer = (response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { method, url, headers } = request
    seen.push({ method, url, headers, body: await text(request) })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  client = createClient({ base_url: `http://127.0.0.1:${port}/`, api_key: 'svc_k', token: 'jwt' })
})

beforeEach(() => {
  seen = []
})

afterAll(() => new Promise((resolve) => server.close(resolve)))

describe('a call', () => {
  test('posts its body and returns decoded data', async () => {
    answerWith(201, { success: true, data: queued })
    const body = { channel: 'sms', to: '+14155552671', content: { text: 'Hi' } } as const
    const sent = await client.messages.send(body, { idempotency_key: 'order-1' })
    expect(sent).toEqual({ ...queued, credits_used: 100_000, created_at: new Date(created_at) })
    expect(seen).toMatchObject([
      {
        method: 'POST',
        url: '/api/v1/messages/send',
        headers: {
          'x-api-key': 'svc_k',
          'idempotency-key': 'order-1',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      },
    ])
    expect(seen[0]?.headers).not.toHaveProperty('authorization')
  })

  test('puts parameters in the path and the query', async () => {
    answerWith(200, {
      success: true,
      data: {
        messages: [],
        pagination: { total: 0, page: 2, pages: 0, limit: 5 },
        next_cursor: null,
      },
    })
    await client.messages.list({
      page: 2,
      limit: '5',
      startDate: new Date(created_at),
      recipient: '+14155552671',
    })
    answerWith(200, { success: true, data: { message: 'Deleted' } })
    await client.webhooks.delete({ id: 'a/../b' })
    expect(seen.map(({ method, url, body }) => ({ method, url, body }))).toEqual([
      {
        method: 'GET',
        url: '/api/v1/messages?startDate=2026-05-04T09%3A30%3A00.000Z&recipient=%2B14155552671&page=2&limit=5',
        body: '',
      },
      { method: 'DELETE', url: '/api/v1/webhooks/a%2F..%2Fb', body: '' },
    ])
  })

  test('sends the token to endpoints that need it, and no credential to those that need none', async () => {
    answerWith(200, {
      success: true,
      data: { api_keys: [], pagination: { total: 0, page: 1, pages: 0, limit: 50 } },
    })
    await client.api_keys.list()
    answerWith(200, { status: 'ok' })
    await expect(client.health.ready()).resolves.toEqual({ status: 'ok' })
    expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer jwt' })
    expect(seen[0]?.headers).not.toHaveProperty('x-api-key')
    expect(seen[1]?.headers).not.toHaveProperty('authorization')
    expect(seen[1]?.headers).not.toHaveProperty('x-api-key')
  })

  test('sends the API key to webhook endpoints without a token', async () => {
    const { port } = server.address() as AddressInfo
    const keyed = createClient({ base_url: `http://127.0.0.1:${port}`, api_key: 'svc_k' })
    answerWith(200, { success: true, data: { message: 'Deleted' } })
    await keyed.webhooks.delete({ id })
    expect(seen[0]?.headers).toMatchObject({ 'x-api-key': 'svc_k' })
  })

  test('uses the option fetch', async () => {
    const requested: string[] = []
    const own = createClient({
      base_url: 'https://svc.test',
      fetch: async (url) => {
        requested.push(String(url))
        return Response.json({ status: 'ok' })
      },
    })
    await own.health.live()
    expect(requested).toEqual(['https://svc.test/health/live'])
  })
})

describe('a refusal', () => {
  test('is thrown as the server sent it', async () => {
    const details = [{ path: 'to', message: 'Phone number must be in E.164 format' }]
    const message = 'Phone number must be in E.164 format'
    answerWith(400, { success: false, error: 'validation_error', message, details })
    await expect(client.messages.get({ id })).rejects.toMatchObject({
      name: 'SvcError',
      code: 'validation_error',
      status: 400,
      message,
      details,
    })
  })

  test('has a detail even if the server sent none', async () => {
    answerWith(400, { success: false, error: 'validation_error', message: 'No' })
    await expect(client.workspaces.account()).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path: '', message: 'No' }],
    })
  })

  test('has retry_after_s', async () => {
    const message = 'Rate limit exceeded. Try again in 7 seconds.'
    answerWith(
      429,
      { success: false, error: 'rate_limit_exceeded', message },
      { 'retry-after': '7' },
    )
    await expect(client.workspaces.account()).rejects.toMatchObject({
      status: 429,
      retry_after_s: 7,
    })
  })

  test.each([
    ['the page of a proxy', 502, '<html>Bad gateway</html>'],
    ['an unknown code', 418, { success: false, error: 'teapot', message: 'x' }],
    ['an empty body', 500, ''],
  ])('%s is an internal_error with the status in its cause', async (_, status, body) => {
    answerWith(status, body)
    await expect(client.workspaces.account()).rejects.toMatchObject({
      code: 'internal_error',
      cause: { message: expect.stringContaining(String(status)) },
    })
  })

  test.each([
    ['no data', { success: true }],
    ['other data', { success: true, data: { ...queued, credits_used: '0.10' } }],
    ['no JSON', 'OK'],
  ])('a success with %s is an internal_error', async (_, body) => {
    answerWith(201, body)
    const send = client.messages.send({ channel: 'sms', to: '+12', content: { text: 'Hi' } })
    await expect(send).rejects.toThrow(
      "The server's answer is not what /api/v1/messages/send promises",
    )
  })
})
