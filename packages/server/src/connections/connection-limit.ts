import { readFileSync } from 'node:fs'
import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

import { invalid, type SvcError } from '@svc/core/contract'
import type { Logger } from 'pino'
import { clientOf, type RateLimiter, rateExceeded } from '../admission/rate-limiter.ts'
import { failureText } from '../failures.ts'

/** The number of connections above the limit that get a refusal. Further connections are closed without an answer. */
const REFUSED_MAX = 1_000

/** The limit of the connections that a server serves at once. */
export interface ConnectionLimit {
  /** Whether a connection was opened when the limit was reached. Such a connection carries one request. */
  isBeyond(socket: Socket): boolean
}

export function limitConnections(server: Server, max: number): ConnectionLimit {
  const beyond = new WeakSet<Socket>()
  let open = 0
  server.maxConnections = max + REFUSED_MAX
  server.on('connection', (socket: Socket) => {
    open += 1
    if (open > max) beyond.add(socket)
    socket.once('close', () => {
      open -= 1
    })
  })
  return { isBeyond: (socket) => beyond.has(socket) }
}

/** The kernel's limit of connections that wait on one socket; null if it is unknown. */
export function readSomaxconn(file = '/proc/sys/net/core/somaxconn'): number | null {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null
  } catch {
    return null
  }
}

/** The time from the refusal until the connection is closed. */
const LINGER_MS = 500

/**
 * Answers input that is not HTTP or that came too slowly, and closes the connection. The input counts as a request
 * without credentials. The answer has a request id and the envelope. A connection without any input is closed without an
 * answer.
 */
export function createRefusal({
  limiter,
  logger,
  newRequestId,
}: {
  limiter: Pick<RateLimiter, 'tally'>
  logger: Logger | undefined
  newRequestId: () => string
}): (socket: Socket) => Promise<void> {
  // The rest of the input on a refused connection is unreadable too, and gets no second answer.
  const refused = new WeakSet<Socket>()

  return async (socket) => {
    if (!socket.writable || refused.has(socket)) return
    refused.add(socket)
    // Browsers open connections in advance. An answer on one that is unused would pass as the answer to its first request.
    if (socket.bytesRead === 0) return void socket.destroy()
    const { remoteAddress: ip } = socket
    // A connection that was reset cannot be answered.
    if (ip === undefined) return void socket.destroy()
    const state = await limiter.tally('anonymous', clientOf({ ip }))
    const failure = state.exceeded
      ? rateExceeded(state)
      : invalid('', 'The request could not be read')
    const request_id = newRequestId()
    logger?.info({ request_id, status: failure.status }, 'request refused unread')
    if (socket.writable) {
      socket.end(
        answerText(failure, {
          'x-request-id': request_id,
          'x-ratelimit-limit': state.max,
          'x-ratelimit-remaining': state.remaining,
          'x-ratelimit-reset': state.reset_s,
        }),
      )
    }
    // Closes connections that the client leaves open, after a wait: an immediate close could lose the answer.
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

function answerText(failure: SvcError, named: Record<string, string | number>): string {
  const { status, retry_after_s } = failure
  const body = failureText(failure)
  const headers = {
    ...named,
    ...(retry_after_s !== undefined && { 'retry-after': retry_after_s }),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
}
