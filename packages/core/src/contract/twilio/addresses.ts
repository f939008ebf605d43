import type { Channel } from '../resources/content.ts'

const WHATSAPP = 'whatsapp:'

/** The channel and the number of an address of Twilio: `+14155550100` or `whatsapp:+14155550100`. */
export function readTwilioAddress(text: string): { channel: 'sms' | 'whatsapp'; address: string } {
  const isWhatsapp = text.slice(0, WHATSAPP.length).toLowerCase() === WHATSAPP
  return isWhatsapp
    ? { channel: 'whatsapp', address: text.slice(WHATSAPP.length).trim() }
    : { channel: 'sms', address: text.trim() }
}

/** An address at Twilio: with the prefix `whatsapp:` on that channel. */
export function twilioAddress<Address extends string | null>(
  channel: Channel,
  address: Address,
): Address | string {
  return channel === 'whatsapp' && address !== null ? WHATSAPP + address : address
}
