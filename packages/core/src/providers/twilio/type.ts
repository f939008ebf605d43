import { LIMITS } from '../../contract/limits.ts'
import { CONNECTIONS, type ProviderType } from '../common-settings.ts'
import { CONTENT_SID, checksApprovals, settings, type TwilioSettings } from './settings.ts'

/** Text messages, WhatsApp and calls through an account at Twilio. */
export const twilioType = {
  settings,
  traits: ({ senders, messages_per_second, handles_stop, content_sids = {}, check_approvals }) => ({
    channels: (['sms', 'whatsapp', 'voice'] as const).filter(
      (channel) => senders[channel] !== undefined,
    ),
    senders: {
      ...(senders.sms && { sms: senders.sms }),
      ...(senders.whatsapp && { whatsapp: senders.whatsapp }),
      ...(senders.voice && { voice: senders.voice }),
    },
    // The API has no idempotency key.
    idempotent: false,
    lookup: true,
    callback_bytes: LIMITS.callback_body_bytes,
    listens: false,
    connected: false,
    messages_per_second: messages_per_second ?? null,
    handles_stop: handles_stop ?? true,
    connections: CONNECTIONS,
    ...(senders.whatsapp && {
      known_templates: { names: Object.keys(content_sids), id_form: CONTENT_SID },
      ...(checksApprovals({ senders, check_approvals }) && { lists_templates: true }),
    }),
  }),
  packages: () => ['twilio'],
  open: async (settings, context) => (await import('./twilio.ts')).createTwilio(settings, context),
} satisfies ProviderType<TwilioSettings>
