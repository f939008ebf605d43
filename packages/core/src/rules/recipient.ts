import { invalid } from '../contract/errors.ts'
import { emailAddress, emailKey } from '../contract/fields/email-address.ts'
import { phone } from '../contract/fields/fields.ts'

export interface Recipient {
  kind: 'phone' | 'email'
  /** A phone number in E.164, or an e-mail address in lower case with its domain as A-labels. */
  address: string
}

/** @throws SvcError `validation_error` for a text that is neither a phone number nor an e-mail address. */
export function readRecipient(text: string): Recipient {
  if (phone.safeParse(text).success) return { kind: 'phone', address: text }
  if (emailAddress(text) !== null) return { kind: 'email', address: emailKey(text) }
  throw invalid(
    'address',
    'The address must be a phone number in E.164 format, such as +14155552671, or an e-mail address',
  )
}

/** Whether `text` is the recipient's address, in any spelling. */
export function isTo({ kind, address }: Recipient, text: unknown): boolean {
  if (typeof text !== 'string') return false
  return kind === 'email' ? emailKey(text) === address : text === address
}

/** What may stand around an address, but is no part of it. */
const AROUND = /[\s<>()[\]:;,"']+/

/**
 * Whether a text that is no valid address names the recipient: a phone number with the same digits, apart from leading
 * zeros, or a text that contains the e-mail address.
 */
export function isAbout(recipient: Recipient, text: string): boolean {
  if (isTo(recipient, text)) return true
  if (recipient.kind === 'email') return text.split(AROUND).some((part) => isTo(recipient, part))
  const digits = digitsOf(recipient.address)
  return digits !== '' && digitsOf(text) === digits
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '').replace(/^0+/, '')
}
