import type { IncomingMessage } from 'node:http'
import { type Endpoint, INTERNAL_ERROR_TEXT, invalid, SvcError } from '@svc/core/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Answers an error with the envelope. An error that is not the caller's fault is logged, and answered with a fixed text. */
export function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  answerFailureAs(failureText, error, request, reply)
}

/** Answers an error like `answerFailure`, with the JSON that `textOf` writes. It may set another status. */
export function answerFailureAs(
  textOf: (failure: SvcError, request: FastifyRequest, reply: FastifyReply) => string,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const failure = noteFailure(error, request, reply)
  reply.header('content-type', 'application/json; charset=utf-8')
  const text = textOf(failure, request, reply)
  const answer = () => reply.send(text)
  if (!isTooLarge(error)) return void answer()
  // The framework would close the connection while the client still sends, and most clients would miss the answer. If a
  // client asks for `Connection: close`, as proxies do, the server reads its body to the end before the answer.
  reply.removeHeader('connection')
  if (request.headers.connection?.toLowerCase() === 'close') drainBody(request.raw, answer)
  else answer()
}

function isTooLarge(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
}

/** Sets the status and headers of an error. Logs an error that is not the client's fault. The caller writes the body. */
export function noteFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): SvcError {
  const failure = failureOf(error, request.routeOptions?.config?.endpoint)
  if (failure.status === 500 && !isGone(error, reply))
    request.log.error({ err: error, request_id: request.id }, 'request failed')
  if (failure.retry_after_s !== undefined) reply.header('Retry-After', failure.retry_after_s)
  reply.code(failure.status)
  return failure
}

/** Whether the client left before the first piece of a streamed answer, which is then closed. */
function isGone(error: unknown, { raw }: FastifyReply): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ERR_STREAM_PREMATURE_CLOSE' && raw.destroyed
}

/** The failure envelope, as text. */
export function failureText({ code, message, details }: SvcError): string {
  return JSON.stringify({ success: false, error: code, message, ...(details && { details }) })
}

/** Converts any thrown value to an error of the contract, because the service answers no other status. */
export function failureOf(error: unknown, endpoint?: Endpoint): SvcError {
  if (error instanceof SvcError) return error
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return invalid('', `Request body is too large${hint(endpoint)}`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return invalid('', `Content-Type must be ${typesOf(endpoint)}`)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid('', 'Content-Length does not match the request body')
    case 'FST_ERR_BAD_URL':
      return unknownRoute()
  }
  if (isFramework(code) && typeof statusCode === 'number' && statusCode < 500) {
    return statusCode === 404 ? unknownRoute() : invalid('', 'The request could not be read')
  }
  return new SvcError('internal_error', INTERNAL_ERROR_TEXT, { cause: error })
}

/** The setting that allows larger bodies. */
function hint(endpoint: Endpoint | undefined): string {
  return endpoint?.takes_files
    ? `: at most ${endpoint.body_limit} bytes (SVC_ATTACHMENTS_MAX_MB)`
    : ''
}

function typesOf(endpoint: Endpoint | undefined): string {
  return endpoint?.takes_csv ? 'application/json or text/csv' : 'application/json'
}

/** Whether the error comes from Fastify or from a lost client. The status of other errors is not for clients. */
function isFramework(code: unknown): boolean {
  return typeof code === 'string' && (code.startsWith('FST_ERR_') || code === 'ECONNRESET')
}

/** The error for a request that the service refuses because it is overloaded or about to stop. */
export function tooBusy(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 5,
  })
}

/** The error for a path or method that does not exist. */
export function unknownRoute(): SvcError {
  return new SvcError('not_found', 'Route not found')
}

/** Draining ends after this many bytes, or after this time. */
const BYTES_MAX = 16 * 1024 * 1024
const WAIT_MAX_MS = 5_000

/** If a client pauses for this time, it probably waits for the answer. */
const PAUSE_MS = 300

/** Reads and discards the rest of a body, within bounds; then calls `done` once. */
export function drainBody(request: IncomingMessage, done: () => void): void {
  const until = Date.now() + WAIT_MAX_MS
  let bytes = 0
  let pause: NodeJS.Timeout | undefined
  const finish = () => {
    clearTimeout(pause)
    request.off('data', discard).off('end', finish).off('close', finish)
    done()
  }
  const wait = () => {
    clearTimeout(pause)
    pause = setTimeout(finish, PAUSE_MS)
  }
  const discard = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BYTES_MAX || Date.now() > until) finish()
    else wait()
  }
  wait()
  request.on('data', discard).once('end', finish).once('close', finish).resume()
}
