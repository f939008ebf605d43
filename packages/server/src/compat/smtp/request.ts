import {
  emailAddress,
  emailHeaderName,
  emailKey,
  fileTypeOf,
  LargeFile,
  LIMITS,
} from '@svc/core/contract'
import type { ReadAttachment, ReadMail } from './read-mail.ts'
import { refusal } from './reply.ts'

/** The recipients of a mail: addresses, or one number for an SMS. */
export type Recipients = { email: string[] } | { sms: string }

/** The recipient of one RCPT command. */
export type Recipient = { email: string } | { sms: string }

/** The domains of the service. */
export interface InletDomains {
  /** `+14155550100@<sms_domain>` is an SMS. */
  sms_domain: string
  /** The domains of the service's own senders: an address there is not passed as the sender. */
  mail_domains: readonly string[]
}

/** The send that a mail asks for, as JSON that is not checked yet. */
interface MailRequest {
  body: Record<string, unknown>
  idempotency_key: string | undefined
}

const NO_SUBJECT = '(no subject)'
/** Larger files are no texts. */
const BASE64_HERE_MAX = 48 * 1024
const OCTETS = 'application/octet-stream'
const PATH_OR_CONTROL = /[/\\\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const NOT_IN_NAMES = /[\p{Cc}\p{Zl}\p{Zp}<>@\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Reads the address of a RCPT command; null for one that gets no message. */
export function recipientOf(
  address: string,
  { sms_domain }: Pick<InletDomains, 'sms_domain'>,
): Recipient | null {
  const at = address.lastIndexOf('@')
  if (address.slice(at + 1).toLowerCase() === sms_domain) {
    const number = address.slice(0, at)
    return /^\+[1-9]\d{1,14}$/.test(number) ? { sms: number } : null
  }
  const read = emailAddress(address)
  return read && { email: read.address }
}

/** The send for a mail. @throws Refusal for a mail that is no message. */
export function requestOf(
  mail: ReadMail,
  recipients: Recipients,
  domains: InletDomains,
): MailRequest {
  const idempotency_key = mail.own['x-svc-idempotency-key']
  const scheduled_at = mail.own['x-svc-scheduled-at']
  const metadata = metadataOf(mail, idempotency_key !== undefined)
  const options = {
    ...(metadata && { metadata }),
    ...(scheduled_at !== undefined && { scheduled_at }),
  }
  const template = templateOf(mail)
  const message =
    'email' in recipients
      ? emailOf(mail, recipients.email, { domains, template })
      : template
        ? { channel: 'sms', to: recipients.sms, template }
        : smsOf(mail, recipients.sms)
  return { body: { ...message, ...options }, idempotency_key }
}

function smsOf({ text = '' }: ReadMail, number: string): Record<string, unknown> {
  const sent = text.trim()
  if (sent === '') throw refusal('554 5.6.0', 'A mail to a phone number must have a text part')
  return { channel: 'sms', to: number, content: { text: sent } }
}

function emailOf(
  mail: ReadMail,
  recipients: readonly string[],
  { domains: { mail_domains }, template }: { domains: InletDomains; template: object | undefined },
): Record<string, unknown> {
  const { subject, html, text, from, reply_to, attachments } = mail
  const { to, cc, bcc } = rolesOf(mail, recipients)
  const headers = safeHeaders(mail.headers)
  const sender = from.address ? emailAddress(from.address) : null
  if (from.address && !sender) throw refusal('550 5.1.7', 'From is not an e-mail address')
  const isOwn = sender !== null && mail_domains.includes(sender.domain)
  const name = NOT_IN_NAMES.test(from.name) ? '' : from.name.slice(0, LIMITS.sender_name_length)
  return {
    channel: 'email',
    to: to.length === 1 ? to[0] : to,
    ...(name && { from: name }),
    ...(template && { template }),
    content: {
      ...(!template && {
        subject: subject || NO_SUBJECT,
        ...(html && { html }),
        ...(text && { text }),
      }),
      ...(sender && !isOwn && { from_address: sender.address }),
      ...(reply_to.length > 0 && { reply_to: reply_to.length === 1 ? reply_to[0] : reply_to }),
      ...(cc.length > 0 && { cc }),
      ...(bcc.length > 0 && { bcc }),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(attachments.length > 0 && { attachments: attachments.map(fileOf) }),
    },
  }
}

/**
 * How the mail names each recipient of the envelope. A recipient that no header names gets a hidden copy. The only
 * recipient is always `to`.
 */
function rolesOf(mail: ReadMail, recipients: readonly string[]) {
  if (recipients.length === 1) return { to: [...recipients], cc: [], bcc: [] }
  const inTo = new Set(mail.to.map(emailKey))
  const inCc = new Set(mail.cc.map(emailKey))
  const to = recipients.filter((one) => inTo.has(emailKey(one)))
  const others = recipients.filter((one) => !inTo.has(emailKey(one)))
  const cc = others.filter((one) => inCc.has(emailKey(one)))
  const bcc = others.filter((one) => !inCc.has(emailKey(one)))
  if (to.length > 0) return { to, cc, bcc }
  if (cc.length > 0) return { to: cc, cc: [], bcc }
  // A message needs a named recipient, and naming a hidden one would show it to the others.
  throw refusal(
    '550 5.1.3',
    'To or Cc must name one of the recipients, or each needs a mail of its own',
  )
}

function safeHeaders(all: readonly [name: string, value: string][]): Record<string, string> {
  const safe = new Map<string, string>()
  for (const [name, value] of all) {
    if (safe.size === LIMITS.email_headers) break
    const known = emailHeaderName(name)
    const isSent = value !== '' && value.length <= LIMITS.email_header_length
    if (known !== null && isSent && !safe.has(known)) safe.set(known, value)
  }
  return Object.fromEntries(safe)
}

function fileOf(file: ReadAttachment, index: number): Record<string, unknown> {
  const { content_type, content_id, content } = file
  // The name is in `filename`, and a boundary has a meaning in composite types only.
  const { name: _, boundary: __, ...parameters } = file.parameters
  const plain = (file.filename ?? '')
    .replace(PATH_OR_CONTROL, '_')
    .slice(-LIMITS.email_filename_length)
  const filename = /^\.{0,2}$/.test(plain) ? nameFor(content_type, index) : plain
  return {
    filename,
    content_type: fileTypeOf(content_type, parameters) ?? OCTETS,
    ...(content_id && { content_id }),
    content:
      content.length > BASE64_HERE_MAX
        ? LargeFile.ofBytes(content)
        : Buffer.from(content).toString('base64'),
  }
}

/** The name of a file without a name. */
function nameFor(content_type: string, index: number): string {
  const ending = { 'message/rfc822': '.eml', 'text/calendar': '.ics' }[content_type] ?? ''
  return `attachment-${index + 1}${ending}`
}

/** The stored template that takes the place of the mail's subject and texts: a name, or a JSON object. */
function templateOf({ own }: ReadMail): object | undefined {
  const text = own['x-svc-template']?.trim()
  if (text === undefined) return undefined
  return text.startsWith('{') ? objectIn('X-Svc-Template', text) : { name: text }
}

/** The caller's metadata and the mail's `Message-ID`. */
function metadataOf(mail: ReadMail, isRepeatable: boolean): object | undefined {
  const text = mail.own['x-svc-metadata']
  const { message_id } = mail
  // Clients make a new Message-ID for each attempt, and a repeated send must be the same.
  const id = message_id && !isRepeatable ? { smtp_message_id: message_id.slice(0, 255) } : undefined
  if (text === undefined) return id
  const metadata = objectIn('X-Svc-Metadata', text)
  const isFull = Object.keys(metadata).length >= LIMITS.metadata_keys
  return isFull || !id ? metadata : { ...id, ...metadata }
}

/** @throws Refusal for a header that is no JSON object. */
function objectIn(header: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The refusal below names the header.
  }
  throw refusal('554 5.6.0', `${header} must be a JSON object`)
}
