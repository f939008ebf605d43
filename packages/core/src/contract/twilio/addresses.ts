import type { Channel } from '../resources/content.ts'

const WHATSAPP = 'whatsapp:'

/** A number as people write it: digits after a plus, in groups. Names of senders have letters, so none of them matches. */
const GROUPED = /^\+[\d\s().-]{1,40}$/

/**
 * The channel and the number of an address of Twilio: `+14155550100` or `whatsapp:+14155550100`. As at Twilio, a number after
 * a plus may have spaces, hyphens, dots and parentheses.
 */
export function readTwilioAddress(text: string): { channel: 'sms' | 'whatsapp'; address: string } {
  const isWhatsapp = text.slice(0, WHATSAPP.length).toLowerCase() === WHATSAPP
  return isWhatsapp
    ? { channel: 'whatsapp', address: withoutGroups(text.slice(WHATSAPP.length)) }
    : { channel: 'sms', address: withoutGroups(text) }
}

function withoutGroups(text: string): string {
  const address = text.trim()
  return GROUPED.test(address) ? address.replace(/[^\d+]/g, '') : address
}

/** An address at Twilio: with the prefix `whatsapp:` on that channel. */
export function twilioAddress<Address extends string | null>(
  channel: Channel,
  address: Address,
): Address | string {
  return channel === 'whatsapp' && address !== null ? WHATSAPP + address : address
}
