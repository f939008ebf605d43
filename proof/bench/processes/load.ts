import { setTimeout as pause } from 'node:timers/promises'
import { answer } from '../../stage/answer.mjs'
import {
  type Connection,
  getBytes,
  openConnection,
  type RequestParts,
  requestBytes,
  sendBytes,
} from '../../stage/connection.ts'
import { quantile } from '../figure.ts'

/** The number of different requests, sent in turn, so that no cache of requests is measured. */
const REQUESTS = 512

/** Stands for the default sender, which sends of the API have here. */
const SERVICE_SID = `MG${'0'.repeat(32)}`

/** Shared connections of sends at a steady rate: enough that no request waits for one. */
const PACED_CONNECTIONS = 64

/** When a request that was refused for overload is repeated. */
const REFUSED_MS = 100

/** The placeholder for a recipient's own digits; the bytes between two of them belong to one message. */
const MARK = '@@@@@@@'

/** The requests of a process that generates load. */
export type LoadHandlers = typeof handlers

/** One period of load. */
export interface Load {
  /** The addresses; connections are spread evenly over them. */
  urls: string[]
  key: string
  /** Sends as Twilio's packages do, with this account SID. Default: sends of the API. */
  account_sid?: string
  connections: number
  ms: number
  /** The maximum of messages that are accepted and not yet seen at the receiver; above it, senders wait. */
  backlog_max?: number
}

/** The number of messages, in requests of one kind. */
export interface Batch {
  url: string
  /** With `@@@@@@@` in place of a message's own seven digits. */
  request: RequestParts
  status: number
  messages_each: number
  connections: number
  messages: number
}

/** Requests at a steady rate. */
interface Pace {
  url: string
  key: string
  per_s: number
  ms: number
}

/** Connections that open at the same moment. */
interface Burst {
  url: string
  key: string
  connections: number
  ms: number
}

/** A message, and the epoch milliseconds of its 201. */
interface Accepted {
  id: string
  at_ms: number
}

/** One connection, and its requests in turn. */
interface Sender {
  connection: Connection
  requests: Buffer[]
}

let seen = 0
let ring: (() => void)[] = []
let next_number = 1

const handlers = {
  /** Sends at the rate of the answers, one request at a time on each connection. */
  async run(load: Load) {
    const { urls, connections, ms, backlog_max = Number.POSITIVE_INFINITY } = load
    const targets = urls.map((url) => ({
      url,
      requests: Array.from({ length: REQUESTS }, (_, i) => requestOf(load, url, i)),
    }))
    const open = await Promise.all(
      Array.from({ length: connections }, async (_, i) => {
        const { url, requests } = targets[i % targets.length] as (typeof targets)[number]
        return { connection: await openConnection(url), requests }
      }),
    )
    const latencies_ms: number[] = []
    let started = 0
    seen = 0
    const from = performance.now()
    const until = from + ms

    async function send({ connection, requests }: Sender): Promise<void> {
      while (performance.now() < until) {
        if (started - seen >= backlog_max) {
          await new Promise<void>((resolve) => ring.push(resolve))
          continue
        }
        const began = performance.now()
        await accept(connection, requests[started++ % REQUESTS] as Buffer)
        latencies_ms.push(performance.now() - began)
      }
    }

    await Promise.all(open.map(send))
    const seconds = (performance.now() - from) / 1000
    for (const { connection } of open) connection.close()
    return {
      sent: latencies_ms.length,
      seconds,
      p50_ms: quantile(latencies_ms, 0.5),
      p99_ms: quantile(latencies_ms, 0.99),
    }
  },
  /** Reports the number of messages of this run that have arrived. */
  seen(count: number) {
    seen = count
    const waiting = ring
    ring = []
    for (const go of waiting) go()
  },
  /**
   * Sends at this rate for this time, without waiting for answers. A duration starts when its request was due, so
   * that a delay by earlier requests counts, and ends with a 201: a request that was refused for overload is repeated.
   */
  async pace({ url, key, per_s, ms }: Pace) {
    const open = await openAll(url, PACED_CONNECTIONS)
    const lines = open.map(() => Promise.resolve())
    const latencies_ms: number[] = []
    const accepted: Accepted[] = []
    const total = Math.floor((per_s * ms) / 1_000)
    const from = performance.now()
    for (let i = 0; i < total; i++) {
      const due = from + (i * 1_000) / per_s
      const wait = due - performance.now()
      if (wait > 0) await pause(wait)
      const turn = i % open.length
      lines[turn] = (lines[turn] as Promise<void>).then(async () => {
        const request = sendBytes(url, key, codeTo(`+2557${String(10_000_000 + i)}`, i))
        const body = await acceptInTheEnd(open[turn] as Connection, request)
        const at = performance.now()
        latencies_ms.push(at - due)
        const { data } = JSON.parse(body) as { data: { message_id: string } }
        accepted.push({ id: data.message_id, at_ms: performance.timeOrigin + at })
      })
    }
    await Promise.all(lines)
    for (const connection of open) connection.close()
    return {
      sent: latencies_ms.length,
      p50_ms: quantile(latencies_ms, 0.5),
      p99_ms: quantile(latencies_ms, 0.99),
      max_ms: Math.max(...latencies_ms),
      accepted,
    }
  },
  /** Opens the connections at the same moment; each sends one request after the other for this time. */
  async burst({ url, key, connections, ms }: Burst) {
    const from = performance.now()
    const until = from + ms
    const statuses = new Map<number, number>()
    const connected_ms: number[] = []
    const accepted_ms: number[] = []
    const send = async (i: number): Promise<void> => {
      const began = performance.now()
      const connection = await openConnection(url).catch(() => null)
      if (!connection) return
      connected_ms.push(performance.now() - began)
      await repeat(connection, i).catch(() => {})
      connection.close()
    }
    const repeat = async (connection: Connection, i: number): Promise<void> => {
      const content = { text: 'A burst' }
      const request = sendBytes(url, key, { to: `+2557${20_000_000 + i}`, channel: 'sms', content })
      while (performance.now() < until) {
        const began = performance.now()
        const { status } = await connection.request(request)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 201) accepted_ms.push(performance.now() - began)
        // A refused client waits, but at most a second.
        else await pause(1_000)
      }
    }
    await Promise.all(Array.from({ length: connections }, (_, i) => send(i)))
    return {
      accepted: statuses.get(201) ?? 0,
      accepted_per_s: ((statuses.get(201) ?? 0) * 1_000) / (performance.now() - from),
      refused: statuses.get(429) ?? 0,
      connect_p99_ms: quantile(connected_ms, 0.99),
      accept_p99_ms: accepted_ms.length > 0 ? quantile(accepted_ms, 0.99) : 0,
    }
  },
  /** Requests health on new connections, one after the other, for this time. */
  async probe({ url, ms }: { url: string; ms: number }) {
    const until = performance.now() + ms
    const probes_ms: number[] = []
    while (performance.now() < until) {
      const began = performance.now()
      const connection = await openConnection(url)
      const { status } = await connection.request(getBytes(url, '/health/live'))
      if (status !== 200) throw new Error(`health answered ${status}`)
      probes_ms.push(performance.now() - began)
      connection.close()
      await pause(50)
    }
    return {
      p50_ms: quantile(probes_ms, 0.5),
      max_ms: Math.max(...probes_ms),
      probes: probes_ms.length,
    }
  },
  /** Sends messages that all differ, at the rate of the answers, one request at a time on each connection. */
  async batch({ url, request, status, messages_each, connections, messages }: Batch) {
    const open = await openAll(url, connections)
    let left = Math.ceil(messages / messages_each)
    const sent = left * messages_each
    const from_ms = now()
    async function send(connection: Connection): Promise<void> {
      const template = templateOf(url, request, messages_each)
      while (left > 0) {
        left -= 1
        await accept(connection, template(), status)
      }
    }
    await Promise.all(open.map(send))
    for (const connection of open) connection.close()
    return { sent, from_ms, taken_ms: now() }
  },
}

