import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DEADLINES_MS } from '@svc/testkit/provider'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { HttpCall } from '../../src/http/client.ts'
import {
  createProviderClient,
  type ProviderAnswer,
  type ProviderClientOptions,
} from '../../src/providers/http-client.ts'
import {
  accepting,
  answer,
  certificateFor,
  deadlineMsFor,
  type HttpPeer,
  type HttpPlay,
  NO_ANSWER,
  ODD_ANSWERS,
  openHttpPeer,
  refusedUrl,
} from './http-peer.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function clientOf(options?: ProviderClientOptions) {
  const client = createProviderClient(options)
  closing.push(client.close)
  return client
}

async function peerOf(options?: Parameters<typeof openHttpPeer>[0]): Promise<HttpPeer> {
  const peer = await openHttpPeer(options)
  closing.push(peer.close)
  return peer
}

function post(url: string): HttpCall {
  const headers = { authorization: 'Bearer canary-secret', 'content-type': 'application/json' }
  return { method: 'POST', url, headers, body: '{"text":"canary-content"}' }
}

/** The text of a failure contains nothing of the request. */
function expectNoLeak(failure: ProviderAnswer): void {
  expect(JSON.stringify(failure)).not.toMatch(/canary|127\.0\.0\.1|localhost/)
}

describe('an answer', () => {
  it('has status, headers and JSON; the peer gets the request unchanged', async () => {
    const peer = await peerOf()
    peer.next(answer(201, { id: 'ä' }, { 'X-Any': '1' }))
    const answered = await clientOf().call(post(`${peer.url}/a?b=%20c`))
    expect(answered).toMatchObject({
      type: 'answered',
      status: 201,
      headers: { 'x-any': '1', 'content-type': 'application/json' },
      body: '{"id":"ä"}',
      json: { id: 'ä' },
    })
    expect(peer.requests).toMatchObject([
      {
        method: 'POST',
        path: '/a?b=%20c',
        headers: { 'accept-encoding': 'identity', authorization: 'Bearer canary-secret' },
        body: '{"text":"canary-content"}',
      },
    ])
  })

  it.each([400, 401, 403, 404, 408, 409, 429, 500, 502, 503, 504])(
    'may be a %i',
    async (status) => {
      const peer = await peerOf()
      peer.next(answer(status))
      expect(await clientOf().call(post(peer.url))).toMatchObject({ type: 'answered', status })
      expect(peer.requests).toHaveLength(1)
    },
  )

  it.each<[keyof typeof ODD_ANSWERS, object]>([
    ['truncated_json', { status: 200, body: '{"id":"x"', json: undefined }],
    ['empty', { status: 200, body: '', json: undefined }],
    ['wrong_content_type', { status: 200, json: { id: 'x' } }],
    ['no_json', { status: 200, json: undefined }],
    ['error_payload', { status: 200, json: { error: { code: 'E1', message: 'no' } } }],
    ['gzip_bomb', { status: 200, body: '', json: undefined }],
    ['redirect', { status: 307 }],
    ['extra_response', { status: 200, json: { id: 'x' } }],
  ])('may be unusual: %s', async (name, expected) => {
    const peer = await peerOf()
    peer.next(ODD_ANSWERS[name])
    const answered = await clientOf().call(post(peer.url))
    expect(answered).toMatchObject({ type: 'answered', ...expected })
    expect(peer.requests).toHaveLength(1)
  })

  it('of 10 MB is truncated at the limit, and its connection ends', async () => {
    const peer = await peerOf()
    peer.next(ODD_ANSWERS.huge_body)
    const answered = await clientOf({ body_max: 1_000 }).call(post(peer.url))
    expect(answered).toMatchObject({ type: 'answered', status: 200, json: undefined })
    expect(answered.type === 'answered' && answered.body.length).toBe(1_000)
    await expect.poll(peer.connections, { timeout: 10_000 }).toBe(0)
  })

  it('with the size of the limit is complete', async () => {
    const peer = await peerOf()
    const text = JSON.stringify({ pad: 'a'.repeat(500) })
    peer.next(answer(200, text), answer(200, `${text} `))
    const client = clientOf({ body_max: text.length })
    expect(await client.call(post(peer.url))).toMatchObject({ json: { pad: 'a'.repeat(500) } })
    expect(await client.call(post(peer.url))).toMatchObject({ body: text, json: undefined })
  })

  it('without a request is not used for the next request', async () => {
    const peer = await peerOf()
    peer.next(ODD_ANSWERS.extra_response, answer(200, { id: 'second' }))
    const client = clientOf()
    await client.call(post(peer.url))
    expect(await client.call(post(peer.url))).toMatchObject({ json: { id: 'second' } })
  })
})

