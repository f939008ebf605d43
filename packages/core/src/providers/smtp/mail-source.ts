import type { SendMailOptions } from 'nodemailer'
import type { Mail } from '../../contract/outside/mail.ts'
import type { ProviderContext } from '../../contract/outside/provider.ts'
import type { Message } from '../../contract/resources/messages.ts'
import { unsubscribeUrl, withUnsubscribeUrl } from '../../contract/signing/unsubscribe-url.ts'
import { mailMessage } from './mail-message.ts'
import { ownerMessage } from './owner-message.ts'
import { type SmtpSettings, settings } from './settings.ts'

const DOMAIN = 'sandbox.svc'

/** The settings of a mail server that is never called. */
const SANDBOX: SmtpSettings = settings.parse({
  type: 'smtp',
  name: 'sandbox',
  url: 'smtp://127.0.0.1',
  mail_domain: DOMAIN,
  dsn: false,
})

/**
 * The source (RFC 5322) of an e-mail of the sandbox, as the SMTP provider would send it to all its recipients. Its link to
 * unsubscribe works with the secret and the public URL of the service. null if a recipient is no address, such as after an
 * erasure.
 */
export async function messageSource(
  { id, channel, content, created_at, recipient, recipients, sender, workspace_id }: Message,
  context: Pick<ProviderContext, 'public_url' | 'secret'>,
): Promise<Buffer | null> {
  const job = {
    workspace_id,
    message_id: id,
    channel,
    sender,
    recipient,
    content: withUnsubscribeUrl(content, unsubscribeUrl(context, { workspace_id, message_id: id })),
    attempt: 1,
    created_at_ms: created_at.getTime(),
    max_duration_s: null,
    ...(recipients && { recipients: recipients.map((one) => ({ ...one, is_due: true })) }),
  }
  const mail = mailMessage(job, SANDBOX, { ...context, callback_url: '' })
  return mail && source(mail)
}

/** The source of a mail of the service to an owner, as the SMTP provider would send it. */
export async function ownerMailSource(
  mail: Mail & { id: number; at: Date },
  brand: string,
): Promise<Buffer> {
  const id = String(mail.id)
  return source({ ...ownerMessage(mail, { brand, mail_domain: DOMAIN, id }), date: mail.at })
}

async function source(mail: SendMailOptions): Promise<Buffer> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const { message } = await transport.sendMail(mail)
  return message as Buffer
}
