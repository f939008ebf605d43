import type { ProviderType } from '../common-settings.ts'
import { type SmtpSettings, settings } from './settings.ts'

/** E-mail through a mail server. There are no look-ups; bounces report failures if the service receives bounces. */
export const smtpType = {
  settings,
  traits: ({ resend_unknown, intake, messages_per_second, connections, unsubscribe }) => ({
    channels: ['email'],
    senders: {},
    idempotent: resend_unknown,
    lookup: false,
    callback_bytes: null,
    listens: intake !== undefined,
    connected: false,
    messages_per_second: messages_per_second ?? null,
    handles_stop: false,
    signs: true,
    several_recipients: true,
    one_click: unsubscribe,
    connections,
  }),
  packages: ({ intake }) =>
    intake ? ['nodemailer', 'smtp-server', 'postal-mime'] : ['nodemailer'],
  open: async (settings, context) => (await import('./smtp.ts')).openSmtp(settings, context),
} satisfies ProviderType<SmtpSettings>
