import { facts } from '../../shell/facts.ts'
import { t } from '../../shell/text.ts'

/** The channels and their names. */
export const CHANNELS = [
  ['sms', 'SMS'],
  ['whatsapp', t('WhatsApp')],
  ['email', t('E-mail')],
  ['voice', t('Voice')],
] as const

export type Channel = (typeof CHANNELS)[number][0]

/** The channels that the service sends by. */
export const SENT_CHANNELS = CHANNELS.filter(
  ([channel]) => channel !== 'voice' || facts.carried.includes(channel),
)

export function channelName(channel: string): string {
  return CHANNELS.find(([one]) => one === channel)?.[1] ?? channel
}
