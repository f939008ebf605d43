import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { checkEveryAnswer } from './every-answer.ts'
import { type RawAnswer, requestText, speak } from './raw-http.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld({ listen: true })

const UNREADABLE = JSON.stringify(refusal('validation_error', 'The request could not be read', ''))

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 100 })
  key = (await world().key(owner)).key
})

/** The parts of one answer. */
function readHead(text: string) {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const headers: Record<string, string> = Object.fromEntries(
    fields.map((field) => field.split(': ', 2)),
  )
  return { status: Number(line.split(' ')[1]), headers, body }
}

/** Throws unless the answer has the properties of every answer. */
function expectNamed({ text }: RawAnswer): void {
  const { status, headers, body } = readHead(text)
  checkEveryAnswer('unread', '', { status, headers, text: body, body: JSON.parse(body) })
}

const exchange = (text: string) => speak(world().url, (socket) => socket.write(text, 'latin1'))

describe('input that is not HTTP gets a 400 with the envelope, and the connection is closed', () => {
  it.each([
    ['noise', 'hello there\r\n\r\n'],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown version', 'GET /health HTTP/9.9\r\nHost: svc\r\n\r\n'],
    ['an unknown method', 'STEAL /health HTTP/1.1\r\nHost: svc\r\n\r\n'],
    ['a space in the path', 'GET /hea lth HTTP/1.1\r\nHost: svc\r\n\r\n'],
    ['a path of raw bytes', 'GET /\xff\xfe HTTP/1.1\r\nHost: svc\r\n\r\n'],
    ['a NUL in the path', 'GET /\0 HTTP/1.1\r\nHost: svc\r\n\r\n'],
    ['a NUL in a header', 'GET /health HTTP/1.1\r\nHost: svc\r\nX-A: a\0b\r\n\r\n'],
    ['a header without a name', 'GET /health HTTP/1.1\r\nHost: svc\r\n: x\r\n\r\n'],
    ['a folded header', 'GET /health HTTP/1.1\r\nHost: svc\r\nX-A: a\r\n b: c\r\n\r\n'],
    [
      'a header of 100 KB',
      `GET /health HTTP/1.1\r\nHost: svc\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`,
    ],
    ['a path of 100 KB', `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: svc\r\n\r\n`],
    ['a negative length', 'POST / HTTP/1.1\r\nHost: svc\r\nContent-Length: -1\r\n\r\n'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: svc\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: svc\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['an unknown coding', 'POST / HTTP/1.1\r\nHost: svc\r\nTransfer-Encoding: cow\r\n\r\n'],
  ])('%s', async (_, text) => {
    const answer = await exchange(text)
    expect(answer.statuses).toStrictEqual([400])
    expect(answer.text).toContain(`\r\n\r\n${UNREADABLE}`)
    expect(answer.text.toLowerCase()).toContain('connection: close')
    expectNamed(answer)
  })

  it('counts as a request without credentials, and is refused after too many', async () => {
    const narrow = await openWorld({
      listen: true,
      log_level: 'info',
      rates: { anonymous: { max: 2, window_s: 60 } },
    })
    const noise = () => speak(narrow.url, (socket) => socket.write('hello\r\n\r\n'))
    const answers = [await noise(), await noise(), await noise()].map(({ text }) => readHead(text))
    const left = answers.map(({ status, headers }) => [
      status,
      headers['x-ratelimit-limit'],
      headers['x-ratelimit-remaining'],
      headers['x-ratelimit-reset'],
      headers['retry-after'],
    ])
    expect(left).toStrictEqual([
      [400, '2', '1', '60', undefined],
      [400, '2', '0', '60', undefined],
      [429, '2', '0', '60', '60'],
    ])
    const text = 'Rate limit exceeded. Try again in 60 seconds.'
    expect(answers[2]?.body).toBe(JSON.stringify(refusal('rate_limit_exceeded', text)))
    expect((await fetch(`${narrow.url}/nothing`)).status).toBe(429)
    // Each refusal has a log line.
    const lines = narrow.lines.filter(({ msg }) => msg === 'request refused unread')
    expect(lines.map(({ request_id, status }) => [request_id, status])).toStrictEqual(
      answers.map(({ headers, status }) => [headers['x-request-id'], status]),
    )
    await narrow.close()
  })

  it('is answered once, however many bytes follow, even while the counters hang', async () => {
    const stuck = await openWorld({
      listen: true,
      alter: (core) => ({ ...core, count: () => new Promise(() => {}) }),
    })
    const answer = await speak(stuck.url, (socket) => {
      const noise = setInterval(() => socket.write('hello there\r\n\r\n'), 50)
      socket.on('close', () => clearInterval(noise))
    })
    expect(answer.statuses).toStrictEqual([400])
    expectNamed(answer)
    await stuck.close()
  })

  it('does not affect the valid request before it', async () => {
    const good = 'GET /health HTTP/1.1\r\nHost: svc\r\n\r\n'
    const { statuses } = await speak(world().url, (socket) => {
      socket.write(good)
      setTimeout(() => socket.write('nonsense\r\n\r\n'), 100)
    })
    expect(statuses).toStrictEqual([200, 400])
  })

  it('also closes when the client keeps its side open', async () => {
    const { hostname, port } = new URL(world().url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    socket.write('hello there\r\n\r\n')
    await once(socket.resume(), 'end')
    const { server } = world().app
    const connections = () =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
    await expect.poll(connections, { timeout: 2_000 }).toBe(0)
    socket.destroy()
  })
})

describe('HTTP is answered by the service, not by Node', () => {
  it.each([
    ['an empty Host', 200, 'GET /health HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['an IPv6 Host', 200, 'GET /health HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n'],
    ['HTTP/1.0', 200, 'GET /health HTTP/1.0\r\n\r\n'],
    ['an absolute URL', 200, requestText('GET http://other.example/health HTTP/1.1')],
    ['a path with dots', 404, requestText('GET /api/v1/../../health HTTP/1.1')],
    ['an asterisk', 404, requestText('OPTIONS * HTTP/1.1')],
    ['TRACE', 404, requestText('TRACE /health HTTP/1.1')],
    [
      'an unknown expectation',
      200,
      requestText('GET /health HTTP/1.1', ['Expect: the-impossible']),
    ],
    ['an upgrade', 200, requestText('GET /health HTTP/1.1', ['Upgrade: websocket'])],
    ['a thousand headers', 200, requestText('GET /health HTTP/1.1', Array(1000).fill('A: b'))],
    [
      'a body where none is expected',
      200,
      requestText('GET /health HTTP/1.1', ['Content-Length: 3'], '{"a'),
    ],
  ])('%s: %s', async (_, status, text) => {
    const answer = await exchange(text)
    expect(answer.statuses).toStrictEqual([status])
    expect(answer.text.toLowerCase()).toContain('x-ratelimit-remaining: ')
    expect(answer.text.toLowerCase()).toContain('x-request-id: ')
  })

  it('answers pipelined requests in their order', async () => {
    const one = (path: string) => `GET ${path} HTTP/1.1\r\nHost: svc\r\n\r\n`
    const text = `${one('/health')}${one('/api/v1/account')}${one('/nothing')}${requestText('GET /health HTTP/1.1')}`
    expect((await exchange(text)).statuses).toStrictEqual([200, 401, 404, 200])
  })

  it('treats a chunked body as one body', async () => {
    const body = JSON.stringify(sms)
    const chunks = [...body].map((char) => `1\r\n${char}\r\n`).join('')
    const head = requestText('POST /api/v1/messages/send HTTP/1.1', [
      `X-API-Key: ${key}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ])
    expect((await exchange(`${head}${chunks}0\r\n\r\n`)).statuses).toStrictEqual([201])
  })
})

describe('an ambiguous header is refused before any other check, and the connection is closed', () => {
  const sendWith = (...headers: string[]) =>
    `${requestText('POST /api/v1/messages/send HTTP/1.1', [...headers, 'Content-Length: 2'])}{}`
  it.each([
    ['Host', 'two Hosts', () => requestText('GET /health HTTP/1.1', ['Host: other'])],
    ['Host', 'the same Host twice', () => requestText('GET /nothing HTTP/1.1', ['host: svc'])],
    ['Host', 'no Host', () => 'GET /health HTTP/1.1\r\n\r\n'],
    ['Host', 'two names in one Host', () => 'GET /health HTTP/1.1\r\nHost: a, b\r\n\r\n'],
    ['Host', 'a Host with a path', () => 'GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['X-API-Key', 'two keys', () => sendWith(`X-API-Key: ${key}`, 'X-API-Key: svc_other')],
    ['X-API-Key', 'a key twice', () => sendWith(`X-API-Key: ${key}`, `x-api-key: ${key}`)],
    [
      'Authorization',
      'two sessions',
      () => sendWith(`Authorization: Bearer ${owner.token}`, 'Authorization: Bearer x'),
    ],
    [
      'Idempotency-Key',
      'two keys of one send',
      () => sendWith(`X-API-Key: ${key}`, 'Idempotency-Key: a', 'Idempotency-Key: b'),
    ],
    [
      'Content-Type',
      'two types',
      () => sendWith('Content-Type: application/json', 'Content-Type: text/csv'),
    ],
  ])('%s: %s', async (name, _, text) => {
    const answer = await exchange(text())
    expect(answer.statuses).toStrictEqual([400])
    const { headers, body } = readHead(answer.text)
    expect(headers.connection).toBe('close')
    expect(JSON.parse(body)).toMatchObject({
      error: 'validation_error',
      details: [{ path: name }],
    })
    expectNamed(answer)
  })

  it('counts as a request without credentials', async () => {
    const rates = { anonymous: { max: 1, window_s: 60 } }
    const narrow = await openWorld({ listen: true, rates })
    const text = requestText('GET /health HTTP/1.1', ['Host: other'])
    const twice = () => speak(narrow.url, (socket) => socket.write(text))
    expect((await twice()).statuses).toStrictEqual([400])
    expect((await twice()).statuses).toStrictEqual([429])
    await narrow.close()
  })
})

it('gives no answer to a client that resets right after its request, and logs no fault', async () => {
  const own = await openWorld({ listen: true, log_level: 'debug', load: 'measured' })
  const { hostname, port } = new URL(own.url)
  const { key: own_key } = await own.key(await own.signup({ credits: 10 }))
  const requests = [
    requestText('GET /health HTTP/1.1'),
    requestText('GET /nothing HTTP/1.1'),
    requestText('GET /api/v1/messages HTTP/1.1', [`X-API-Key: ${own_key}`]),
    requestText('GET /api/v1/messages HTTP/1.1', ['X-API-Key: svc_wrong']),
    'nonsense\r\n\r\n',
  ]
  own.lines.length = 0
  const resets = Array.from({ length: 60 }, async (_, i) => {
    const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {})
    await once(socket, 'connect')
    socket.write(requests[i % requests.length] as string)
    socket.resetAndDestroy()
  })
  await Promise.all(resets)
  const dropped = () => own.lines.filter(({ msg }) => msg === 'the client is gone')
  await expect.poll(() => dropped().length, { timeout: 10_000 }).toBeGreaterThan(0)
  const { server } = own.app
  const connections = () =>
    new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
  await expect.poll(connections, { timeout: 10_000 }).toBe(0)
  expect(dropped()[0]).toMatchObject({ level: 20, request_id: expect.any(String) })
  expect(own.lines.filter(({ status }) => status === 500)).toStrictEqual([])
  expect((await fetch(`${own.url}/health/live`)).status).toBe(200)
  // Faults in the log make this test fail.
  await own.close()
})

describe('a client that sends too much, too little or too slowly', () => {
  const sendHead = (length: number | string) =>
    requestText('POST /api/v1/messages/send HTTP/1.1', [
      `X-API-Key: ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${length}`,
    ])

  it('is refused by its Content-Length, before it sends the body', async () => {
    const answer = await exchange(sendHead(19 * 1024 * 1024))
    expect(answer.statuses).toStrictEqual([400])
    expect(answer.text).toContain('Request body is too large')
  })

  it.each([5, 40])('gets the refusal even when it first sends all of %d MB', async (megabytes) => {
    const body = Buffer.alloc(megabytes * 1024 * 1024, ' ')
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const url = `${world().url}/api/v1/messages/send`
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(url, { method: 'POST', headers, body })
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain('Request body is too large')
    }
  })

  it('is refused when its chunks become too large', async () => {
    const head = sendHead(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked')
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const answer = await speak(world().url, async (socket) => {
      socket.write(head)
      for (let i = 0; i < 300 && socket.writable; i++) {
        socket.write(chunk)
        await pause(1)
      }
    })
    expect(answer.statuses).toStrictEqual([400])
    expect(answer.text).toContain('Request body is too large')
  })

  it('that closes in the middle of a body sends no message', async () => {
    const before = await world().written(owner)
    const body = JSON.stringify(sms)
    await speak(world().url, (socket) => {
      socket.write(`${sendHead(body.length)}${body.slice(0, -1)}`, () => socket.destroy())
    })
    await pause(50)
    expect(await world().written(owner)).toStrictEqual(before)
  })

  it('that disconnects before the answer still sends its message', async () => {
    const before = await world().written(owner)
    const body = JSON.stringify(sms)
    await speak(world().url, (socket) => {
      socket.write(`${sendHead(body.length)}${body}`, () => setTimeout(() => socket.destroy(), 20))
    })
    await expect
      .poll(() => world().written(owner))
      .toStrictEqual({
        messages: before.messages + 1,
        entries: before.entries + 1,
      })
  })

  it.each([
    ['headers', () => 'GET /health HTTP/1.1\r\nHost: svc\r\n'],
    ['a body', () => `${sendHead(100)}{`],
  ])('times out: %s', async (_, beginning) => {
    const { server } = world().app
    const { headersTimeout, requestTimeout } = server
    server.headersTimeout = 300
    server.requestTimeout = 300
    try {
      const answer = await speak(world().url, (socket) => {
        socket.write(beginning())
        const drip = setInterval(() => socket.write('a'), 100)
        socket.on('close', () => clearInterval(drip))
      })
      expect(answer.statuses).toStrictEqual([400])
      expect(answer.text).toContain(UNREADABLE)
      expectNamed(answer)
    } finally {
      Object.assign(server, { headersTimeout, requestTimeout })
    }
  })

  it('gets no answer on a connection without input, which a browser would take for that of its first request', async () => {
    const { server } = world().app
    const { headersTimeout, requestTimeout } = server
    server.headersTimeout = 300
    server.requestTimeout = 300
    try {
      const answer = await speak(world().url, () => {})
      expect([answer.text, answer.statuses]).toStrictEqual(['', []])
    } finally {
      Object.assign(server, { headersTimeout, requestTimeout })
    }
  })

  it('has ten seconds for headers and thirty for a request', () => {
    const { headersTimeout, requestTimeout } = world().app.server
    expect([headersTimeout, requestTimeout]).toStrictEqual([10_000, 30_000])
  })

  it('gets 100 Continue for Expect: 100-continue', async () => {
    const { hostname, port } = new URL(world().url)
    const status = await new Promise((resolve, reject) => {
      const asking = request({
        hostname,
        port,
        method: 'POST',
        path: '/api/v1/messages/send',
        headers: { 'x-api-key': key, 'content-type': 'application/json', expect: '100-continue' },
      })
      asking.on('continue', () => asking.end(JSON.stringify(sms)))
      asking.on('response', (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      })
      asking.on('error', reject)
      asking.flushHeaders()
    })
    expect(status).toBe(201)
  })
})
