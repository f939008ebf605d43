import { verify } from '@svc/core/webhooks'
import { answer } from '../../stage/answer.mjs'
import { openEndpoint } from '../../stage/endpoint.ts'

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
    const { url } = await openEndpoint((_path, headers, body) => {
      requests += 1
      receive(body, headers)
      return 200
    })
    return { url: `${url}/` }
  },
  trust(value: string) {
    secret = value
  },
  /** `messages` is the number of different messages that were reported as delivered, the last one at `last_at_ms`. */
  count: (_: null) => ({ requests, messages: seen.size, forged, last_at_ms }),
  /** The times of the first reports of these messages, in epoch milliseconds. */
  arrivals: (ids: string[]) => ids.map((id) => seen.get(id) ?? null),
}

function receive(body: string, headers: NodeJS.Dict<string | string[]>): void {
  if (!verify({ secret, body, headers }).ok) {
    forged += 1
    return
  }
  const { event, data } = JSON.parse(body) as {
    event: string
    data: { message_id: string }
  }
  if (event !== 'message.delivered' || seen.has(data.message_id)) return
  last_at_ms = performance.timeOrigin + performance.now()
  seen.set(data.message_id, last_at_ms)
}

answer(handlers)
