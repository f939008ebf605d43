import type { ProviderType } from '../provider-type.ts'
import { type SmtpSettings, settings } from './settings.ts'

/** E-mail through a mail server. It cannot be asked how a mail fares: bounces tell, where they are taken in. */
export const smtpType = {
  settings,
  traits: ({ resend_unknown, intake, messages_per_second }) => ({
    channels: ['email'],
    senders: {},
    idempotent: resend_unknown,
    lookup: false,
    callback_bytes: null,
    listens: intake !== undefined,
    connected: false,
    messages_per_second: messages_per_second ?? null,
    handles_stop: false,
  }),
  open: async (given, context) => {
    const { openSmtp } = await import('./smtp.ts')
    return openSmtp(given, context)
  },
} satisfies ProviderType<SmtpSettings>
