/** Every error code that the API can answer, with its HTTP status. Source: interface, Errors. */
export const ERRORS = {
  validation_error: 400,
  unauthorized: 401,
  token_expired: 401,
  insufficient_credits: 402,
  forbidden: 403,
  not_found: 404,
  rate_limit_exceeded: 429,
  internal_error: 500,
} as const

/** A code of the failure envelope's `error` field. */
export type ErrorCode = keyof typeof ERRORS

/** An HTTP status that a failure can have. */
export type ErrorStatus = (typeof ERRORS)[ErrorCode]

/** One fault of a request: where (dots between the names; empty for the whole) and what. */
export interface ErrorDetail {
  path: string
  message: string
}

/** What a caller is told about a fault of ours; the cause goes to the log only. */
export const INTERNAL_ERROR_TEXT = 'Internal server error. Please try again later.'

/** Whether `code` is one that this version knows. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code)
}

interface More {
  details?: ErrorDetail[] | undefined
  retry_after_s?: number | undefined
  cause?: unknown
}

/**
 * A refusal that the caller is to see: its message is public, its `cause` is for the log. One of a request's
 * faults does not compile without them. Source: contract section 1.
 */
export class SvcError extends Error {
  override readonly name = 'SvcError'
  readonly code: ErrorCode
  readonly status: ErrorStatus
  /** All faults of the request, the first of them being the message. */
  readonly details?: ErrorDetail[]
  /** Whole seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retry_after_s?: number

  constructor(code: ErrorCode, message: string, more: More & { details: ErrorDetail[] })
  constructor(code: Exclude<ErrorCode, 'validation_error'>, message: string, more?: More)
  constructor(code: ErrorCode, message: string, more: More = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.status = ERRORS[code]
    if (more.details) this.details = more.details
    if (more.retry_after_s !== undefined) this.retry_after_s = more.retry_after_s
  }
}

/** The refusal of a request with one fault, at `path`: a field, a header, or nothing for the request as a whole. */
export function invalid(path: string, message: string): SvcError {
  return new SvcError('validation_error', message, { details: [{ path, message }] })
}
