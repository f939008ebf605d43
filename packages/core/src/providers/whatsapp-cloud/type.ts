import { LIMITS } from '../../contract/limits.ts'
import type { ProviderType } from '../provider-type.ts'
import { settings, type WhatsappCloudSettings } from './settings.ts'

/** What Meta lets one number send a second unless it has raised that, or the number is in the app on a phone too. */
const MESSAGES_PER_SECOND = 80

/** WhatsApp by Meta's Cloud API. It cannot be asked how a message fares: it calls. */
export const whatsappCloudType = {
  settings,
  traits: ({ senders, messages_per_second, handles_stop }) => ({
    channels: ['whatsapp'],
    senders: { whatsapp: senders.map(({ number }) => number) },
    idempotent: false,
    lookup: false,
    // A batch comes to 3 MB at the most.
    callback_bytes: LIMITS.callback_body_bytes_max,
    listens: false,
    connected: false,
    messages_per_second: messages_per_second ?? MESSAGES_PER_SECOND,
    handles_stop,
  }),
  open: async (given) => {
    const { openWhatsappCloud } = await import('./whatsapp-cloud.ts')
    return openWhatsappCloud(given)
  },
} satisfies ProviderType<WhatsappCloudSettings>
