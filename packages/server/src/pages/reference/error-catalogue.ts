import { ERRORS, type ErrorCode } from '@svc/core/contract'

/** What an error means, and what the client does. */
interface Advice {
  meaning: string
  remedy: string
}

const ADVICE: Record<ErrorCode, Advice> = {
  validation_error: {
    meaning: 'The request is wrong. `details` lists each fault with its field.',
    remedy: 'Correct the request. The same request fails again.',
  },
  unauthorized: {
    meaning:
      'The API key or the token is missing, unknown, deactivated or ended; or a password is wrong.',
    remedy: 'Send a valid `X-API-Key`, or log in again.',
  },
  token_expired: {
    meaning: 'The session is too old.',
    remedy: 'Log in again.',
  },
  insufficient_credits: {
    meaning:
      'The workspace has less credits than the request costs, or a purchase could not begin.',
    remedy: 'Add credits, then send the request again.',
  },
  forbidden: {
    meaning:
      'The credential is valid, but lacks the scope or the role; or the workspace is frozen.',
    remedy: 'Use a key with the scope that the endpoint names, or ask an owner.',
  },
  not_found: {
    meaning: 'The path or the record does not exist in this workspace.',
    remedy: 'Check the id and the path.',
  },
  rate_limit_exceeded: {
    meaning: 'Too many requests, or the service is busy.',
    remedy: 'Wait for the seconds of `Retry-After`, then send the request again.',
  },
  internal_error: {
    meaning: 'A fault of the service.',
    remedy:
      'Send the request again, with the same `Idempotency-Key`. Tell the operator the `X-Request-Id`.',
  },
}

/** Each value of the field `error`, with its status and what to do. */
export const ERROR_CATALOGUE = Object.entries(ADVICE).map(([code, advice]) => ({
  code,
  status: ERRORS[code as ErrorCode],
  ...advice,
}))

/** Frequent values of `error_code` of a message that failed. Providers add words of their own. */
export const FAILURE_CATALOGUE: readonly { code: string; meaning: string }[] = [
  { code: 'invalid_recipient', meaning: 'The recipient is not an address of the channel.' },
  { code: 'invalid_content', meaning: 'The content cannot be sent on the channel.' },
  { code: 'sender_invalid', meaning: 'The provider may not send from this sender.' },
  {
    code: 'sender_not_verified',
    meaning: 'The domain of `from_address` is not verified any more.',
  },
  { code: 'undelivered', meaning: 'The provider took the message but did not deliver it.' },
  { code: 'bounced', meaning: 'The mailbox does not exist, is full or refuses the mail.' },
  {
    code: 'expired',
    meaning: 'The time of `expires_in` or of the carrier ended before the delivery.',
  },
  { code: 'canceled', meaning: 'A request canceled the message.' },
  { code: 'provider_unavailable', meaning: 'The provider did not take the message in time.' },
  {
    code: 'outcome_unknown',
    meaning:
      'The answer of the provider was lost. The message may have arrived, so that it is not refunded.',
  },
]
