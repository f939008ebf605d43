import type { SvcError } from '@svc/core/contract'

/** A reply that refuses a command or a mail. */
export interface Refusal extends Error {
  responseCode: number
}

/** Codes of RFC 5321 and RFC 3463: a reply code, a space and an enhanced status code. */
type Codes = `${4 | 5}${number} ${4 | 5}.${number}.${number}`

/** A reply line has at most 512 bytes, with its codes (RFC 5321, section 4.5.3.1.5). */
const TEXT_LENGTH_MAX = 400

/** A refusal with a text; the connection stays open. */
export function refusal(codes: Codes, text: string): Refusal {
  // The library puts its own enhanced code before the text of a numeric code, and would call a missing credit an unknown
  // mailbox (550 5.1.1). It writes a text unchanged.
  return Object.assign(new Error(printable(text)), { responseCode: codes as unknown as number })
}

/** A refusal after which the server closes the connection. */
export function closing(text: string): Refusal {
  return Object.assign(new Error(printable(text)), { responseCode: 421 })
}

/** The refusal for an error of the API. Source: the table in docs/compat/smtp.md. */
export function refusalOf(error: SvcError): Refusal {
  return refusal(codesOf(error), error.message)
}

function codesOf({ code, message, details }: SvcError): Codes {
  switch (code) {
    case 'rate_limit_exceeded':
      return '451 4.7.1'
    case 'insufficient_credits':
      return '550 5.7.0'
    case 'forbidden':
      return '550 5.7.1'
    case 'unauthorized':
    case 'token_expired':
      return '535 5.7.8'
    case 'not_found':
    case 'validation_error':
      return faultCodes(details?.[0]?.path ?? '', message)
    case 'internal_error':
      return '451 4.3.0'
  }
}

/** The codes for a fault in the request that was made from a mail. */
function faultCodes(path: string, message: string): Codes {
  if (/must be at most \d+ bytes/.test(message)) return '552 5.3.4'
  if (path === 'content.from_address') return '550 5.7.1'
  if (/^(?:to|content\.b?cc)(?:\.|$)/.test(path)) {
    return message.startsWith('Invalid') ? '550 5.1.3' : '550 5.7.1'
  }
  return '554 5.6.0'
}

/** The text as printable ASCII (RFC 5321, section 4.2). */
function printable(text: string): string {
  return text.slice(0, TEXT_LENGTH_MAX).replace(/[^ -~]/g, '?')
}
