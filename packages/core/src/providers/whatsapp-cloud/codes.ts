/** The meaning of an error of Meta for a message. */
type ErrorKind =
  /** Meta will never accept this message. */
  | 'rejected'
  /** Meta may accept the same message later. */
  | 'unavailable'
  /** Too many messages of the number, the app or the business. */
  | 'rate'
  /** Too many messages to this recipient. */
  | 'pair_rate'
  /** The token, the app or the business account is at fault. */
  | 'provider'
  /** The sending number is at fault. */
  | 'sender'

/** An error of Meta in our words: Meta's own text may repeat the message. */
export interface CodeMeaning {
  kind: ErrorKind
  /** Our stable code. */
  error_code: string
  text: string
}

/** `[code, kind, our code, our text]`. Source: Meta, WhatsApp Cloud API, Error codes. */
const ROWS: readonly [number, ErrorKind, string, string][] = [
  [0, 'provider', 'provider_unauthorized', 'The access token is no longer valid'],
  [3, 'provider', 'provider_unauthorized', 'The app lacks a capability or permission'],
  [10, 'provider', 'provider_unauthorized', 'The permission is not granted or was removed'],
  [190, 'provider', 'provider_unauthorized', 'The access token has expired'],
  [368, 'provider', 'account_blocked', 'The account is blocked for a policy violation'],
  [131005, 'provider', 'provider_unauthorized', 'Access is denied'],
  [131031, 'provider', 'account_blocked', 'The account is locked'],
  [131042, 'provider', 'payment_required', 'The payment method of the account fails'],

  [33, 'sender', 'sender_invalid', 'The sending number does not exist or is not visible'],
  [131037, 'sender', 'sender_invalid', 'The display name of the sending number is not approved'],
  [131045, 'sender', 'sender_invalid', 'The sending number is not registered properly'],
  [
    131048,
    'sender',
    'sender_restricted',
    'Too many messages of the sending number were blocked or reported as spam',
  ],
  [133010, 'sender', 'sender_invalid', 'The sending number is not registered'],

  [1, 'unavailable', 'provider_unavailable', 'Unknown error of the API'],
  [2, 'unavailable', 'provider_unavailable', 'The API is down or overloaded'],
  [131000, 'unavailable', 'provider_unavailable', 'Something went wrong'],
  [131016, 'unavailable', 'provider_unavailable', 'The service is overloaded'],
  [131057, 'unavailable', 'provider_unavailable', 'The account is in maintenance'],
  [133004, 'unavailable', 'provider_unavailable', 'The server is unavailable for now'],

  [4, 'rate', 'rate_limited', 'The app has made too many calls'],
  [80007, 'rate', 'rate_limited', 'The business account has made too many calls'],
  [130429, 'rate', 'rate_limited', 'Too many messages a second from this number'],
  [131056, 'pair_rate', 'rate_limited', 'Too many messages to this recipient'],

  [100, 'rejected', 'invalid_content', 'A parameter is not valid'],
  [130472, 'rejected', 'not_delivered', 'The recipient is part of an experiment by Meta'],
  [130497, 'rejected', 'unroutable', 'The account may not send to this country'],
  [131008, 'rejected', 'invalid_content', 'A parameter is missing'],
  [131009, 'rejected', 'invalid_content', 'The value of a parameter is not valid'],
  [131021, 'rejected', 'invalid_recipient', 'The recipient is the sender'],
  [131026, 'rejected', 'undeliverable', 'The recipient cannot be reached on WhatsApp'],
  [131030, 'rejected', 'invalid_recipient', 'The test number may not send to this recipient'],
  [131047, 'rejected', 'outside_window', 'Outside the 24 hour window'],
  [131049, 'rejected', 'not_delivered', 'Meta chose not to deliver the message'],
  [131050, 'rejected', 'opted_out', 'The recipient opted out of marketing messages'],
  [131051, 'rejected', 'invalid_content', 'The type of message is not supported'],
  [131052, 'rejected', 'media_unavailable', 'The media could not be downloaded'],
  [131053, 'rejected', 'media_unavailable', 'The media could not be uploaded'],
  [132000, 'rejected', 'template_mismatch', 'The number of variables does not match the template'],
  [132001, 'rejected', 'template_unknown', 'There is no such template in this language'],
  [132005, 'rejected', 'template_mismatch', 'The template is too long with its variables'],
  [132007, 'rejected', 'template_refused', 'The contents of the template violate a policy'],
  [132012, 'rejected', 'template_mismatch', 'The format of a variable does not match the template'],
  [132015, 'rejected', 'template_paused', 'The template is paused because of its low quality'],
  [132016, 'rejected', 'template_disabled', 'The template is disabled permanently'],
  [132068, 'rejected', 'template_refused', 'The flow is blocked'],
  [132069, 'rejected', 'template_refused', 'The flow is throttled'],
]

const MEANINGS: ReadonlyMap<number, CodeMeaning> = new Map(
  ROWS.map(([code, kind, error_code, text]) => [code, { kind, error_code, text }]),
)

const PERMISSION: CodeMeaning = {
  kind: 'provider',
  error_code: 'provider_unauthorized',
  text: 'The permission is not granted or was removed',
}

/** The meaning of a code; null if it is not in Meta's list. */
export function meaningOf(code: number): CodeMeaning | null {
  return MEANINGS.get(code) ?? (code >= 200 && code <= 299 ? PERMISSION : null)
}

/** An `error_message`, for example `whatsapp_cloud:131047 Outside the 24 hour window`. */
export function errorText(code: number, text: string): string {
  return `whatsapp_cloud:${code} ${text}`
}
