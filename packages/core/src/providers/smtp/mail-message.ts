import type { SendMailOptions } from 'nodemailer'
import { emailAddress } from '../../contract/fields/email-address.ts'
import type { MessageRef, ProviderContext, SendJob } from '../../contract/outside/provider.ts'
import type { EmailContent } from '../../contract/resources/content.ts'
import { headerName } from '../../contract/resources/email-headers.ts'
import { messageToken } from '../../contract/signing/mail-address-token.ts'
import { takesOneClick, unsubscribeUrl } from '../../contract/signing/unsubscribe-url.ts'
import { dkimOptions } from './dkim-options.ts'
import { type MailSender, mailSender } from './mail-sender.ts'
import { bounceDomain, type SmtpSettings } from './settings.ts'

const UNSUBSCRIBE = 'List-Unsubscribe'
const ONE_CLICK = 'List-Unsubscribe-Post'

type Headers = Record<string, string>

/** The `Message-ID` of a message with its angle brackets: the same on every attempt. */
export function messageIdOf({ message_id }: MessageRef, { mail_domain }: SmtpSettings): string {
  return `<${message_id}@${mail_domain}>`
}

/**
 * Converts a job to one message for the mail library. Addresses are objects or already checked, so no text is parsed
 * as an address. The envelope is separate: it has the recipients that are due, also those of blind copies, which the
 * headers do not name. Null if a recipient is not one plain address, or no recipient is due.
 */
export function mailMessage(
  job: SendJob,
  settings: SmtpSettings,
  context: ProviderContext,
): SendMailOptions | null {
  const addresses = addressesOf(job)
  if (addresses === null) return null
  const { envelope, to, cc } = addresses
  const content = job.content as EmailContent
  const from = mailSender(settings, job, content.from_address)
  return {
    from,
    to,
    ...(cc.length > 0 && { cc }),
    envelope: { from: returnPath(job, settings, context), to: envelope },
    ...(job.dkim && { dkim: dkimOptions(job.dkim) }),
    ...(settings.dsn && { dsn: dsnOf(job) }),
    messageId: messageIdOf(job, settings),
    date: new Date(job.created_at_ms),
    subject: content.subject,
    ...(content.text && { text: withLineEnds(content.text) }),
    ...(content.html && { html: withLineEnds(content.html) }),
    ...replyTo(content),
    headers: headersOf(job, content, settings, context),
    ...attached(content),
  }
}

/**
 * The text with CRLF in place of each bare CR and LF: a server on the way may change a bare CR, and the signature would no
 * longer hold. Source: RFC 6376, section 5.3; RFC 5322, section 2.3.
 */
export function withLineEnds(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}

/**
 * The address for failure reports; it identifies the message if the service receives bounces. It is always at a domain of
 * the service, also for a mail from a sending domain, so that SPF holds without a record of that domain.
 */
function returnPath(job: SendJob, settings: SmtpSettings, { secret }: ProviderContext): string {
  const domain = bounceDomain(settings)
  return domain === null
    ? mailSender(settings, job).address
    : `b+${messageToken(secret, 'bounce', job)}@${domain}`
}

interface Addresses {
  envelope: string[]
  to: MailSender[]
  cc: MailSender[]
}

function addressesOf({ recipient, recipients }: SendJob): Addresses | null {
  const all = recipients ?? [{ address: recipient, role: 'to', is_due: true }]
  const found: Addresses = { envelope: [], to: [], cc: [] }
  for (const { address: text, role, is_due } of all) {
    const address = emailAddress(text)?.address
    if (address === undefined) return null
    if (is_due) found.envelope.push(address)
    if (role !== 'bcc') found[role].push({ name: '', address })
  }
  return found.envelope.length === 0 ? null : found
}

/** The library writes one original recipient (ORCPT) for all recipients, so several get none. */
function dsnOf({
  message_id,
  recipient,
  recipients,
}: SendJob): NonNullable<SendMailOptions['dsn']> {
  const dsn = { id: message_id, return: 'headers' as const, notify: NOTIFY }
  const original = recipients ? null : emailAddress(recipient)
  return original ? { ...dsn, recipient: original.address } : dsn
}

const NOTIFY: ('failure' | 'delay')[] = ['failure', 'delay']

function replyTo({ reply_to = [] }: EmailContent): { replyTo?: MailSender[] } {
  const addresses = [reply_to].flat().flatMap((text) => emailAddress(text)?.address ?? [])
  return addresses.length === 0
    ? {}
    : { replyTo: addresses.map((address) => ({ name: '', address })) }
}

/**
 * The caller's headers, each once, and a link to unsubscribe. A mail with several recipients has no link: all of them read
 * the same link, so a click would not show which recipient made it.
 */
function headersOf(
  ref: SendJob,
  content: EmailContent,
  settings: SmtpSettings,
  context: ProviderContext,
): Headers {
  const byName = new Map<string, [string, string]>()
  for (const [any_case, value] of Object.entries(content.headers ?? {})) {
    const name = headerName(any_case)
    if (name !== null) byName.set(name.toLowerCase(), [name, value])
  }
  const headers: Headers = Object.fromEntries(byName.values())
  if (headers[UNSUBSCRIBE] !== undefined) return headers
  // The one-click header needs a `List-Unsubscribe` header with an address.
  delete headers[ONE_CLICK]
  if (!settings.unsubscribe || ref.recipients || !takesOneClick(context.public_url)) return headers
  const url = unsubscribeUrl(context, ref)
  return { ...headers, [UNSUBSCRIBE]: `<${url}>`, [ONE_CLICK]: 'List-Unsubscribe=One-Click' }
}

function attached({ attachments }: EmailContent): Pick<SendMailOptions, 'attachments'> {
  if (attachments === undefined || attachments.length === 0) return {}
  return {
    attachments: attachments.map(({ filename, content, content_type, content_id }) => ({
      filename,
      content: Buffer.from(content, 'base64'),
      contentType: content_type ?? 'application/octet-stream',
      contentDisposition: content_id === undefined ? 'attachment' : 'inline',
      ...(content_id !== undefined && { cid: content_id }),
    })),
  }
}
