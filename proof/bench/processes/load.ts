import { answer } from '../../stage/answer.mjs'
import { type Connection, openConnection, requestBytes } from '../../stage/connection.ts'
import { quantile } from '../figure.ts'

/** The number of different requests, sent in turn, so that no cache of requests is measured. */
const REQUESTS = 512

/** Stands for the default sender, which sends of the API have here. */
const SERVICE_SID = `MG${'0'.repeat(32)}`

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

/** One connection, and its requests in turn. */
interface Sender {
  connection: Connection
  requests: Buffer[]
}

let seen = 0
let ring: (() => void)[] = []

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

function requestOf({ key, account_sid }: Load, url: string, i: number): Buffer {
  const to = `+2557000${String(10_000 + i)}`
  const text = `Your code is ${100_000 + i}. It expires in ten minutes.`
  if (account_sid === undefined) {
    return requestBytes(url, {
      method: 'POST',
      path: '/api/v1/messages/send',
      headers: { 'X-API-Key': key },
      body: { to, channel: 'sms', content: { text } },
    })
  }
  return requestBytes(url, {
    method: 'POST',
    path: `/compat/twilio/2010-04-01/Accounts/${account_sid}/Messages.json`,
    headers: { Authorization: `Basic ${Buffer.from(`${account_sid}:${key}`).toString('base64')}` },
    body: new URLSearchParams({ To: to, MessagingServiceSid: SERVICE_SID, Body: text }),
  })
}

answer(handlers)
