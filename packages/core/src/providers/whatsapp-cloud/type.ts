import { LIMITS } from '../../contract/limits.ts'
import { CONNECTIONS, type ProviderType } from '../common-settings.ts'
import { createProviderClient } from '../http-client.ts'
import { settings, type WhatsappCloudSettings } from './settings.ts'

/** Meta's default limit for one number. Meta may raise it; if a phone's app uses the number too, it is 20. */
const MESSAGES_PER_SECOND = 80

/** WhatsApp by Meta's Cloud API. There are no look-ups, only callbacks. */
export const whatsappCloudType = {
  settings,
  traits: ({ senders, messages_per_second, handles_stop, business_account_ids }) => ({
    channels: ['whatsapp'],
    senders: { whatsapp: senders.map(({ number }) => number) },
    idempotent: false,
    lookup: false,
    // Meta sends batches of up to 3 MB.
    callback_bytes: LIMITS.callback_body_bytes_max,
    listens: false,
    connected: false,
    messages_per_second: messages_per_second ?? MESSAGES_PER_SECOND,
    handles_stop,
    connections: CONNECTIONS,
    ...(business_account_ids && { lists_templates: true }),
  }),
  open: async (settings, { may_start, note_call }) =>
    (await import('./whatsapp-cloud.ts')).openWhatsappCloud(settings, {
      http: createProviderClient({ may_start, on_call: note_call }),
    }),
} satisfies ProviderType<WhatsappCloudSettings>
