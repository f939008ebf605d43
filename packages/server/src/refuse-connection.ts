import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { invalid, type SvcError } from '@svc/core/contract'
import type { Logger } from 'pino'
import { failureText } from './failures.ts'
import { clientOf, type RateLimiter, rateExceeded } from './rate-limit.ts'

/** From the answer to what could not be read until the connection is cut. */
const LINGER_MS = 500

/**
 * Answers what is not HTTP, or came too slowly, as any stranger's request is answered: counted, named and with the
 * envelope. The connection is closed.
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
  // Whatever else comes over a connection is as unreadable as what came first.
  const refused = new WeakSet<Socket>()

  return async (socket) => {
    if (!socket.writable || refused.has(socket)) return
    refused.add(socket)
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
    // Whoever does not hang up is hung up on: at once, an answer on its way could be lost.
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
