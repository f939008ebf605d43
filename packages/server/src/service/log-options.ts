import type { FastifyRequest } from 'fastify'
import type { LoggerOptions } from 'pino'

/** Fields that never appear in a log, at any depth: credentials, contents and recipients of messages. */
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
      // The route names a request, because its URL may hold a token or a phone number.
      req: (request: FastifyRequest) => ({
        method: request.method,
        route: request.routeOptions?.url ?? null,
      }),
      err: errorFields,
    },
  }
}

function errorFields(error: Error & { code?: unknown }): object {
  // A thrown value that is not an error may contain anything.
  if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error }
  const { name, code, stack, cause } = error
  const message = messageOf(error)
  const isWhole = message === error.message
  return {
    type: name,
    code,
    message,
    // A stack begins with the message.
    ...(isWhole && { stack }),
    ...(!isWhole && { stack: stack?.split(error.message, 2)[1]?.trimStart() }),
    ...(cause instanceof Error && { cause: messageOf(cause) }),
  }
}

/** The message of an error. Drizzle's message of a failed query also has the parameters, which include secrets. */
function messageOf(error: Error & { query?: unknown }): string {
  return typeof error.query === 'string' ? `Failed query: ${error.query}` : error.message
}
