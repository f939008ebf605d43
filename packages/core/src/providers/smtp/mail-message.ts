import type { SendMailOptions } from 'nodemailer'
import { emailAddress } from '../../contract/fields/email-address.ts'
import type { MessageRef, ProviderContext, SendJob } from '../../contract/outside/provider.ts'
import { EMAIL_HEADERS, type EmailContent } from '../../contract/resources/content.ts'
import { messageToken } from '../../contract/signing/mail-address-token.ts'
import { type MailSender, mailSender } from './mail-sender.ts'
import { isLoopback } from './server-url.ts'
import { bounceDomain, type SmtpSettings } from './settings.ts'

const UNSUBSCRIBE = 'List-Unsubscribe'
const ONE_CLICK = 'List-Unsubscribe-Post'

const NAMES = new Map<string, string>(EMAIL_HEADERS.map((name) => [name.toLowerCase(), name]))

type Headers = Record<string, string>

/** The `Message-ID` of a message with its angle brackets: the same on every attempt. */
export function messageIdOf({ message_id }: MessageRef, { mail_domain }: SmtpSettings): string {
  return `<${message_id}@${mail_domain}>`
}

/**
 * Converts a job to one message for the mail library. Addresses are objects or already checked, so no text is parsed
 * as an address. The envelope is separate, with one recipient. Null if the recipient is not one plain address.
 */
export function mailMessage(
  job: SendJob,
  settings: SmtpSettings,
  context: ProviderContext,
): SendMailOptions | null {
  const recipient = emailAddress(job.recipient)
  if (recipient === null) return null
  const { address } = recipient
  const content = job.content as EmailContent
  const from = mailSender(settings, job)
  return {
    from,
    to: { name: '', address },
    envelope: { from: returnPath(job, from, settings, context), to: [address] },
    ...(settings.dsn && { dsn: dsnOf(job, address) }),
    messageId: messageIdOf(job, settings),
    date: new Date(job.created_at_ms),
    subject: content.subject,
    ...(content.text && { text: content.text }),
    ...(content.html && { html: content.html }),
    ...replyTo(content),
    headers: headersOf(job, content, settings, context),
    ...attached(content),
  }
}

/** The address for failure reports; it identifies the message if the service receives bounces. */
function returnPath(
  ref: MessageRef,
  from: MailSender,
  settings: SmtpSettings,
  { secret }: ProviderContext,
): string {
  const domain = bounceDomain(settings)
  return domain === null ? from.address : `b+${messageToken(secret, 'bounce', ref)}@${domain}`
}

function dsnOf({ message_id }: MessageRef, address: string): NonNullable<SendMailOptions['dsn']> {
  return { id: message_id, return: 'headers', notify: ['failure', 'delay'], recipient: address }
}

function replyTo({ reply_to }: EmailContent): { replyTo?: MailSender } {
  const address = reply_to === undefined ? null : emailAddress(reply_to)
  return address === null ? {} : { replyTo: { name: '', address: address.address } }
}

/** The caller's headers in standard spelling, each once, and a link to unsubscribe. */
function headersOf(
  ref: MessageRef,
  content: EmailContent,
  settings: SmtpSettings,
  context: ProviderContext,
): Headers {
  const headers: Headers = {}
  for (const [any_case, value] of Object.entries(content.headers ?? {})) {
    const name = NAMES.get(any_case.toLowerCase())
    if (name) headers[name] = value
  }
  if (headers[UNSUBSCRIBE] !== undefined) return headers
  // The one-click header needs a `List-Unsubscribe` header with an address.
  delete headers[ONE_CLICK]
  const url = settings.unsubscribe ? unsubscribeUrl(ref, context) : null
  if (url === null) return headers
  return { ...headers, [UNSUBSCRIBE]: `<${url}>`, [ONE_CLICK]: 'List-Unsubscribe=One-Click' }
}

/** Returns null if mailbox providers would not call the public URL: RFC 8058 section 3.1 requires https. */
function unsubscribeUrl(ref: MessageRef, { public_url, secret }: ProviderContext): string | null {
  const { protocol, hostname } = new URL(public_url)
  const isTrial = isLoopback(hostname.replace(/^\[|\]$/g, ''))
  if (protocol !== 'https:' && !isTrial) return null
  return `${public_url}/unsubscribe/${messageToken(secret, 'unsubscribe', ref)}`
}

function attached({ attachments }: EmailContent): Pick<SendMailOptions, 'attachments'> {
  if (attachments === undefined || attachments.length === 0) return {}
  return {
    attachments: attachments.map(({ filename, content, content_type }) => ({
      filename,
      content: Buffer.from(content, 'base64'),
      contentType: content_type ?? 'application/octet-stream',
      contentDisposition: 'attachment',
    })),
  }
}
