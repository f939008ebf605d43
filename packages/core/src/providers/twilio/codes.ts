import type { SuppressionReason } from '../../contract/outside/provider.ts'

/**
 * The effect of a refusal. `rejected`: the message is never sent. `retry`: the message may be sent later. `provider`:
 * no message is sent through the account until the operator corrects the cause; `sender`: the same for this sender.
 */
type Consequence = 'rejected' | 'retry' | 'provider' | 'sender'

/** The meaning of a Twilio code. */
export interface Meaning {
  consequence: Consequence
  /** Our stable error code. */
  word: string
  /** Our text: texts of Twilio may repeat the recipient or the contents of the message. */
  text: string
  suppress?: SuppressionReason
}

type Line = readonly [code: number, word: string, text: string]

const REJECTED: readonly Line[] = [
  [21201, 'invalid_recipient', 'No recipient'],
  [21205, 'media_unavailable', 'Invalid URL of the audio to play'],
  [21211, 'invalid_recipient', 'Invalid recipient'],
  [21214, 'unroutable', 'The recipient cannot be reached'],
  [21216, 'recipient_blocked', 'The account may not call this number'],
  [21217, 'invalid_recipient', 'The recipient does not appear to be valid'],
  [21218, 'invalid_content', 'Invalid TwiML'],
  // A trial account reaches only verified numbers. Other recipients still work, so nothing is paused.
  [21219, 'trial_account', 'A trial account calls verified numbers only'],
  [21265, 'invalid_recipient', 'The recipient cannot be a short code'],
  [21266, 'invalid_recipient', 'Sender and recipient are the same'],
  [21602, 'invalid_content', 'No text'],
  [21604, 'invalid_recipient', 'No recipient'],
  [21605, 'content_too_long', 'The text is too long'],
  [21608, 'trial_account', 'A trial account sends to verified numbers only'],
  [21612, 'unroutable', 'No route from this sender to this recipient'],
  [21614, 'invalid_recipient', 'The recipient is not a mobile number'],
  [21617, 'content_too_long', 'The text is too long'],
  [21619, 'invalid_content', 'The message has neither text nor media'],
  [21620, 'media_unavailable', 'Invalid media URL'],
  [21623, 'media_unavailable', 'Too many media files'],
  [21635, 'landline', 'The recipient is a landline'],
  [21654, 'template_unknown', 'No ContentSid'],
  [21655, 'template_unknown', 'Invalid ContentSid'],
  [21656, 'invalid_template_variables', 'Invalid variables of the template'],
  [21658, 'content_too_long', 'A parameter is too long'],
  // Twilio permits each country separately. Other countries still work, so nothing is paused.
  [21215, 'region_not_enabled', 'Calls to this country are not enabled'],
  [21408, 'region_not_enabled', 'Messages to this country are not enabled'],
  [30003, 'unreachable', 'Unreachable handset'],
  [30004, 'recipient_blocked', 'Message blocked'],
  [30005, 'invalid_recipient', 'Unknown destination handset'],
  [30006, 'landline', 'Landline or unreachable carrier'],
  [30007, 'filtered', 'Filtered by the carrier or by Twilio'],
  [30008, 'undelivered', 'Unknown error'],
  [30009, 'undelivered', 'A part of the message is missing'],
  [30010, 'price_too_high', 'The price exceeds the allowed maximum'],
  [30011, 'unsupported', 'The recipient cannot receive media'],
  [30017, 'carrier_congested', 'The carrier is congested'],
  [30019, 'content_too_long', 'The content exceeds the size limit of the carrier'],
  [30024, 'undelivered', 'The sender is not provisioned at the carrier'],
  [30036, 'expired', 'The validity period ended while the message was queued'],
  [30410, 'undelivered', 'The carrier did not answer in time'],
  [30453, 'undelivered', 'The message could not be delivered'],
  [32018, 'content_too_long', 'The TwiML is too long'],
  [63001, 'undelivered', 'The channel refused the credentials'],
  [63003, 'invalid_recipient', 'The recipient is not on WhatsApp'],
  [63005, 'invalid_content', 'WhatsApp did not accept the content'],
  [63012, 'undelivered', 'Internal error of WhatsApp'],
  [63013, 'policy_violation', "The message violates WhatsApp's policy"],
  [63015, 'unreachable', 'The recipient has not joined the sandbox'],
  [63016, 'outside_window', 'Outside the 24 hour window; use a template'],
  [63019, 'media_unavailable', 'The media file could not be downloaded'],
  [63021, 'invalid_content', 'Invalid content for WhatsApp'],
  [63024, 'invalid_recipient', 'Invalid recipient for WhatsApp'],
  [63027, 'template_unknown', 'The template does not exist in this language'],
  [63028, 'invalid_template_variables', 'The number of variables does not match the template'],
  [63030, 'invalid_content', 'Unsupported parameter for WhatsApp'],
  [63032, 'undelivered', 'WhatsApp chose not to deliver the message'],
  [63049, 'undelivered', 'WhatsApp chose not to deliver the message'],
]

