/** Every error code of the API with its HTTP status. Source: interface, Errors. */
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

/** A value of the field `error`. */
export type ErrorCode = keyof typeof ERRORS

/** The HTTP status of a failure. */
export type ErrorStatus = (typeof ERRORS)[ErrorCode]

/** One fault of a request. `path` joins names with dots; it is empty for the request as a whole. */
export interface ErrorDetail {
  path: string
  message: string
}

/** The message of an `internal_error`; its cause is only in the log. */
export const INTERNAL_ERROR_TEXT = 'Internal server error. Please try again later.'

/** Whether `code` is an error code of this version. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code)
}

/** What a refusal is about, for code that tells refusals with one error code apart. No answer has it. */
export type ErrorReason = (typeof ERROR_REASONS)[number]

/** The reasons of refusals. */
export const ERROR_REASONS = [
  'codes_of_address',
  'codes_of_network',
  'codes_paused',
  'codes_country',
  'codes_daily_credits',
] as const

interface SvcErrorOptions {
  details?: ErrorDetail[] | undefined
  reason?: ErrorReason | undefined
  retry_after_s?: number | undefined
  cause?: unknown
}

/** A refusal: `message` is public, `cause` is only logged. Source: contract section 1. */
export class SvcError extends Error {
  override readonly name = 'SvcError'
  readonly code: ErrorCode
  readonly status: ErrorStatus
  /** All faults of the request; the text of the first fault is also the message. */
  readonly details?: ErrorDetail[]
  readonly reason?: ErrorReason
  /** Whole seconds after which the client may retry; sent as `Retry-After`. */
  readonly retry_after_s?: number

  constructor(code: ErrorCode, message: string, more: SvcErrorOptions & { details: ErrorDetail[] })
  constructor(code: Exclude<ErrorCode, 'validation_error'>, message: string, more?: SvcErrorOptions)
  constructor(code: ErrorCode, message: string, more: SvcErrorOptions = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.status = ERRORS[code]
    if (more.details) this.details = more.details
    if (more.reason) this.reason = more.reason
    if (more.retry_after_s !== undefined) this.retry_after_s = more.retry_after_s
  }
}

/** A `validation_error` with one fault. `path`: a field, a header, or empty for the request as a whole. */
export function invalid(path: string, message: string, reason?: ErrorReason): SvcError {
  return new SvcError('validation_error', message, { details: [{ path, message }], reason })
}
