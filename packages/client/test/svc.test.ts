import { inspect } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InsufficientCreditsError,
  NotFoundError,
  RateLimitError,
  ServerError,
  Svc,
  SvcError,
  type SvcOptions,
  TimeoutError,
  UnexpectedAnswerError,
  ValidationError,
} from '../src/index.ts'
import { CREATED_AT, ID, refusal, SENT, usePeer } from './peer.ts'

const peer = usePeer()
const KEY = 'svc_the_key_of_the_tests'
const SMS = { channel: 'sms', to: '+14155550100', content: { text: 'Hi' } } as const

const client = (baseUrl: string, more: SvcOptions = {}) =>
  new Svc({ apiKey: KEY, baseUrl, ...more })

/** An answer that every endpoint of these tests accepts. */
const ANY = {
  status: 200,
  body: {
    success: true,
    data: { message: {}, messages: [], delivery: {}, api_keys: [], webhooks: [], packages: [] },
  },
}

/** The error of a promise that must reject. */
async function errorOf(promise: PromiseLike<unknown>): Promise<SvcError> {
  try {
    await promise
  } catch (error) {
    return error as SvcError
  }
  throw new Error('nothing was thrown')
}

describe('options out of range', () => {
  it.each<[string, SvcOptions, string]>([
    ['no number of retries', { maxRetries: Number.NaN }, 'maxRetries'],
    ['endless retries', { maxRetries: 1e9 }, 'maxRetries'],
    ['no timeout', { timeout: Number.POSITIVE_INFINITY }, 'timeout'],
    ['a timeout of nothing', { timeout: 0 }, 'timeout'],
  ])('are refused: %s', (_, options, name) => {
    expect(() => client('http://127.0.0.1:1', options)).toThrow(new RegExp(`^${name} must be`))
  })

  it.each(['', 'order €', 'a\nb', ' a'])('are refused in a call: the key %j', async (key) => {
    const { url, seen } = await peer(SENT)
    const error = await errorOf(client(url).messages.send(SMS, { idempotencyKey: key }))
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toBe('idempotencyKey must be 1 to 255 printable ASCII characters')
    await errorOf(client(url).messages.send(SMS, { maxRetries: -1 }))
    expect(seen).toEqual([])
  })
})

describe('a call', () => {
  it('posts its body and returns the data in JSON', async () => {
    const { url, seen } = await peer(SENT)
    const scheduled_at = new Date(CREATED_AT)
    const sent = await client(`${url}/`).messages.send({ ...SMS, scheduled_at })
    expect(sent).toEqual({
      message_id: ID,
      status: 'queued',
      credits_used: 0.1,
      created_at: CREATED_AT,
    })
    expect(seen).toMatchObject([
      {
        method: 'POST',
        url: '/api/v1/messages/send',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ ...SMS, scheduled_at: CREATED_AT }),
      },
    ])
    expect(seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it('puts ids in the path and the filter in the query', async () => {
    const { url, seen } = await peer(ANY)
    const svc = client(`${url}/prefix/api/v1`)
    await svc.messages.list({
      limit: 5,
      startDate: new Date(CREATED_AT),
      recipient: '+14155550100',
      status: undefined,
    })
    await svc.webhooks.delivery('a/../b', 'd?')
    await svc.suppressions.remove('sms', '+14155550100')
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /prefix/api/v1/messages?limit=5&startDate=2026-05-04T09%3A30%3A00.000Z&recipient=%2B14155550100',
      'GET /prefix/api/v1/webhooks/a%2F..%2Fb/deliveries/d%3F',
      'DELETE /prefix/api/v1/contacts/suppressions/sms/%2B14155550100',
    ])
  })

  it.each(['', '.', '..', undefined])('refuses the id %j without a request', async (id) => {
    const { url, seen } = await peer(SENT)
    const error = await errorOf(client(url).messages.get(id as string))
    expect(error).toBeInstanceOf(ValidationError)
    expect((error as ValidationError).details).toEqual([
      { path: 'id', message: 'id must be an id' },
    ])
    expect(seen).toEqual([])
  })

  it('sends the token where it is accepted, the key elsewhere, and nothing to open endpoints', async () => {
    const { url, seen } = await peer(ANY)
    const svc = client(url, { token: 'jwt' })
    await svc.apiKeys.list()
    await svc.webhooks.list()
    await svc.messages.get(ID)
    await svc.billing.packages()
    expect(seen.map(({ headers }) => [headers.authorization, headers['x-api-key']])).toEqual([
      ['Bearer jwt', undefined],
      ['Bearer jwt', undefined],
      [undefined, KEY],
      [undefined, undefined],
    ])
    const error = await errorOf(client(url).apiKeys.list())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error.message).toBe('GET /api/v1/api-keys needs a credential: give token')
    expect(seen).toHaveLength(4)
  })

  it('gives its response and the id of the request', async () => {
    const { url } = await peer(SENT)
    const { data, response, requestId } = await client(url).messages.send(SMS).withResponse()
    expect([data.message_id, response.status, requestId]).toEqual([ID, 201, 'r1'])
  })

  it('is a promise with catch and finally', async () => {
    const { url } = await peer(refusal(404, 'not_found', 'Message not found'), SENT)
    const svc = client(url)
    expect(await svc.messages.get(ID).catch(({ code }) => code)).toBe('not_found')
    const ended = vi.fn()
    expect((await svc.messages.send(SMS).finally(ended)).status).toBe('queued')
    expect(ended).toHaveBeenCalledOnce()
  })
})