describe('a request that the peer read and did not answer is unanswered', () => {
  const CODES: Record<keyof typeof NO_ANSWER, string> = {
    hang: 'timeout',
    close: 'reset',
    reset: 'reset',
    slow_headers: 'timeout',
    slow_body: 'timeout',
    headers_alone: 'timeout',
    close_in_headers: 'reset',
    close_in_body: 'reset',
    reset_in_body: 'reset',
    close_in_chunk: 'reset',
    two_lengths: 'malformed',
    bad_chunk: 'malformed',
    not_http: 'malformed',
    huge_headers: 'too_large',
    unrequested_upgrade: 'reset',
  }
  it.each(Object.entries<HttpPlay>(NO_ANSWER))('%s', async (name, play) => {
    const peer = await peerOf()
    peer.next(accepting(play))
    const answered = await clientOf({ deadline_ms: deadlineMsFor(name) }).call(post(peer.url))
    expect(answered).toMatchObject({
      type: 'unanswered',
      code: CODES[name as keyof typeof NO_ANSWER],
    })
    expectNoLeak(answered)
    expect(peer.requests.filter(({ accepted }) => accepted)).toHaveLength(1)
    await expect.poll(peer.connections, { timeout: 10_000 }).toBe(0)
  })

  it('on a kept connection that the peer resets, without a repeat', async () => {
    const peer = await peerOf()
    const client = clientOf()
    expect(await client.call(post(peer.url))).toMatchObject({ type: 'answered' })
    peer.next(accepting(NO_ANSWER.reset))
    expect(await client.call(post(peer.url))).toMatchObject({ type: 'unanswered', code: 'reset' })
    expect(peer.requests).toHaveLength(2)
  })

  it('if the client closes meanwhile', async () => {
    const peer = await peerOf()
    const client = createProviderClient()
    let onRequest: () => void = () => {}
    const requested = new Promise<void>((resolve) => {
      onRequest = resolve
    })
    peer.next(() => onRequest())
    const calling = client.call(post(peer.url))
    await requested
    await client.close()
    expect(await calling).toMatchObject({ type: 'unanswered', code: 'closed' })
    expect(await client.call(post(peer.url))).toMatchObject({ type: 'not_sent', code: 'closed' })
  })
})

