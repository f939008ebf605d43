import type { Channel } from '@svc/client'

/** The channels and their names, for a choice. */
export const CHANNELS: readonly (readonly [Channel, string])[] = [
  ['sms', 'SMS'],
  ['whatsapp', 'WhatsApp'],
  ['email', 'E-mail'],
  ['voice', 'Voice'],
]

/** The name of a channel for people. */
export function channelName(channel: string): string {
  return CHANNELS.find(([id]) => id === channel)?.[1] ?? channel
}
