import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verify } from '@svc/core/webhooks'
import { answer } from '../../stage/answer.mjs'

/** The requests of a process that receives webhooks. */
export type ReceiverHandlers = typeof handlers

/** The time of the first report of each message. */
const seen = new Map<string, number>()
let requests = 0
let forged = 0
let last_at_ms = 0
let secret = ''

const handlers = {
  async start(_: null) {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        requests += 1
        receive(Buffer.concat(chunks), request.headers)
        response.end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
  },
  trust(value: string) {
    secret = value
  },
  /** `messages` is the number of different messages that were reported as delivered, the last one at `last_at_ms`. */
  count: (_: null) => ({ requests, messages: seen.size, forged, last_at_ms }),
  /** The times of the first reports of these messages, in epoch milliseconds. */
  arrivals: (ids: string[]) => ids.map((id) => seen.get(id) ?? null),
}

function receive(body: Buffer, headers: NodeJS.Dict<string | string[]>): void {
  if (!verify({ secret, body, headers }).ok) {
    forged += 1
    return
  }
  const { event, data } = JSON.parse(body.toString()) as {
    event: string
    data: { message_id: string }
  }
  if (event !== 'message.delivered' || seen.has(data.message_id)) return
  last_at_ms = performance.timeOrigin + performance.now()
  seen.set(data.message_id, last_at_ms)
}

answer(handlers)
