import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type VerificationResult, verify } from '@svc/core/webhooks'

/** A delivery that the receiver got. */
export interface ReceivedDelivery {
  verification: VerificationResult
  event: string | null
  data: Record<string, unknown> | null
  headers: IncomingHttpHeaders
  body: string
}

export interface TestReceiver {
  /** Where to point the webhook. */
  url: string
  /** Everything received so far, oldest first. */
  readonly received: readonly ReceivedDelivery[]
  /** The first delivery, past or future, that `matches`. Rejects after `timeout_ms`, 5 s unless told. */
  waitFor(
    matches: (delivery: ReceivedDelivery) => boolean,
    options?: { timeout_ms?: number },
  ): Promise<ReceivedDelivery>
  close(): Promise<void>
}

/**
 * A real receiver on loopback: verifies what comes with `secret`, keeps it, answers 200, or 403 to what does not
 * verify. `statuses` are given first, in their order, to try what the service does then.
 */
export async function createReceiver({
  secret,
  statuses = [],
}: {
  /** Asked for at each delivery, since the secret is known only once the webhook exists. */
  secret: string | (() => string)
  statuses?: readonly number[]
}): Promise<TestReceiver> {
  const received: ReceivedDelivery[] = []
  const watchers = new Set<() => void>()
  const script = [...statuses]

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const { headers } = request
    const trusted = typeof secret === 'string' ? secret : secret()
    const verification = verify({ secret: trusted, body, headers })
    received.push({ verification, headers, body, ...contentOf(body) })
    for (const look of watchers) look()
    response.writeHead(script.shift() ?? (verification.ok ? 200 : 403)).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    waitFor: (matches, { timeout_ms = 5_000 } = {}) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          watchers.delete(look)
          reject(new Error(`no such delivery within ${timeout_ms} ms; got ${received.length}`))
        }, timeout_ms)
        function look(): void {
          const found = received.find(matches)
          if (!found) return
          clearTimeout(timer)
          watchers.delete(look)
          resolve(found)
        }
        watchers.add(look)
        look()
      }),
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      return closed
    },
  }
}

function contentOf(body: string): Pick<ReceivedDelivery, 'event' | 'data'> {
  try {
    const { event, data } = JSON.parse(body)
    return { event, data }
  } catch {
    return { event: null, data: null }
  }
}