describe('retries', () => {
  // Retry-After of 0 s: no test waits.
  const now = { headers: { 'retry-after': '0' } }
  const busy = { ...refusal(429, 'rate_limit_exceeded', 'Slow down'), ...now }
  const broken = { ...refusal(500, 'internal_error', 'Internal server error.'), ...now }

  it('repeat a send with one key of their own after 429, 500 and 408', async () => {
    const late = { ...refusal(408, 'internal_error', 'Late'), ...now }
    const { url, seen } = await peer(busy, broken, late, SENT)
    expect((await client(url).messages.send(SMS, { maxRetries: 3 })).message_id).toBe(ID)
    const keys = seen.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(4)
    expect(new Set(keys).size).toBe(1)
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1)
  })

  it('keep the key of the caller, and need none if there are no retries', async () => {
    const { url, seen } = await peer(SENT)
    await client(url).messages.send(SMS, { idempotencyKey: 'order-1' })
    await client(url, { maxRetries: 0 }).messages.send(SMS)
    expect(seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['order-1', undefined])
  })

  it('end after maxRetries', async () => {
    const { url, seen } = await peer(broken)
    const error = await errorOf(client(url).messages.get(ID))
    expect(error).toBeInstanceOf(ServerError)
    expect([seen.length, error.status, error.requestId]).toEqual([3, 500, 'r3'])
  })

  it('leave out a POST without an idempotency key', async () => {
    const { url, seen } = await peer(broken)
    await errorOf(client(url).contacts.create({ phone: '+14155550100' }))
    expect(seen).toHaveLength(1)
  })

  it('leave out answers that are not JSON, and refusals', async () => {
    const page = { status: 502, body: '<html>Bad gateway</html>', ...now }
    for (const step of [page, refusal(404, 'not_found', 'Message not found')]) {
      const { url, seen } = await peer(step)
      await errorOf(client(url).messages.get(ID))
      expect(seen).toHaveLength(1)
    }
  })

  it('repeat after a broken connection', async () => {
    const { url, seen } = await peer((response) => response.destroy(), SENT)
    const random = vi.spyOn(Math, 'random').mockReturnValue(1)
    try {
      await client(url).messages.send(SMS)
    } finally {
      random.mockRestore()
    }
    expect(seen).toHaveLength(2)
    expect(seen[0]?.headers['idempotency-key']).toBe(seen[1]?.headers['idempotency-key'])
  })

  it('do not wait longer than maxRetryDelay', async () => {
    const { url, seen } = await peer({ ...busy, headers: { 'retry-after': '61' } })
    const error = await errorOf(client(url).messages.get(ID))
    expect(error).toBeInstanceOf(RateLimitError)
    expect((error as RateLimitError).retryAfter).toBe(61)
    expect(seen).toHaveLength(1)
  })

  it('end when the signal aborts during a wait', async () => {
    const { url, seen } = await peer({ ...busy, headers: { 'retry-after': '30' } })
    const stopping = new AbortController()
    const call = client(url).messages.get(ID, { signal: stopping.signal })
    const ended = errorOf(call)
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    const reason = new Error('stop')
    stopping.abort(reason)
    expect(await ended).toBe(reason)
  })
})

