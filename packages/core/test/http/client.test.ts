import { type AddressInfo, createServer, type Socket } from 'node:net'
import { DEADLINES_MS } from '@svc/testkit/provider'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  createConnector,
  createHttpClient,
  type HttpAnswer,
  type HttpCall,
  type HttpClientOptions,
} from '../../src/http/client.ts'
import { answer, type HttpPlay, NO_ANSWER, openHttpPeer } from '../providers/http-peer.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const BODY_MAX = 1_000
const DRAIN_MAX = 64 * 1024

/** A client with the rules of webhooks, and a peer. One connection at a time shows whether it becomes free. */
async function open(options: Partial<HttpClientOptions> = {}) {
  const peer = await openHttpPeer()
  closing.push(peer.close)
  const client = createHttpClient({
    connect: createConnector(),
    deadline_ms: DEADLINES_MS.patient,
    body_max: BODY_MAX,
    drain_max: DRAIN_MAX,
    connections: 1,
    idle_ms: 4_000,
    repeats: true,
    ...options,
  })
  closing.push(client.close)
  const post = (call: Partial<HttpCall> = {}): Promise<HttpAnswer> =>
    client.call({ method: 'POST', url: `${peer.url}/`, headers: {}, body: '{}', ...call })
  return { peer, client, post }
}

/** Writes these bytes as they are. */
function raw(...texts: string[]): HttpPlay {
  return (_, socket) => {
    for (const text of texts) socket.write(text)
  }
}

const OK = 'HTTP/1.1 200 OK\r\nx-answer: final\r\ncontent-length: 2\r\n\r\nok'

describe('a call whose deadline passes', () => {
  it('before a connection could be made is unreachable, and busy only while others use the connections', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    closing.push(async () => silent.close())
    const { port } = silent.address() as AddressInfo
    const limits = { wait_ms: 200, deadline_ms: DEADLINES_MS.patient, repeats: false }
    const { peer, client, post } = await open(limits)
    const url = `https://127.0.0.1:${port}/`
    const alone = await client.call({ method: 'POST', url, headers: {}, body: '{}' })
    expect(alone).toMatchObject({ type: 'not_sent', code: 'connect_timeout' })
    peer.next(NO_ANSWER.hang)
    void post()
    await expect.poll(() => peer.requests.length).toBe(1)
    expect(await post()).toMatchObject({ type: 'not_sent', code: 'busy' })
  })

  it('while the process stands still has the answer that arrived meanwhile', async () => {
    const deadline_ms = 300
    const { peer, post } = await open({ deadline_ms })
    peer.next((_, socket) => {
      socket.write(OK)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * deadline_ms)
    })
    expect(await post()).toMatchObject({ type: 'answered', status: 200 })
  })

  it('while the process stands still is not sent, although its connection becomes free', async () => {
    const { peer, post } = await open()
    peer.next((_, socket) => {
      const late = performance.now() + 2 * DEADLINES_MS.patient
      const clock = vi.spyOn(performance, 'now').mockReturnValue(late)
      closing.push(async () => clock.mockRestore())
      socket.write(OK)
    })
    expect(await Promise.all([post(), post()])).toMatchObject([
      { type: 'answered', status: 200 },
      { type: 'not_sent', code: 'busy' },
    ])
    expect(peer.requests).toHaveLength(1)
  })

  it.each<[string, HttpPlay]>([
    ['without an answer', NO_ANSWER.hang],
    ['within the headers', raw('HTTP/1.1 200 OK\r\ncontent-le')],
    ['before the body', NO_ANSWER.headers_alone],
    ['within the body', raw('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{')],
    ['after an informational response', raw('HTTP/1.1 102 Processing\r\n\r\n')],
  ])('%s is unanswered and frees its connection', async (_, play) => {
    const { peer, post } = await open({ deadline_ms: DEADLINES_MS.brief })
    peer.next(play)
    expect(await post()).toMatchObject({ type: 'unanswered', code: 'timeout' })
    await expect.poll(peer.connections, { timeout: 10_000 }).toBe(0)
    expect(await post()).toMatchObject({ type: 'answered', status: 200 })
    expect(peer.requests).toHaveLength(2)
  })

  it('ends in the order of the calls, and leaves the answered calls alone', async () => {
    // 200 connections are opened within this time, also on a busy machine.
    const { peer, post } = await open({ deadline_ms: 3_000, connections: null })
    peer.otherwise((request, socket) => {
      if (Number(request.path.slice(1)) % 2 === 0) answer(200)(request, socket)
    })
    const ended: number[] = []
    const calls = Array.from({ length: 200 }, async (_, i) => {
      const answered = await post({ url: `${peer.url}/${i}` })
      if (answered.type !== 'answered') ended.push(i)
      return answered.type
    })
    const types = await Promise.all(calls)
    expect(types).toEqual(types.map((_, i) => (i % 2 === 0 ? 'answered' : 'unanswered')))
    expect(ended).toEqual(ended.toSorted((a, b) => a - b))
    expect(ended).toHaveLength(100)
  })
})

