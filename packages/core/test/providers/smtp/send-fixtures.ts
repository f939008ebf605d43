import type { ProviderContext, SendJob } from '../../../src/contract/outside/provider.ts'
import type { EmailContent } from '../../../src/contract/resources/content.ts'
import { type SmtpSettings, settings } from '../../../src/providers/smtp/settings.ts'

export const WORKSPACE = '0193b3a0-1111-7111-8111-111111111111'
export const OTHER_WORKSPACE = '0193b3a0-1111-7111-8111-111111111112'
export const MESSAGE = '0193b3a0-2222-7222-8222-222222222222'

export const context: ProviderContext = {
  public_url: 'https://svc.example',
  callback_url: 'https://svc.example/callbacks/smtp',
  secret: 'canary-secret-of-the-service',
}

/** Settings of an operator, parsed as the service does. */
export function smtpSettings(more: Partial<Record<keyof SmtpSettings, unknown>>): SmtpSettings {
  return settings.parse({ type: 'smtp', name: 'smtp', mail_domain: 'mail.example', ...more })
}

export const CONTENT = 'canary-content'

/** A job with these differences. */
export function smtpJob({
  content,
  ...more
}: Partial<Omit<SendJob, 'content'>> & { content?: Partial<EmailContent> } = {}): SendJob {
  return {
    workspace_id: WORKSPACE,
    message_id: MESSAGE,
    channel: 'email',
    sender: null,
    recipient: 'asha@rcpt.example',
    content: { subject: CONTENT, text: CONTENT, ...content },
    attempt: 1,
    created_at_ms: Date.UTC(2026, 4, 4, 9, 30, 5),
    max_duration_s: null,
    ...more,
  }
}
