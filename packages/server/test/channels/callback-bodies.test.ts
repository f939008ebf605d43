import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { within } from '../within.ts'
import { openService, type Service } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

const KB = 1024
const WAIT_MAX_MS = 15_000

/** How many bodies of 256 KB one client may leave unfinished. */
const KEPT = 32

/** The number of bad signatures after which a client counts as forging. */
const FORGED_MAX = 5

let service: Service
let peer: Awaited<ReturnType<typeof openTwilio>>
beforeAll(async () => {
  peer = await openTwilio()
  service = await openService({
    providers: [peer.settings],
    secrets: peer.secrets,
    rates: { anonymous: { max: FORGED_MAX, window_s: 60 } },
    prepare({ providers }) {
      const { callback } = providers
      providers.callback = (...args) => {
        onCheck()
        return callback(...args)
      }
    },
  })
  const { key } = await service.tenant()
  const json = { to: peer.recipient(), channel: 'sms', content: { text: 'Hello' } }
  expect((await service.call('POST', '/api/v1/messages/send', { key, json })).status).toBe(201)
  await service.idle()
})
afterAll(async () => {
  await service.close()
  await peer.close()
})

const head = (name: string, bytes: number) =>
  `POST /callbacks/${name} HTTP/1.1\r\nHost: svc\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${bytes}\r\n\r\n`

/** Begins a body and leaves it unfinished. */
async function stall(name: string): Promise<{ socket: Socket; closed: Promise<void> }> {
  const { hostname, port } = new URL(service.url)
  const socket = connect({ host: hostname, port: Number(port) })
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(`${head(name, 256 * KB)}Body=`)
  // The server has read the head of this request before the next connection is made.
  await fetch(`${service.url}/health/live`)
  return { socket, closed }
}

it('an unknown provider is answered before the body is read', async () => {
  const { socket } = await stall('unknown')
  const answered = new Promise<string>((resolve) =>
    socket.once('data', (bytes) => resolve(`${bytes}`)),
  )
  expect(await within(WAIT_MAX_MS, 'the answer', answered)).toMatch(/^HTTP\/1\.1 404 /)
  socket.destroy()
})

it('a body over the limit of its provider is refused', async () => {
  const answer = await fetch(`${service.url}/callbacks/${peer.settings.name}`, {
    method: 'POST',
    body: 'a'.repeat(256 * KB + 1),
  })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ message: 'Request body is too large' })
})

it('of too many unfinished bodies the oldest are closed, and a callback is still accepted', async () => {
  const stalled = []
  for (let i = 0; i < KEPT + 3; i++) stalled.push(await stall(peer.settings.name))
  const cut = Promise.all(stalled.slice(0, 3).map(({ closed }) => closed))
  await within(WAIT_MAX_MS, 'the oldest to be cut', cut)
  expect(stalled.slice(3).every(({ socket }) => !socket.destroyed)).toBe(true)

  const callback = peer.signed({ MessageSid: `SM${'0'.repeat(32)}`, MessageStatus: 'sent' })
  const answer = await fetch(`${service.url}/callbacks/${peer.settings.name}`, {
    method: 'POST',
    headers: callback.headers as Record<string, string>,
    body: Buffer.from(callback.body),
  })
  expect(answer.status).toBe(200)
  for (const { socket } of stalled) socket.destroy()
})

/** Notes that a callback is checked. */
let onCheck = () => {}

/** How many callbacks were checked in each turn of the event loop while `work` was running. */
async function checksPerTurn(work: () => Promise<void>): Promise<number[]> {
  const counts: number[] = [0]
  let isOver = false
  const turn = () => {
    if (isOver) return
    counts.push(0)
    setImmediate(turn)
  }
  onCheck = () => {
    counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1
  }
  setImmediate(turn)
  try {
    await work()
  } finally {
    isOver = true
    onCheck = () => {}
  }
  return counts
}

/** Sends requests on one connection, all at once; returns their statuses. */
async function pipelined(requests: readonly string[]): Promise<number[]> {
  const { hostname, port } = new URL(service.url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  const statuses = () =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  const answered = new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('data', (bytes) => {
      text += bytes
      if (statuses().length === requests.length) resolve()
    })
  })
  socket.write(requests.join(''))
  await within(WAIT_MAX_MS, 'the answers', answered)
  socket.destroy()
  return statuses()
}

it('one body of a forging client is checked in each turn of the event loop, and none is refused', async () => {
  const { name } = peer.settings
  const forged = `${head(name, 6)}Body=x`
  const { headers, body } = peer.signed({
    MessageSid: `SM${'1'.repeat(32)}`,
    MessageStatus: 'sent',
  })
  const lines = Object.entries({ ...headers, 'Content-Length': body.byteLength })
  const genuine = `POST /callbacks/${name} HTTP/1.1\r\nHost: svc\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${Buffer.from(body)}`
  const refused = Array.from({ length: FORGED_MAX }, () => 403)
  expect(await pipelined(refused.map(() => forged))).toEqual(refused)

  const many = Array.from({ length: 60 }, () => forged)
  let statuses: number[] = []
  const counts = await checksPerTurn(async () => {
    statuses = await pipelined([...many, genuine])
  })
  expect(statuses).toEqual([...many.map(() => 403), 200])
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(61)
  expect(Math.max(...counts)).toBeLessThanOrEqual(2)

  // After its window, the client is treated like any other.
  service.clock.ms += 60_000
  const free = await checksPerTurn(async () => {
    statuses = await pipelined([forged, forged, genuine])
  })
  expect(statuses).toEqual([403, 403, 200])
  expect(Math.max(...free)).toBe(3)
})
