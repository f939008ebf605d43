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
      err: errorFields,
    },
  }
}

function errorFields(error: Error & { code?: unknown }): object {
  // What is thrown need not be an error; then nobody knows what is in it.
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

/** Of a failed query, what was asked: drizzle's message goes on with the parameters, and secrets are among them. */
function messageOf(error: Error & { query?: unknown }): string {
  return typeof error.query === 'string' ? `Failed query: ${error.query}` : error.message
}