describe('errors', () => {
  const need = 'Not enough credits. You need 2.5 credits but have 0.1.'

  it.each<[string, number, string, string, new (...args: never[]) => SvcError, object]>([
    [
      '400',
      400,
      'validation_error',
      'No',
      ValidationError,
      { details: [{ path: '', message: 'No' }] },
    ],
    ['401', 401, 'token_expired', 'Expired', AuthenticationError, { code: 'token_expired' }],
    [
      '402',
      402,
      'insufficient_credits',
      need,
      InsufficientCreditsError,
      { required: 2.5, available: 0.1 },
    ],
    [
      '402 for a day',
      402,
      'insufficient_credits',
      'Not enough credits. You need 3 credits but have 1 left today.',
      InsufficientCreditsError,
      { required: 3, available: 1 },
    ],
    [
      '402 for a purchase',
      402,
      'insufficient_credits',
      'Credit purchase failed',
      InsufficientCreditsError,
      { required: null, available: null },
    ],
    ['403', 403, 'forbidden', 'No', ForbiddenError, {}],
    ['404', 404, 'not_found', 'No', NotFoundError, {}],
    ['429', 429, 'rate_limit_exceeded', 'No', RateLimitError, { retryAfter: null }],
    ['a later code', 418, 'teapot', 'x', SvcError, { code: 'teapot' }],
  ])('%s has its class', async (_, status, code, message, type, more) => {
    const { url } = await peer(refusal(status, code, message))
    const error = await errorOf(client(url, { maxRetries: 0 }).messages.get(ID))
    expect(error).toBeInstanceOf(type)
    expect(error).toBeInstanceOf(SvcError)
    expect(error).toMatchObject({ code, status, message, requestId: 'r1', ...more })
    expect(error.name).toBe(type.name)
  })

  it('a reused idempotency key is a conflict', async () => {
    const message = 'This Idempotency-Key was used with another request body'
    const details = [{ path: 'Idempotency-Key', message }]
    const { url } = await peer(refusal(400, 'validation_error', message, { details }))
    expect(await errorOf(client(url).messages.send(SMS))).toBeInstanceOf(ConflictError)
  })

  it.each([
    ['the page of a proxy', 502, '<html>Bad gateway</html>'],
    ['another envelope', 200, { data: {} }],
    ['no data', 200, { success: true }],
    ['other data', 200, { success: true, data: { at: 1 } }],
    ['empty data', 200, { success: true, data: { message: null } }],
    ['no JSON', 200, 'OK'],
    ['an empty body', 500, ''],
    ['null', 500, null],
  ])('%s is unexpected', async (_, status, body) => {
    const { url } = await peer({ status, body })
    const error = await errorOf(client(url, { maxRetries: 0 }).messages.get(ID))
    expect(error).toBeInstanceOf(UnexpectedAnswerError)
    expect(error.message).toContain(
      `${url} answered GET /api/v1/messages/:id with status ${status}`,
    )
  })

  it('a redirect is not followed with the key', async () => {
    const { url, seen } = await peer({
      status: 302,
      headers: { location: 'https://elsewhere.example' },
    })
    const error = await errorOf(client(url).messages.get(ID))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error.message).toBe(`${url} redirects to https://elsewhere.example`)
    expect(seen).toHaveLength(1)
  })

  it('an unreachable service is a ConnectionError with the code of the fault', async () => {
    const { url, close } = await peer(SENT)
    close()
    const error = await errorOf(client(url, { maxRetries: 0 }).messages.get(ID))
    expect(error).toMatchObject({ code: 'connection_failed', reason: 'ECONNREFUSED', status: null })
  })

  it.each<[fault: (request: string) => unknown, reason: string]>([
    [(request) => new TypeError(`no answer to ${request}`), 'TypeError'],
    [(request) => new Error('x', { cause: new Error(btoa(request)) }), 'Error'],
    [(request) => Object.assign(new Error(request), { code: 'ECONNRESET' }), 'ECONNRESET'],
    [(request) => Object.assign(new Error('x'), { name: request, code: request }), 'no answer'],
    [(request) => request, 'no answer'],
  ])('a fault of a passed fetch shows its code or name alone: %s', async (faultOf, reason) => {
    const apiKey = 'svc_0123456789abcdefghij'
    const svc = new Svc({
      apiKey,
      maxRetries: 0,
      fetch: (_, { headers }) => Promise.reject(faultOf(JSON.stringify(headers))),
    })
    const error = await errorOf(svc.messages.get(ID))
    expect(error).toMatchObject({ code: 'connection_failed', reason })
    const shown = inspect(error, { depth: null, showHidden: true })
    for (const form of [apiKey, apiKey.slice(4), btoa(apiKey).slice(4, 20)]) {
      expect(shown).not.toContain(form)
    }
  })

  it('a late answer is a TimeoutError, also of a fetch that ignores its signal', async () => {
    const { url } = await peer(() => {})
    for (const fetch of [undefined, () => new Promise<never>(() => {})]) {
      const svc = client(url, { maxRetries: 0, timeout: 20, fetch })
      const error = await errorOf(svc.messages.get(ID))
      expect(error).toBeInstanceOf(TimeoutError)
      expect(error.message).toBe(`${url} cannot be reached (no answer in 0.02 s)`)
    }
  })

  it('an aborted call rejects with the reason of its signal', async () => {
    const { url, seen } = await peer(() => {})
    const stopping = new AbortController()
    const ended = errorOf(client(url).messages.get(ID, { signal: stopping.signal }))
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    stopping.abort()
    expect((await ended).name).toBe('AbortError')
    const before = errorOf(client(url).messages.get(ID, { signal: AbortSignal.abort() }))
    expect((await before).name).toBe('AbortError')
    expect(seen).toHaveLength(1)
  })
})