describe('a request that certainly did not reach the peer is not sent', () => {
  it('if the connection is refused', async () => {
    const answered = await clientOf().call(post(await refusedUrl()))
    expect(answered).toMatchObject({ type: 'not_sent', code: 'connect_refused' })
    expectNoLeak(answered)
  })

  it('if the host name does not exist', async () => {
    const answered = await clientOf().call(post('http://canary.invalid/'))
    expect(answered).toMatchObject({ type: 'not_sent', code: 'dns' })
    expectNoLeak(answered)
  })

  it.each([
    ['of an unknown issuer', 'localhost', false],
    ['for another host', 'other.test', true],
  ])('if the certificate is %s', async (_, host, is_known) => {
    const certificate = certificateFor(host)
    const peer = await peerOf({ tls: certificate })
    const answered = await clientOf(is_known ? { ca: certificate.cert } : {}).call(post(peer.url))
    expect(answered).toMatchObject({ type: 'not_sent', code: 'tls' })
    expectNoLeak(answered)
    expect(peer.requests).toEqual([])
  })

  it('but it is sent with a valid certificate', async () => {
    const certificate = certificateFor('localhost')
    const peer = await peerOf({ tls: certificate })
    const client = clientOf({ ca: certificate.cert })
    expect(await client.call(post(peer.url))).toMatchObject({ type: 'answered', status: 200 })
  })

  it('if the TLS handshake does not end', async () => {
    const peer = await peerOf()
    const answered = await clientOf({ connect_ms: 300 }).call(
      post(peer.url.replace('http:', 'https:')),
    )
    expect(answered).toMatchObject({ type: 'not_sent', code: 'connect_timeout' })
  })

  it('if it waits for a connection until the deadline; it is not sent later either', async () => {
    const peer = await peerOf()
    peer.next(NO_ANSWER.hang)
    const client = clientOf({ connections: 1, deadline_ms: DEADLINES_MS.brief })
    const answered = await Promise.all([client.call(post(peer.url)), client.call(post(peer.url))])
    expect(answered).toMatchObject([
      { type: 'unanswered', code: 'timeout' },
      { type: 'not_sent', code: 'busy' },
    ])
    expect(await client.call(post(peer.url))).toMatchObject({ type: 'answered' })
    expect(peer.requests).toHaveLength(2)
  })

  it.each([
    ['an invalid URL', { url: 'nowhere' }],
    ['another protocol', { url: 'ftp://127.0.0.1/' }],
    ['a header that breaks the line', { headers: { a: 'b\r\nc: d' } }],
    ['a header without a name', { headers: { '': 'b' } }],
    ['another length', { headers: { 'content-length': '3' } }],
    ['an expectation', { headers: { expect: '100-continue' } }],
  ])('if it has %s', async (_, wrong) => {
    const peer = await peerOf()
    const answered = await clientOf().call({ ...post(peer.url), ...wrong })
    expect(answered).toMatchObject({ type: 'not_sent', code: 'invalid' })
    expect(peer.requests).toEqual([])
  })
})

it('gives the whole deadline to a call that got its connection late', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const seen: string[] = []
  const answers: (() => void)[] = []
  const server = createServer((request, response) => {
    seen.push(request.url ?? '')
    answers.push(() => response.end('{}'))
  })
  const untilSeen = async (count: number) => {
    while (seen.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = clientOf({ connections: 1, deadline_ms: 1_000 })
    const [first, second, third] = ['/1', '/2', '/3'].map((path) => client.call(post(url + path)))
    await untilSeen(1)
    vi.advanceTimersByTime(600)
    answers[0]?.()
    expect(await first).toMatchObject({ type: 'answered', status: 200 })
    await untilSeen(2)
    // The third had no connection in time, so the peer never sees it.
    vi.advanceTimersByTime(400)
    expect(await third).toMatchObject({ type: 'not_sent', code: 'busy' })
    // The second ends 1.2 s after it was made.
    vi.advanceTimersByTime(200)
    answers[1]?.()
    expect(await second).toMatchObject({ type: 'answered', status: 200 })
    expect(seen).toEqual(['/1', '/2'])
    await client.close()
  } finally {
    vi.useRealTimers()
    server.close()
  }
})

it('has 50 connections at most if no number is given, and uses them all at once', async () => {
  const peer = await peerOf()
  const ok = answer(200)
  const held: (() => void)[] = []
  let most = 0
  // Nothing is answered before 50 requests wait for it.
  peer.otherwise((request, socket) => {
    most = Math.max(most, peer.connections())
    held.push(() => ok(request, socket))
    if (peer.requests.length >= 50) for (const release of held.splice(0)) release()
  })
  const client = clientOf({ deadline_ms: 10_000 })
  const calls = Array.from({ length: 60 }, () => client.call(post(peer.url)))
  const answers = await Promise.all(calls)
  expect(new Set(answers.map(({ type }) => type))).toEqual(new Set(['answered']))
  expect(most).toBe(50)
})

it('keeps its connections for later calls', async () => {
  const peer = await peerOf()
  const client = clientOf()
  for (let i = 0; i < 9; i += 1) await client.call(post(peer.url))
  expect(peer.requests).toHaveLength(9)
  expect(peer.connections()).toBeLessThan(3)
  await client.close()
  await expect.poll(peer.connections, { timeout: 10_000 }).toBe(0)
})
