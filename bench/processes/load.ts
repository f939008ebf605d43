import { type Connection, openConnection, requestBytes } from '../connection.ts'
import { quantile } from '../figure.ts'
import { answer } from './answer.mjs'

/** The number of different requests, sent in turn, so that no cache of requests is measured. */
const REQUESTS = 512

/** The requests of a process that generates load. */
export type LoadHandlers = typeof handlers

/** One period of load. */
export interface Load {
  /** The addresses; connections are spread evenly over them. */
  urls: string[]
  key: string
  connections: number
  ms: number
  /** The maximum of messages that are accepted and not yet seen at the receiver; above it, senders wait. */
  backlog_max?: number
}

/** One connection, and its requests in turn. */
interface Sender {
  connection: Connection
  requests: Buffer[]
}

let seen = 0
let ring: (() => void)[] = []

const handlers = {
  /** Sends at the rate of the answers, one request at a time on each connection. */
  async run({ urls, key, connections, ms, backlog_max = Number.POSITIVE_INFINITY }: Load) {
    const targets = urls.map((url) => ({
      url,
      requests: Array.from({ length: REQUESTS }, (_, i) => sendRequest(url, key, i)),
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
        const { status, body } = await connection.request(requests[started++ % REQUESTS] as Buffer)
        if (status !== 201) throw new Error(`answered ${status}: ${body}`)
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
}

function sendRequest(url: string, key: string, i: number): Buffer {
  return requestBytes(url, {
    method: 'POST',
    path: '/api/v1/messages/send',
    headers: { 'X-API-Key': key },
    body: {
      to: `+2557000${String(10_000 + i)}`,
      channel: 'sms',
      content: { text: `Your code is ${100_000 + i}. It expires in ten minutes.` },
    },
  })
}

answer(handlers)
