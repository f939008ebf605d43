import type { ErrorStatuses } from './generated/types.ts'

/** The codes of the API, and the codes of failures that the client notices itself. */
export type ErrorCode =
  | keyof ErrorStatuses
  | 'connection_failed'
  | 'timeout'
  | 'unexpected_answer'
  | 'webhook_not_verified'

/** One fault of a request. `path` joins names with dots; it is empty for the request as a whole. */
export interface ErrorDetail {
  path: string
  message: string
}

/** What an error says about its request. */
export interface ErrorFacts {
  /** The HTTP status; null if there was no answer. */
  status?: number | null
  requestId?: string | null
}

/** Any failure of the client. The text never contains a key, a recipient or the content of a message. */
export class SvcError extends Error {
  override name = 'SvcError'
  readonly code: ErrorCode
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null
  /** The id of the request in the log of the service; null if there was no answer. */
  readonly requestId: string | null

  constructor(
    code: ErrorCode,
    message: string,
    { status = null, requestId = null }: ErrorFacts = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.requestId = requestId
  }
}

/** 400: the request is faulty; `details` names each fault. */
export class ValidationError extends SvcError {
  override name = 'ValidationError'
  readonly details: readonly ErrorDetail[]

  constructor(message: string, details: readonly ErrorDetail[], facts?: ErrorFacts) {
    super('validation_error', message, facts)
    this.details = details
  }
}

/** 400: the idempotency key was used with another request. */
export class ConflictError extends ValidationError {
  override name = 'ConflictError'
}

/** 401: there is no valid API key or token; `code` is `unauthorized` or `token_expired`. */
export class AuthenticationError extends SvcError {
  override name = 'AuthenticationError'
}

/** 402: the credits do not suffice. */
export class InsufficientCreditsError extends SvcError {
  override name = 'InsufficientCreditsError'
  /** The price of the request, in credits; null for a purchase that was refused. */
  readonly required: number | null
  /** The credits that may be spent; null for a purchase that was refused. */
  readonly available: number | null

  constructor(message: string, facts?: ErrorFacts) {
    super('insufficient_credits', message, facts)
    this.required = amountIn(message, /need ([\d.]*\d)/)
    this.available = amountIn(message, /have (-?[\d.]*\d)/)
  }
}

/** 403: the key lacks a scope, or the workspace is frozen. */
export class ForbiddenError extends SvcError {
  override name = 'ForbiddenError'
}

/** 404: the workspace has no such object. */
export class NotFoundError extends SvcError {
  override name = 'NotFoundError'
}

/** 429: too many requests, or the service is overloaded. */
export class RateLimitError extends SvcError {
  override name = 'RateLimitError'
  /** Seconds until the next request may succeed; null if the service named none. */
  readonly retryAfter: number | null

  constructor(message: string, retryAfter: number | null, facts?: ErrorFacts) {
    super('rate_limit_exceeded', message, facts)
    this.retryAfter = retryAfter
  }
}

/** 500: the service failed; its log has the cause under `requestId`. */
export class ServerError extends SvcError {
  override name = 'ServerError'
}

/** There was no answer: the service cannot be reached, or the connection broke. */
export class ConnectionError extends SvcError {
  override name = 'ConnectionError'
  /** The code of the fault, such as `ECONNREFUSED`, else its text; of a passed `fetch`, its code, else its name. */
  readonly reason: string

  constructor(message: string, reason: string, facts?: ErrorFacts) {
    super('connection_failed', message, facts)
    this.reason = reason
  }
}

/** There was no answer in time, or a message had not reached its status in time. */
export class TimeoutError extends SvcError {
  override name = 'TimeoutError'

  constructor(message: string) {
    super('timeout', message)
  }
}

/** The answer is not one of this API: another server or a proxy answered. */
export class UnexpectedAnswerError extends SvcError {
  override name = 'UnexpectedAnswerError'
}

/** The amount that a pattern finds. The API states both amounts only in its text. */
function amountIn(message: string, pattern: RegExp): number | null {
  const found = pattern.exec(message)?.[1]
  return found === undefined ? null : Number(found)
}

/** The error for the JSON of a refusal; null for any other JSON. */
export function refusalOf(
  answer: unknown,
  retryAfter: number | null,
  facts: ErrorFacts,
): SvcError | null {
  const { success, error, message, details } = (answer ?? {}) as Record<string, unknown>
  if (success !== false || typeof error !== 'string' || typeof message !== 'string') return null
  switch (error) {
    case 'validation_error': {
      const faults = isDetails(details) ? details : [{ path: '', message }]
      const isConflict = faults[0]?.path === 'Idempotency-Key' && /another request/.test(message)
      return new (isConflict ? ConflictError : ValidationError)(message, faults, facts)
    }
    case 'unauthorized':
    case 'token_expired':
      return new AuthenticationError(error, message, facts)
    case 'insufficient_credits':
      return new InsufficientCreditsError(message, facts)
    case 'forbidden':
      return new ForbiddenError(error, message, facts)
    case 'not_found':
      return new NotFoundError(error, message, facts)
    case 'rate_limit_exceeded':
      return new RateLimitError(message, retryAfter, facts)
    case 'internal_error':
      return new ServerError(error, message, facts)
    default:
      // A code of a later version.
      return new SvcError(error as ErrorCode, message, facts)
  }
}

function isDetails(value: unknown): value is ErrorDetail[] {
  const isDetail = (one: Partial<ErrorDetail> | null) =>
    typeof one?.path === 'string' && typeof one.message === 'string'
  return Array.isArray(value) && value.length > 0 && value.every(isDetail)
}
