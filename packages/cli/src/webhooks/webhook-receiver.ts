import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type VerificationResult, verify } from '@svc/core/webhooks'

/** The maximum size of a body. It is far above the size of a delivery. */
const BODY_MAX_BYTES = 1024 * 1024

/** The time that a delivery in flight has when the receiver closes. */
const GRACE_MS = 5_000

/** The header closes each connection, because a closed receiver would still serve connections that stay open. */
const CLOSE_CONNECTION = { connection: 'close' }

/** A received delivery with the result of its verification. */
export interface Received {
  verification: VerificationResult
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A server that receives deliveries. */
export interface Receiver {
  url: string
  /** Sets the secret that verifies deliveries. Without a secret, the receiver answers 503. */
  trust(secret: string): void
  close(): Promise<void>
}

/**
 * Starts a receiver on loopback. It answers 403 to a delivery that cannot be verified. To other deliveries it answers
 * with the status that `onReceived` returns.
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
      (status) => response.writeHead(status, CLOSE_CONNECTION).end(),
      // The sender closed the connection, or `onReceived` failed. The sender must retry.
      () => response.writeHead(502, CLOSE_CONNECTION).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    trust(value) {
      secret = value
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
