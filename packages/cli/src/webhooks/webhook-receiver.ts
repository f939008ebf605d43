import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type VerificationResult, verify } from '@svc/core/webhooks'

/** Far above what the service sends. */
const BODY_MAX_BYTES = 1024 * 1024

/** How long a delivery under way may take to end when the receiver closes. */
const GRACE_MS = 5_000

/** A connection that is kept would still be served after the receiver has closed. */
const NO_MORE = { connection: 'close' }

/** A delivery that came in, and whether it is authentic. */
export interface Received {
  verification: VerificationResult
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Listens for deliveries until it is closed. */
export interface Receiver {
  url: string
  /** The secret that deliveries are verified with; before it is known they are put off. */
  trust(secret: string): void
  close(): Promise<void>
}

/**
 * Starts a receiver on loopback. What does not verify is answered with 403, what does with the status that
 * `onReceived` gives.
 */
export async function startReceiver(
  port: number,
  onReceived: (received: Received) => Promise<number>,
): Promise<Receiver> {
  let secret: string | null = null

  async function answer(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST') return 405
    const body = await bodyOf(request)
    if (body === null) return 413
    if (secret === null) return 503
    const { headers } = request
    const verification = verify({ secret, body, headers })
    const status = await onReceived({ verification, headers, body })
    return verification.ok ? status : 403
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (status) => response.writeHead(status, NO_MORE).end(),
      // The sender is gone, or what is behind us failed: it is for the sender to try again.
      () => response.writeHead(502, NO_MORE).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    trust(known) {
      secret = known
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      setTimeout(() => server.closeAllConnections(), GRACE_MS).unref()
      return closed
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > BODY_MAX_BYTES) return null
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}