const RETRY: readonly Line[] = [
  [10004, 'rate_limited', 'Too many concurrent calls'],
  [20429, 'rate_limited', 'Too many requests'],
  [21611, 'rate_limited', 'The queue of the sender is full'],
  [21730, 'provider_unavailable', 'Maintenance'],
  [30001, 'rate_limited', 'The queue is full'],
  [30022, 'rate_limited', 'The sender exceeded the rate limit of the carrier'],
  [30023, 'rate_limited', 'The daily limit of the sender is reached'],
  [63018, 'rate_limited', 'The rate limit of WhatsApp is exceeded'],
  [63038, 'rate_limited', 'The daily limit of the account is reached'],
]

const PROVIDER: readonly Line[] = [
  [10001, 'account_blocked', 'The account is not active'],
  [20003, 'provider_unauthorized', 'The credentials are not valid'],
  [20005, 'account_blocked', 'The account is not active'],
  [20008, 'provider_unauthorized', 'These are test credentials'],
  [20403, 'account_blocked', 'The account may not use the API'],
  [20404, 'provider_unauthorized', 'The account does not exist'],
  [21609, 'provider_misconfigured', 'The public address for callbacks is not accepted'],
  [30002, 'account_blocked', 'The account is suspended'],
  [70051, 'provider_unauthorized', 'The credentials lack the permission for this request'],
]

const SENDER: readonly Line[] = [
  [10005, 'sender_restricted', 'Calls are disabled'],
  [21210, 'sender_invalid', 'The sender is not verified'],
  [21212, 'sender_invalid', 'Invalid sender'],
  [21603, 'sender_invalid', 'No sender'],
  [21606, 'sender_invalid', 'The sender cannot send this message'],
  [21607, 'sender_invalid', 'The sender cannot send this message'],
  [21659, 'sender_invalid', 'The sender is not a Twilio number'],
  [21660, 'sender_invalid', 'The sender does not belong to the account'],
  [21661, 'sender_invalid', 'The sender cannot send text messages'],
  [21701, 'sender_invalid', 'The messaging service does not exist'],
  [21703, 'sender_invalid', 'The messaging service has no numbers'],
  [21705, 'sender_invalid', 'The messaging service is invalid'],
  [30032, 'sender_restricted', 'The toll-free number is not verified'],
  [30034, 'sender_restricted', 'The number is not registered (10DLC)'],
  [30035, 'sender_restricted', 'The number is being set up'],
  [63007, 'sender_invalid', 'The sender is not set up for WhatsApp'],
  [63020, 'sender_restricted', 'The business has not accepted the invitation of Twilio'],
  [63051, 'sender_restricted', 'The WhatsApp account is locked'],
]

const MEANINGS: ReadonlyMap<number, Meaning> = new Map([
  ...linesOf('rejected', REJECTED),
  ...linesOf('retry', RETRY),
  ...linesOf('provider', PROVIDER),
  ...linesOf('sender', SENDER),
  [
    21610,
    {
      consequence: 'rejected',
      word: 'opted_out',
      text: 'The recipient has opted out',
      suppress: 'opt_out',
    },
  ],
])

function linesOf(consequence: Consequence, lines: readonly Line[]): [number, Meaning][] {
  return lines.map(([code, word, text]) => [code, { consequence, word, text }])
}

/**
 * The meaning of a code; undefined for an unknown code. Twilio warns that it adds and removes codes, so no decision may
 * require that a code is known. Source: Twilio, Error and Warning Dictionary.
 */
export function meaningOf(code: number | null): Meaning | undefined {
  return code === null ? undefined : MEANINGS.get(code)
}

/** Twilio's code from a number or from a text of digits; null for anything else. */
export function codeOf(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && /^[1-9]\d{1,6}$/.test(text) ? Number(text) : null
}
