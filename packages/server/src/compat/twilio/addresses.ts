import type { Channel } from '@svc/core/contract'

const WHATSAPP = 'whatsapp:'

/** The channel and the number of an address of Twilio: `+14155550100` or `whatsapp:+14155550100`. */
export function readAddress(text: string): { channel: 'sms' | 'whatsapp'; address: string } {
  const isWhatsapp = text.slice(0, WHATSAPP.length).toLowerCase() === WHATSAPP
  return isWhatsapp
    ? { channel: 'whatsapp', address: text.slice(WHATSAPP.length).trim() }
    : { channel: 'sms', address: text.trim() }
}

/** The address at Twilio. */
export function addressText(channel: Channel, address: string | null): string | null {
  return channel === 'whatsapp' && address !== null ? WHATSAPP + address : address
}
