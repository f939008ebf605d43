import type { FastifyRequest } from 'fastify'
import type { LoggerOptions } from 'pino'

/** Never in a log, wherever it stands: credentials, and what messages say and to whom. */
const REDACTED = [
  'authorization',
  'x-api-key',
  'stripe-signature',
  'password',
  'token',
  'key',
  'secret',
  'body',
  'content',
  'to',
  'from',
  'recipient',
  'metadata',
]

/** pino's options: JSON lines, ids and outcomes only. */
export function logOptions(level: string): LoggerOptions {
  return {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: {
      paths: REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '[redacted]',
    },
    serializers: {
      // A request is named by its route: the address itself may hold a token or a phone number.
      req: (request: FastifyRequest) => ({
        method: request.method,
        route: request.routeOptions?.url ?? null,
      }),
      err: (error: Error & { code?: unknown }) => ({
        type: error.name,
        code: error.code,
        message: error.message,
        stack: error.stack,
        ...(error.cause instanceof Error && { cause: error.cause.message }),
      }),
    },
  }
}