function openAll(url: string, connections: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: connections }, () => openConnection(url)))
}

/** Resolves with the body of the answer. @throws Error for another status. */
async function accept(connection: Connection, request: Buffer, expected = 201): Promise<string> {
  const { status, body } = await connection.request(request)
  if (status !== expected) throw new Error(`answered ${status}: ${body.slice(0, 500)}`)
  return body
}

/** Resolves with the body of a 201, after as many refusals for overload as it takes. */
async function acceptInTheEnd(connection: Connection, request: Buffer): Promise<string> {
  for (;;) {
    const { status, body } = await connection.request(request)
    if (status === 201) return body
    if (status !== 429) throw new Error(`answered ${status}: ${body.slice(0, 500)}`)
    await pause(REFUSED_MS)
  }
}

function codeTo(to: string, i: number) {
  const text = `Your code is ${100_000 + i}. It expires in ten minutes.`
  return { to, channel: 'sms', content: { text } }
}

function requestOf({ key, account_sid }: Load, url: string, i: number): Buffer {
  const body = codeTo(`+2557000${String(10_000 + i)}`, i)
  if (account_sid === undefined) return sendBytes(url, key, body)
  const { to, content } = body
  return requestBytes(url, {
    method: 'POST',
    path: `/compat/twilio/2010-04-01/Accounts/${account_sid}/Messages.json`,
    headers: { Authorization: `Basic ${Buffer.from(`${account_sid}:${key}`).toString('base64')}` },
    body: new URLSearchParams({ To: to, MessagingServiceSid: SERVICE_SID, Body: content.text }),
  })
}

/** The bytes of a request with new digits. The buffer is reused, because there is one request at a time. */
function templateOf(url: string, request: RequestParts, messages_each: number): () => Buffer {
  const bytes = requestBytes(url, request)
  const marks: number[] = []
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) marks.push(at)
  const each = marks.length / messages_each
  return () => {
    marks.forEach((at, i) => {
      const digits = String(next_number + Math.floor(i / each)).padStart(MARK.length, '0')
      bytes.write(digits, at, 'latin1')
    })
    next_number += messages_each
    return bytes
  }
}

/** The machine's clock, comparable with the times of other processes. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

answer(handlers)
