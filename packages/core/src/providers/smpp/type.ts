import type { ProviderType } from '../common-settings.ts'
import { type SmppSettings, settings } from './settings.ts'

/** Accounts at SMSCs and aggregators that speak SMPP 3.4. */
export const smppType = {
  settings,
  traits: ({ senders, messages_per_second, handles_stop }) => ({
    channels: ['sms'],
    senders: senders ? { sms: senders } : {},
    idempotent: false,
    lookup: false,
    callback_bytes: null,
    listens: true,
    connected: true,
    messages_per_second: messages_per_second ?? null,
    handles_stop,
  }),
  open: async (own, { may_start }) => (await import('./smpp.ts')).createSmpp(own, { may_start }),
} satisfies ProviderType<SmppSettings>
