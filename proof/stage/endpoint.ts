import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verify } from '@svc/core/webhooks'
import type { Account } from './accounts.ts'

/** A server on loopback. */
export interface Endpoint {
  url: string
  /** Ends all connections. */
  close(): Promise<void>
}

/** Lets a server listen on a port that the system chooses. */
export async function listen(server: Server): Promise<Endpoint> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** The path, the headers and the body of a request. */
type Received = [path: string, headers: IncomingHttpHeaders, body: string]

/** Reads each request to its end, and answers with a status, or with 200 and JSON. */
export function openEndpoint(
  answer: (...request: Received) => number | object | Promise<object>,
): Promise<Endpoint> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    // Half a request comes from a service that was killed during its write: it was not delivered.
    request.on('error', () => {})
    request.on('end', async () => {
      const body = Buffer.concat(chunks).toString()
      const result = await answer(request.url ?? '', request.headers, body)
      if (typeof result === 'number') response.writeHead(result).end()
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(result))
    })
  })
  return listen(server)
}

/** A delivery with a valid signature. */
export interface Delivery {
  id: string
  event: string
  path: string
  body: string
}

/** Receives the webhooks of accounts, each on its own path. */
export interface SignedEndpoint extends Endpoint {
  trust(accounts: readonly Account[]): void
}

/**
 * Answers deliveries with the status of `receive`, and those without a valid signature with 403.
 * @param anytime whether the service's clock may differ from this one.
 */
export async function openSignedEndpoint({
  receive,
  onForged,
  anytime = false,
}: {
  receive(delivery: Delivery): number
  onForged(text: string): void
  anytime?: boolean
}): Promise<SignedEndpoint> {
  let secrets = new Map<string, string>()
  const endpoint = await openEndpoint((path, headers, body) => {
    const secret = secrets.get(path) ?? ''
    const result = verify({ secret, body, headers, ...(anytime && { tolerance_s: false }) })
    if (result.ok && result.event_id !== null) {
      return receive({ id: result.event_id, event: result.event ?? '', path, body })
    }
    onForged(`a delivery to ${path}: ${result.ok ? 'no event id' : result.reason}`)
    return 403
  })
  return {
    ...endpoint,
    trust(accounts) {
      secrets = new Map(accounts.map(({ webhook }) => [webhook.path, webhook.secret]))
    },
  }
}
