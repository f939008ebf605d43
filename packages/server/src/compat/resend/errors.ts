import type { SvcError } from '@svc/core/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The status and the name of an error of Resend. Source: https://resend.com/docs/api-reference/errors */
interface ResendError {
  status: number
  name: string
  message: string
}

/** Writes an error as Resend does, and sets its status. */
export function resendFailureText(
  failure: SvcError,
  request: FastifyRequest,
  reply: FastifyReply,
): string {
  const { status, name, message } = resendError(failure, request)
  reply.code(status)
  return JSON.stringify({ statusCode: status, name, message })
}

function resendError(
  failure: SvcError,
  request: Pick<FastifyRequest, 'headers' | 'svcIdentity'>,
): ResendError {
  const { code, message } = failure
  switch (code) {
    case 'validation_error':
      return validationError(failure)
    case 'unauthorized':
    case 'token_expired':
      return request.headers.authorization === undefined
        ? {
            status: 401,
            name: 'missing_api_key',
            message: 'Missing API key in the authorization header.',
          }
        : { status: 403, name: 'invalid_api_key', message: 'API key is invalid.' }
    case 'forbidden':
      // A key without a scope has no identity yet, or the text names it; a frozen workspace has one.
      return request.svcIdentity && !/\bAPI key\b/.test(message)
        ? { status: 403, name: 'validation_error', message }
        : { status: 401, name: 'restricted_api_key', message }
    case 'insufficient_credits':
      return {
        status: 429,
        name: /today\b/.test(message) ? 'daily_quota_exceeded' : 'monthly_quota_exceeded',
        message,
      }
    case 'rate_limit_exceeded':
      return { status: 429, name: 'rate_limit_exceeded', message }
    case 'not_found':
      return { status: 404, name: 'not_found', message }
    case 'internal_error':
      return { status: 500, name: 'internal_server_error', message }
  }
}

/** The error for one fault of a request: the first one, as Resend reports it. */
export function validationError({
  details,
  message,
}: Pick<SvcError, 'details' | 'message'>): ResendError {
  const [first] = details ?? []
  const path = fieldOf(first?.path ?? '')
  const text = message.replaceAll(/\bcontent\.(?=[a-z])/g, '')
  if (path === 'Idempotency-Key') {
    return message.includes('was used with another')
      ? {
          status: 409,
          name: 'invalid_idempotent_request',
          message: 'Same idempotency key used with a different request payload.',
        }
      : { status: 400, name: 'invalid_idempotency_key', message: text }
  }
  const [, missing] = /^Missing required field: (.+)$/.exec(text) ?? []
  if (missing) {
    return {
      status: 422,
      name: 'missing_required_field',
      message: `Missing ${missing
        .split(' or ')
        .map((name) => `\`${name}\``)
        .join(' or ')} field.`,
    }
  }
  if (path === 'from_address') return { status: 403, name: 'validation_error', message: text }
  if (path.startsWith('attachments'))
    return { status: 422, name: 'invalid_attachment', message: text }
  // A body that cannot be read has no field.
  return { status: path === '' ? 400 : 422, name: 'validation_error', message: text }
}

/** The name of a field of an e-mail; in a batch, its path begins with the place of the e-mail. */
function fieldOf(path: string): string {
  return path.replace(/^(?:emails\.\d+\.)?(?:content\.)?/, '')
}
