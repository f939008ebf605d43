import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verify } from '@svc/core/webhooks'
import type { Account } from '../stage/accounts.ts'

/** One event, as its receiver got it. */
export interface ReceivedEvent {
  event: string
  /** The id of its message. */
  message_id: string
  path: string
  /** The body of the first delivery; every repetition has the same bytes. */
  body: string
  times: number
}

/** Receives the webhooks of all accounts, each on its own path, and refuses deliveries without a valid signature. */
export interface Receiver {
  url: string
  /** By event id. */
  events: ReadonlyMap<string, ReceivedEvent>
  /** Wrong deliveries: a wrong signature, or a changed body. */
  faults: readonly string[]
  /** The number of deliveries. */
  deliveries(): number
  /** The number of messages whose final status was reported. */
  finished(): number
  trust(accounts: readonly Account[]): void
  close(): Promise<void>
}

const FINAL = new Set(['message.delivered', 'message.failed'])

/**
 * @param flaky whether some first tries are answered with 500, so that kills can hit retries.
 * @param anytime whether the service's clock may differ from this one.
 */
export async function openReceiver({
  flaky,
  anytime = false,
}: {
  flaky: boolean
  anytime?: boolean
}): Promise<Receiver> {
  const events = new Map<string, ReceivedEvent>()
  const finished = new Set<string>()
  const refused = new Set<string>()
  const faults: string[] = []
  let deliveries = 0
  let secrets = new Map<string, string>()

  function receive(path: string, headers: IncomingHttpHeaders, body: string): number {
    const secret = secrets.get(path) ?? ''
    const result = verify({ secret, body, headers, ...(anytime && { tolerance_s: false }) })
    if (!result.ok || result.event_id === null) {
      faults.push(`a delivery to ${path}: ${result.ok ? 'no event id' : result.reason}`)
      return 403
    }
    const id = result.event_id
    if (flaky && id.endsWith('00') && !refused.has(id)) {
      refused.add(id)
      return 500
    }
    const known = events.get(id)
    if (known) {
      known.times += 1
      if (known.body !== body) faults.push(`event ${id} arrived with another body`)
      return 200
    }
    const { event, data } = JSON.parse(body) as { event: string; data: { message_id: string } }
    events.set(id, { event, message_id: data.message_id, path, body, times: 1 })
    if (FINAL.has(event)) finished.add(data.message_id)
    return 200
  }

  const endpoint = await openEndpoint((path, headers, body) => {
    deliveries += 1
    return receive(path, headers, body)
  })
  return {
    ...endpoint,
    events,
    faults,
    deliveries: () => deliveries,
    finished: () => finished.size,
    trust(accounts) {
      secrets = new Map(accounts.map(({ webhook }) => [webhook.path, webhook.secret]))
    },
  }
}

/** A server on loopback that reads each request to its end and answers with the status of `receive`. */
export async function openEndpoint(
  receive: (path: string, headers: IncomingHttpHeaders, body: string) => number,
): Promise<Pick<Receiver, 'url' | 'close'>> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    // Half a request comes from a service that was killed during its write: it was not delivered.
    request.on('error', () => {})
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      response.writeHead(receive(request.url ?? '', request.headers, body)).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
