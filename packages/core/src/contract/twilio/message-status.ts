import type { MessageStatus } from '../resources/messages.ts'

/** The statuses of a message at Twilio that this service reports. */
export const TWILIO_STATUSES = [
  'queued',
  'scheduled',
  'sent',
  'delivered',
  'undelivered',
  'failed',
  'read',
  'canceled',
] as const

/** A status of a message at Twilio. */
export type TwilioStatus = (typeof TWILIO_STATUSES)[number]

/** Twilio's number for an error without a better one: "Unknown error". */
export const TWILIO_UNKNOWN_ERROR = 30008

/**
 * Twilio's error number for each error code of a failed message. `was_sent`: the carrier had the message, so that Twilio
 * reports `undelivered`; a message that no carrier took is `failed`.
 * Source: https://www.twilio.com/docs/api/errors
 */
const ERRORS: Readonly<Record<string, { number: number; was_sent: boolean }>> = {
  bounced: { number: 30003, was_sent: true },
  busy: { number: 30003, was_sent: true },
  expired: { number: 30036, was_sent: false },
  gone: { number: 30005, was_sent: true },
  invalid_content: { number: 30019, was_sent: false },
  invalid_recipient: { number: 21211, was_sent: false },
  no_answer: { number: 30003, was_sent: true },
  opted_out: { number: 21610, was_sent: false },
  outcome_unknown: { number: 30008, was_sent: true },
  rate_limited: { number: 30022, was_sent: false },
  rejected: { number: 30007, was_sent: true },
  sender_invalid: { number: 21606, was_sent: false },
  suppressed: { number: 21610, was_sent: false },
  too_many_parts: { number: 21617, was_sent: false },
  undeliverable: { number: 30005, was_sent: true },
  undelivered: { number: 30003, was_sent: true },
  unroutable: { number: 21612, was_sent: false },
}

/** Twilio's number for the error code of a failed message; null for a message without an error. */
export function twilioErrorOf(errorCode: string | null): number | null {
  if (errorCode === null || errorCode === 'canceled') return null
  return errorOf(errorCode)?.number ?? TWILIO_UNKNOWN_ERROR
}

/** The status at Twilio of a message with this status and error code. */
export function twilioStatusOf(status: MessageStatus, errorCode: string | null): TwilioStatus {
  if (status !== 'failed') return status
  if (errorCode === 'canceled') return 'canceled'
  return errorCode !== null && errorOf(errorCode)?.was_sent ? 'undelivered' : 'failed'
}

/** The statuses of a call at Twilio that this service reports. */
export type TwilioCallStatus =
  | 'queued'
  | 'in-progress'
  | 'completed'
  | 'busy'
  | 'no-answer'
  | 'failed'
  | 'canceled'

const ENDS_OF_CALLS: Readonly<Record<string, TwilioCallStatus>> = {
  busy: 'busy',
  canceled: 'canceled',
  no_answer: 'no-answer',
  unanswered: 'no-answer',
}

/** The status at Twilio of a call with this status and error code. */
export function twilioCallStatusOf(
  status: MessageStatus,
  errorCode: string | null,
): TwilioCallStatus {
  if (status === 'queued') return status
  if (status === 'sent') return 'in-progress'
  if (status !== 'failed') return 'completed'
  const end = errorCode !== null && Object.hasOwn(ENDS_OF_CALLS, errorCode)
  return (end && ENDS_OF_CALLS[errorCode]) || 'failed'
}

// An own property only: a provider may report the code `constructor`.
function errorOf(errorCode: string) {
  return Object.hasOwn(ERRORS, errorCode) ? ERRORS[errorCode] : undefined
}