describe('the body of an answer', () => {
  it('is truncated at `body_max`; up to `drain_max` it is read and the connection is kept', async () => {
    const { peer, post } = await open()
    const sockets = new Set<Socket>()
    peer.otherwise((request, socket) => {
      sockets.add(socket)
      answer(200, 'a'.repeat(DRAIN_MAX))(request, socket)
    })
    for (let i = 0; i < 3; i += 1) {
      const answered = await post()
      expect(answered).toMatchObject({ type: 'answered', status: 200, is_whole: false })
      expect(answered.type === 'answered' && answered.body.length).toBe(BODY_MAX)
    }
    expect(sockets.size).toBe(1)
  })

  it('beyond `drain_max` ends the connection, without an error', async () => {
    const { peer, post } = await open()
    peer.next(answer(200, 'a'.repeat(100 * DRAIN_MAX)))
    const answered = await post()
    expect(answered).toMatchObject({ type: 'answered', status: 200, is_whole: false })
    expect(answered.type === 'answered' && answered.body.length).toBe(BODY_MAX)
    await expect.poll(peer.connections, { timeout: 10_000 }).toBe(0)
    expect(await post()).toMatchObject({ type: 'answered', is_whole: true })
  })

  it('that ends too early leaves the call unanswered, without a repeat', async () => {
    const { peer, post } = await open()
    peer.next(answer(200), NO_ANSWER.close_in_body)
    expect(await post()).toMatchObject({ type: 'answered' })
    expect(await post()).toMatchObject({ type: 'unanswered', code: 'reset' })
    expect(peer.requests).toHaveLength(2)
  })
})

describe('an informational response', () => {
  it('precedes the answer and is not the answer', async () => {
    const { peer, post } = await open()
    peer.next(
      raw(
        'HTTP/1.1 102 Processing\r\nx-early: 1\r\n\r\n',
        'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n',
        OK,
      ),
    )
    const answered = await post()
    expect(answered).toMatchObject({ type: 'answered', status: 200, is_whole: true })
    expect(answered.type === 'answered' && answered.headers).toEqual({
      'x-answer': 'final',
      'content-length': '2',
    })
    expect(await post()).toMatchObject({ type: 'answered', status: 200 })
  })

  it('is not an answer if the connection ends after it', async () => {
    const { peer, post } = await open({ repeats: false })
    peer.next((_, socket) => socket.end('HTTP/1.1 102 Processing\r\n\r\n'))
    expect(await post()).toMatchObject({ type: 'unanswered', code: 'reset' })
  })
})

it('takes an answer that arrives before the request is read', async () => {
  let onWritten: () => void = () => {}
  const written = new Promise<void>((resolve) => {
    onWritten = resolve
  })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.pause()
    socket.write(OK.replace('200 OK', '413 Too Large'), onWritten)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => server.close())
  const { post } = await open()
  const { port } = server.address() as AddressInfo
  const calling = post({ url: `http://127.0.0.1:${port}/`, body: Buffer.alloc(8 * 1024 * 1024) })
  await written
  expect(await calling).toMatchObject({ type: 'answered', status: 413, is_whole: true })
})
