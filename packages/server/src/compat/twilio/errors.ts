import { type ErrorReason, SvcError } from '@svc/core/contract'
import { SUPPRESSED_TEXT } from '@svc/core/operate'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { drainBody, failureOf, noteFailure } from '../../failures.ts'

/** The numbers of Twilio's errors that the door answers. Source: https://www.twilio.com/docs/api/errors */
const CODES = {
  invalid_parameter: 20001,
  unauthorized: 20003,
  inactive_account: 20005,
  incomplete: 20009,
  not_found: 20404,
  too_many_requests: 20429,
  internal: 20500,
  invalid_to: 21211,
  twiml_not_fetched: 11200,
  invalid_twiml: 12100,
  invalid_content_type: 12300,
  invalid_url: 21205,
  country_not_permitted: 21408,
  no_from: 21603,
  no_to: 21604,
  no_body: 21602,
  invalid_from: 21606,
  invalid_callback: 21609,
  opted_out: 21610,
  too_long: 21617,
  invalid_media: 21620,
  too_many_media: 21623,
  invalid_variables: 21656,
  price_above_max: 30010,
  not_cancelable: 30409,
  invalid_send_at: 35114,
  invalid_verify_parameter: 60200,
  too_many_checks: 60202,
  too_many_codes: 60203,
  network_limit: 60207,
  country_paused: 60410,
  country_blocked: 60605,
} as const

/** A refusal with Twilio's number. `text` is shown to the client. */
export class TwilioError extends Error {
  override readonly name = 'TwilioError'
  readonly status: 400 | 403 | 404 | 409 | 429
  readonly code: number

  constructor(code: keyof typeof CODES, text: string, status: TwilioError['status'] = 400) {
    super(text)
    this.code = CODES[code]
    this.status = status
  }
}

/** The error for a SID that names nothing of the account. */
export function notFound(path: string): TwilioError {
  return new TwilioError('not_found', `The requested resource ${path} was not found`, 404)
}

/** Answers an error in Twilio's shape, with the same headers and log lines as the API. */
export function answerTwilioFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { status, code, message } =
    error instanceof TwilioError ? error : translated(error, request, reply)
  reply.code(status).header('content-type', 'application/json; charset=utf-8')
  const more_info = `https://www.twilio.com/docs/errors/${code}`
  const answer = () => void reply.send(JSON.stringify({ code, message, more_info, status }))
  const isTooLarge = (error as { code?: unknown } | null)?.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
  // As in the API: the framework would close the connection while the client still sends.
  if (isTooLarge) reply.removeHeader('connection')
  const isEnding = request.headers.connection?.toLowerCase() === 'close'
  if (isTooLarge && isEnding) drainBody(request.raw, answer)
  else answer()
}

interface Answered {
  status: number
  code: number
  message: string
}

function translated(error: unknown, request: FastifyRequest, reply: FastifyReply): Answered {
  const { headers } = request
  const failure = noteFailure(error, request, reply)
  if (failure.status === 401) {
    reply.header('www-authenticate', 'Basic realm="Twilio API"')
    const message = headers.authorization === undefined ? 'Authenticate' : failure.message
    return { status: 401, code: CODES.unauthorized, message }
  }
  return { ...numberOf(failure), message: textOf(error, failure) }
}

function textOf(error: unknown, failure: SvcError): string {
  const isType = (error as { code?: unknown }).code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  return isType ? 'Content-Type must be application/x-www-form-urlencoded' : failure.message
}

/** Twilio's number and status for a refusal of the service. */
function numberOf(failure: SvcError): { status: number; code: number } {
  switch (failure.code) {
    case 'insufficient_credits':
      return { status: 403, code: CODES.inactive_account }
    case 'forbidden':
      return { status: 403, code: codeOfReason(failure) ?? CODES.unauthorized }
    case 'not_found':
      return { status: 404, code: CODES.not_found }
    case 'rate_limit_exceeded':
      return { status: 429, code: codeOfReason(failure) ?? CODES.too_many_requests }
    case 'validation_error':
      return { status: 400, code: codeOfReason(failure) ?? codeOfFault(failure) }
    default:
      return { status: 500, code: CODES.internal }
  }
}

const REASONS = {
  codes_of_address: CODES.too_many_codes,
  codes_of_network: CODES.network_limit,
  codes_paused: CODES.country_paused,
  codes_country: CODES.country_blocked,
  codes_daily_credits: CODES.inactive_account,
} as const satisfies Record<ErrorReason, number>

function codeOfReason({ reason }: SvcError): number | null {
  return reason === undefined ? null : REASONS[reason]
}

/** A wrong parameter has another number in Verify's part of the API than in the one of messages. */
export function asVerifyError(error: unknown): unknown {
  const isWrong = (code: number) =>
    code === CODES.invalid_parameter ||
    code === CODES.invalid_to ||
    code === CODES.invalid_variables
  const code = isFault(error) ? codeOfFault(error) : error instanceof TwilioError ? error.code : 0
  if (!isWrong(code)) return error
  return new TwilioError('invalid_verify_parameter', (error as Error).message)
}

function codeOfFault({ message, details }: SvcError): number {
  const path = details?.[0]?.path ?? ''
  if (path === 'to') {
    if (message === SUPPRESSED_TEXT) return CODES.opted_out
    return message.startsWith('Messages to ') ? CODES.country_not_permitted : CODES.invalid_to
  }
  if (path === 'from') return CODES.invalid_from
  if (path === 'status_callback') return CODES.invalid_callback
  if (path === 'credits_max') return CODES.price_above_max
  if (path === 'scheduled_at') return CODES.invalid_send_at
  if (path.startsWith('content.media')) return CODES.invalid_media
  if (/^(?:content\.)?template\.variables/.test(path)) return CODES.invalid_variables
  const isText = path === 'content.text' || path === 'content.media.caption'
  if (isText && message.includes('at most')) return CODES.too_long
  return CODES.invalid_parameter
}

/** Whether an error is a refusal of the service because of the request itself. */
export function isFault(error: unknown): error is SvcError {
  return error instanceof SvcError && failureOf(error).code === 'validation_error'
}
