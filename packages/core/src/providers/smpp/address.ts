import { SEPTETS } from '../../sms/gsm7.ts'
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
/** A shorter number may be a short code, and a number with a leading 0 is national. */
const INTERNATIONAL = /^[1-9]\d{8,14}$/

/** Returns an incoming address as text. An international number gets its plus sign (E.164). */
export function textOfAddress({ ton, digits }: Address): string {
  if (digits.startsWith('+')) return digits
  const isInternational =
    ton === TON_INTERNATIONAL || (ton === TON_UNKNOWN && INTERNATIONAL.test(digits))
  return isInternational && /^\d+$/.test(digits) ? `+${digits}` : digits
}

/** Returns the configured sender that has this address; if no sender has it, the address itself. */
export function ownSenderOf(address: Address, senders: readonly string[]): string {
  const digits = address.digits.replace('+', '')
  return senders.find((one) => one.replace('+', '') === digits) ?? textOfAddress(address)
}
