import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Address } from '../settings/readers.ts'
import { ConfigError } from '../settings/variables.ts'

/** Limits for scrapers, which send few requests, on few connections, with few bytes. */
const CONNECTIONS_MAX = 32
const HEADERS_MAX_BYTES = 8 * 1024
const REQUEST_MAX_MS = 5_000
const GRACE_MS = 3_000

const INDEX = 'svc: the metrics are at /metrics\n'

/**
 * Serves `GET /metrics` on a separate address, without credentials, for the operator's network.
 * @throws ConfigError if it cannot listen on the address.
 */
export async function serveMetrics(
  { host, port }: Address,
  {
    type,
    scrape,
    idle_max_ms = REQUEST_MAX_MS,
  }: {
    type: string
    scrape: () => Promise<string>
    /** How long a connection may stay without a byte in either direction. */
    idle_max_ms?: number
  },
): Promise<{ port: number; close(): Promise<void> }> {
  let scraping: Promise<string> | null = null

  /** Concurrent requests share one scrape. */
  function shared(): Promise<string> {
    scraping ??= scrape().finally(() => {
      scraping = null
    })
    return scraping
  }

  async function answer({ method, url = '' }: IncomingMessage, response: ServerResponse) {
    const path = url.split('?', 1)[0]
    const isRead = method === 'GET' || method === 'HEAD'
    if (isRead && path === '/metrics') return end(response, 200, await shared(), type)
    if (isRead && path === '/') return end(response, 200, INDEX)
    end(response, 404, 'not found\n')
  }

  const server = createServer(
    {
      maxHeaderSize: HEADERS_MAX_BYTES,
      headersTimeout: REQUEST_MAX_MS,
      requestTimeout: REQUEST_MAX_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      // Bodies are not read, so the connection of a client that sends a body must end.
      if (request.method !== 'GET') response.setHeader('connection', 'close')
      answer(request, response).catch(() => end(response, 500, 'the metrics could not be read\n'))
    },
  )
  server.maxConnections = CONNECTIONS_MAX
  // Without this timeout, a client that does not read its answer would occupy a connection.
  server.timeout = idle_max_ms
  await listening(server, { host, port })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS)
      await closed
      clearTimeout(cut)
    },
  }
}

function listening(server: ReturnType<typeof createServer>, { host, port }: Address) {
  return new Promise<void>((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const why = code === 'EADDRINUSE' ? 'the address is taken' : message
      reject(new ConfigError(`SVC_METRICS_LISTEN: cannot listen on ${host}:${port}: ${why}`))
    })
    server.listen(port, host, resolve)
  })
}

function end(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}
