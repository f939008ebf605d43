import type { FastifyRequest } from 'fastify'
import type { LoggerOptions } from 'pino'
import { isOneOfSeveral } from '../one-of-several.ts'

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

/** pino's options: JSON lines with ids and outcomes only. */
export function logOptions(level: string): LoggerOptions {
  return {
    level,
    // The log of several processes is one.
    base: isOneOfSeveral ? { pid: process.pid } : null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: {
      paths: REDACTED.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '[redacted]',
    },
    serializers: {
      // The log names the route of a request, because the URL may hold a token or a phone number.
      req: (request: FastifyRequest) => ({
        method: request.method,
        route: request.routeOptions?.url ?? null,
      }),
      err: errorFields,
    },
  }
}

function errorFields(error: Error & { code?: unknown }): object {
  // A thrown value that is not an error may contain anything, so only its type is logged.
  if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error }
  const { name, code, stack, cause } = error
  const message = messageOf(error)
  const isWhole = message === error.message
  return {
    type: name,
    code,
    message,
    // A stack begins with the whole message. If the message was shortened, it is cut off the stack.
    ...(isWhole && { stack }),
    ...(!isWhole && { stack: stack?.split(error.message, 2)[1]?.trimStart() }),
    ...(cause instanceof Error && { cause: messageOf(cause) }),
  }
}

/** The message of an error. Drizzle's message of a failed query also has the parameters, which may be secrets. */
function messageOf(error: Error & { query?: unknown }): string {
  return typeof error.query === 'string' ? `Failed query: ${error.query}` : error.message
}