describe('the key', () => {
  it('is not in the client, its JSON, or its inspection', () => {
    const svc = client('https://svc.example.com', { token: 'the_token' })
    for (const text of [inspect(svc, { depth: 9, showHidden: true }), JSON.stringify(svc)]) {
      expect(text).not.toMatch(/the_key|the_token/)
    }
  })

  it('is not in errors, even if a fetch puts its request there', async () => {
    const fetch = async (_: string, init: object) => {
      throw Object.assign(new Error(`failed: ${JSON.stringify(init)}`), { init })
    }
    const svc = client('https://svc.example.com', { fetch, maxRetries: 0 })
    const error = await errorOf(svc.messages.get(ID))
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(KEY)
    expect(error.message).toBe('https://svc.example.com cannot be reached (Error)')
  })

  it('is refused without being shown if it cannot be a header', () => {
    const create = () => client('https://svc.example.com', { apiKey: `${KEY}\n` })
    expect(create).toThrow('apiKey has characters that no key has')
    expect(create).not.toThrow(KEY)
  })
})

describe('the options', () => {
  const withEnv = (values: Record<string, string>, work: () => Promise<void>) => {
    for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value)
    return work().finally(() => vi.unstubAllEnvs())
  }

  it('come from the environment', async () => {
    const { url, seen } = await peer(SENT)
    await withEnv({ SVC_URL: url, SVC_API_KEY: 'svc_env' }, async () => {
      await new Svc().messages.send(SMS)
    })
    expect(seen[0]?.headers['x-api-key']).toBe('svc_env')
  })

  it('never send the key of the environment to another address than the one beside it', async () => {
    const { url, seen } = await peer(SENT)
    const env = { SVC_URL: 'https://svc.example.com', SVC_API_KEY: 'svc_env' }
    await withEnv(env, async () => {
      const error = await errorOf(new Svc({ baseUrl: url }).messages.send(SMS))
      expect(error).toBeInstanceOf(AuthenticationError)
    })
    expect(seen).toEqual([])
  })

  it.each([
    'http://svc.example.com',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'ftp://127.0.0.1',
  ])('refuse %s', (baseUrl) => {
    expect(() => client(baseUrl)).toThrow('baseUrl must be https')
  })

  it.each([
    'http://localhost:3000',
    'http://[::1]:3000',
    'http://127.8.9.1',
    'https://svc.example.com',
  ])('accept %s', (baseUrl) => {
    expect(() => client(baseUrl)).not.toThrow()
  })

  it('accept http in a private network if asked to', () => {
    expect(() => client('http://svc:3000', { allowHttp: true })).not.toThrow()
  })

  it.each(['svc.example.com', 'https://user:pass@svc.example.com', 'https://svc.example.com?x=1'])(
    'refuse the malformed address %s and do not show it',
    (baseUrl) => {
      expect(() => client(baseUrl)).toThrow(TypeError)
      expect(() => client(baseUrl)).not.toThrow('user:pass')
    },
  )
})
