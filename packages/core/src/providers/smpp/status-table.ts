/** The meaning of a command_status for the message, the sender or the account. */
export const STATUS_CLASSES = [
  /** The SMSC may accept the same message later. */
  'retry',
  /** Too many messages: the connection pauses. */
  'throttled',
  /** The SMSC will never accept this message. */
  'rejected',
  /** The recipient opted out: the SMSC will accept no message for this recipient. */
  'opted_out',
  /** The connection is no longer bound; the message was not accepted. */
  'rebind',
  /** The account or the settings are at fault. */
  'provider',
  /** The sender is at fault. */
  'sender',
] as const

export type StatusClass = (typeof STATUS_CLASSES)[number]

export interface StatusMeaning {
  class: StatusClass
  /** Our stable error code. */
  error_code: string
  text: string
}

export const STATUS = {
  ok: 0x00,
  invalid_command: 0x03,
  already_bound: 0x05,
  throttled: 0x58,
  temporary_error: 0x64,
  permanent_error: 0x65,
} as const

/** `[command_status, class, error code, text]`. Source: SMPP 3.4 section 5.1.3; for 0x104, SMPP 5.0. */
const ROWS: readonly [number, StatusClass, string, string][] = [
  [0x04, 'rebind', 'not_connected', 'The session is not bound'],
  [0x05, 'rebind', 'not_connected', 'The account is already bound'],

  [0x08, 'retry', 'provider_unavailable', 'System error'],
  [0x14, 'retry', 'provider_unavailable', 'The message queue is full'],
  [0x58, 'throttled', 'rate_limited', 'Too many messages a second'],
  [0x64, 'retry', 'provider_unavailable', 'Temporary error'],

  [0x0d, 'provider', 'provider_unauthorized', 'The bind failed'],
  [0x0e, 'provider', 'provider_unauthorized', 'The password is not valid'],
  [0x0f, 'provider', 'provider_unauthorized', 'The system_id is not valid'],
  [0x15, 'provider', 'provider_misconfigured', 'The service_type is not valid'],
  [0x53, 'provider', 'provider_misconfigured', 'The system_type is not valid'],

  [0x0a, 'sender', 'sender_invalid', 'The source address is not valid'],
  [0x48, 'sender', 'sender_invalid', 'The TON of the source address is not valid'],
  [0x49, 'sender', 'sender_invalid', 'The NPI of the source address is not valid'],

  [0x01, 'rejected', 'invalid_content', 'The message length is not valid'],
  [0x02, 'rejected', 'provider_rejected', 'The command length is not valid'],
  [0x03, 'rejected', 'provider_rejected', 'The command is not known'],
  [0x06, 'rejected', 'provider_rejected', 'The priority is not valid'],
  [0x07, 'rejected', 'provider_rejected', 'The registered delivery flag is not valid'],
  [0x0b, 'rejected', 'invalid_recipient', 'The destination address is not valid'],
  [0x0c, 'rejected', 'provider_rejected', 'The message id is not valid'],
  [0x43, 'rejected', 'provider_rejected', 'The esm_class is not valid'],
  [0x45, 'rejected', 'provider_rejected', 'The submission failed'],
  [0x50, 'rejected', 'invalid_recipient', 'The TON of the destination address is not valid'],
  [0x51, 'rejected', 'invalid_recipient', 'The NPI of the destination address is not valid'],
  [0x61, 'rejected', 'provider_rejected', 'The scheduled time is not valid'],
  [0x62, 'rejected', 'provider_rejected', 'The validity period is not valid'],
  [0x65, 'rejected', 'provider_rejected', 'Permanent error'],
  [0x66, 'rejected', 'provider_rejected', 'The receiver refused the message'],
  [0xc0, 'rejected', 'provider_rejected', 'The optional part of the PDU is not valid'],
  [0xc1, 'rejected', 'provider_rejected', 'An optional parameter is not allowed'],
  [0xc2, 'rejected', 'provider_rejected', 'The length of a parameter is not valid'],
  [0xc3, 'rejected', 'provider_rejected', 'An optional parameter is missing'],
  [0xc4, 'rejected', 'provider_rejected', 'The value of an optional parameter is not valid'],
  [0xfe, 'rejected', 'undeliverable', 'The delivery failed'],
  [0xff, 'rejected', 'provider_rejected', 'Unknown error'],
  [0x104, 'rejected', 'invalid_content', 'The data_coding is not valid'],
]

const MEANINGS: ReadonlyMap<number, StatusMeaning> = new Map(
  ROWS.map(([status, of, error_code, text]) => [status, { class: of, error_code, text }]),
)

const UNLISTED: StatusMeaning = {
  class: 'rejected',
  error_code: 'provider_rejected',
  text: 'The SMSC refused the message',
}

/** The error codes for a status whose class the operator changed. */
const WORDS: Record<StatusClass, string> = {
  retry: 'provider_unavailable',
  throttled: 'rate_limited',
  rejected: 'provider_rejected',
  opted_out: 'opted_out',
  rebind: 'not_connected',
  provider: 'provider_misconfigured',
  sender: 'sender_invalid',
}

/** Returns the meaning of a command_status other than 0; `overrides` are the operator's settings for this SMSC. */
export function createStatusTable(
  overrides: Readonly<Record<string, StatusClass>>,
): (status: number) => StatusMeaning {
  const own = new Map(
    Object.entries(overrides).map(([text, of]) => [parseStatus(text) as number, of]),
  )
  return (status) => {
    const meaning = MEANINGS.get(status) ?? UNLISTED
    const set = own.get(status)
    if (set === undefined || set === meaning.class) return meaning
    return { class: set, error_code: WORDS[set], text: meaning.text }
  }
}

/** Parses `0x0400` or `1024`; null for anything else and for 0. */
export function parseStatus(text: string): number | null {
  if (!/^(0x[0-9a-f]{1,8}|\d{1,10})$/i.test(text)) return null
  const status = Number(text)
  return status > 0 && status <= 0xffff_ffff ? status : null
}

/** A text such as `smpp:0x0b The destination address is not valid`. */
export function statusText(status: number, { text }: StatusMeaning): string {
  return `smpp:0x${status.toString(16).padStart(2, '0')} ${text}`
}
