import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { SEPTETS } from '../../sms/segments.ts'
import type { Address } from './pdu.ts'
import type { SmppSettings } from './settings.ts'

const SHORT_CODE_MAX = 8
const NUMBER = /^\+?\d{1,20}$/
// A C-Octet String is ASCII (SMPP 3.4 section 3.1).
const VISIBLE = /^[\x20-\x7e]+$/
/** The maximum number of septets of an alphanumeric sender: 3GPP TS 23.040 clause 9.1.2.5. */
const ALPHANUMERIC_SEPTETS = 11

type Kinds = SmppSettings['addresses']

/** Encodes a sender; null if no SMSC could accept it. If the sender is null, the SMSC chooses one. */
export function sourceOf(sender: string | null, kinds: Kinds): Address | null {
  if (sender === null) return { ton: 0, npi: 0, digits: '' }
  if (!NUMBER.test(sender)) {
    return isAlphanumeric(sender) ? { ...kinds.alphanumeric, digits: sender } : null
  }
  if (sender.startsWith('+')) return { ...kinds.international, digits: sender.slice(1) }
  const kind = sender.length <= SHORT_CODE_MAX ? kinds.short_code : kinds.international
  return { ...kind, digits: sender }
}

function isAlphanumeric(sender: string): boolean {
  if (!VISIBLE.test(sender)) return false
  const septets = Array.from(sender, (character) => SEPTETS[character.charCodeAt(0)] as number)
  return (
    !septets.includes(0) && septets.reduce((sum, each) => sum + each, 0) <= ALPHANUMERIC_SEPTETS
  )
}

/** Encodes a recipient as an international number without its plus sign; null if it is not a number. */
export function destinationOf(recipient: string, kinds: Kinds): Address | null {
  if (!NUMBER.test(recipient)) return null
  return { ...kinds.international, digits: recipient.replace('+', '') }
}

const TON_UNKNOWN = 0
const TON_INTERNATIONAL = 1
const TON_NATIONAL = 2

const INTERNATIONAL = /^[1-9]\d{8,14}$/
/** The usual prefix of international calls (ITU-T E.164 clause 7.3.1), before a number in E.164. */
const PREFIXED = /^00([1-9]\d{6,14})$/
/** Shorter digits may be a short code. */
const NATIONAL_MIN = 7

/**
 * Returns an incoming address as text: a number in E.164 with its plus sign, if the type of number or the digits show
 * that it is one. A national number is one of `country` (ISO 3166-1); without a country it stays unchanged. SMSCs use
 * the type "unknown" for all numbers: of these, digits that are no valid international number are national.
 */
export function textOfAddress({ ton, digits: written }: Address, country?: string): string {
  if (!/^\+?\d+$/.test(written)) return written
  const digits = written.replace('+', '')
  const hasPlus = written !== digits
  const national = (need: 'valid' | 'possible') => nationalNumber(digits, country, need)
  const prefixed = PREFIXED.exec(digits)
  // In some countries these digits have another meaning: the prefix of Australia is 0011.
  if (prefixed) return national('valid') ?? `+${prefixed[1]}`
  if (digits.startsWith('0') || (ton === TON_NATIONAL && !hasPlus)) {
    return national('possible') ?? digits
  }
  if (ton === TON_INTERNATIONAL || hasPlus) return `+${digits}`
  if (ton !== TON_UNKNOWN) return digits
  if (!INTERNATIONAL.test(digits)) return national('valid') ?? digits
  const isInternational = parsePhoneNumberFromString(`+${digits}`)?.isValid()
  return (isInternational ? null : national('valid')) ?? `+${digits}`
}

/**
 * Reads digits as one dials them in the country, and returns them in E.164; null if they are no number there.
 * `possible` checks only the length, because new ranges of numbers are unknown to the library.
 */
function nationalNumber(
  digits: string,
  country: string | undefined,
  need: 'valid' | 'possible',
): string | null {
  if (country === undefined || digits.length < NATIONAL_MIN) return null
  const defaultCountry = country as CountryCode
  const number = parsePhoneNumberFromString(digits, { defaultCountry, extract: false })
  if (!number || number.isValid()) return number?.number ?? null
  const isPossible = need === 'possible' && number.isPossible()
  return isPossible && !number.nationalNumber.startsWith('0') ? number.number : null
}

/** Returns the configured sender that has this address; if no sender has it, the address itself. */
export function ownSenderOf(
  address: Address,
  senders: readonly string[],
  country?: string,
): string {
  const text = textOfAddress(address, country)
  const withDigits = (digits: string) => senders.find((one) => one.replace('+', '') === digits)
  return withDigits(address.digits.replace('+', '')) ?? withDigits(text.replace('+', '')) ?? text
}
