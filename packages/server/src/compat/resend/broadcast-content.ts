import { type EmailContent, invalid } from '@svc/core/contract'
import { escapeHtml } from '../../pages/plain-page.ts'
import { type Mailbox, withoutAbsent } from './fields.ts'

/** The e-mail of a broadcast in the fields of Resend. */
export interface ResendMail {
  from: Mailbox
  subject?: string | undefined
  html?: string | undefined
  text?: string | undefined
  reply_to?: string[] | undefined
  preview_text?: string | undefined
}

/** @throws SvcError `validation_error` for a preview text without HTML. */
export function toContent({ from, subject, html, text, reply_to, preview_text }: ResendMail) {
  if (preview_text && html === undefined) {
    throw invalid('preview_text', 'The `preview_text` field needs `html`.')
  }
  return withoutAbsent({
    subject: subject && toPlaceholders(subject),
    html: html && toPlaceholders(preview_text ? withPreview(html, preview_text) : html),
    text: text && toPlaceholders(text),
    from_address: from.address,
    reply_to,
  }) as Partial<EmailContent>
}

/** The fields of Resend, with null for absent ones; `from` is the address. */
export function fromContent({ subject, html, text, from_address, reply_to }: EmailContent) {
  const mail = html === undefined ? { html: null, preview_text: null } : withoutPreview(html)
  return {
    subject: fromPlaceholders(subject),
    html: mail.html && fromPlaceholders(mail.html),
    text: text === undefined ? null : fromPlaceholders(text),
    from: from_address ?? null,
    reply_to: typeof reply_to === 'string' ? [reply_to] : (reply_to ?? null),
    preview_text: mail.preview_text && fromPlaceholders(mail.preview_text),
  }
}

/** The hidden beginning of an e-mail, which lists show beside the subject. */
const PREVIEW = '<div data-preview-text style="display:none">'
const PREVIEW_END = '</div>'

function withPreview(html: string, preview: string): string {
  const body = html.search(/<body[\s>]/i)
  const at = body === -1 ? 0 : html.indexOf('>', body) + 1
  return `${html.slice(0, at)}${PREVIEW}${escapeHtml(preview)}${PREVIEW_END}${html.slice(at)}`
}

function withoutPreview(html: string): { html: string; preview_text: string | null } {
  const at = html.indexOf(PREVIEW)
  const end = at === -1 ? -1 : html.indexOf(PREVIEW_END, at)
  if (end === -1) return { html, preview_text: null }
  const escaped = html.slice(at + PREVIEW.length, end)
  const rest = html.slice(0, at) + html.slice(end + PREVIEW_END.length)
  return { html: rest, preview_text: escaped.replace(/&(?:amp|lt|gt|quot|#39);/g, plainOf) }
}

function plainOf(escaped: string): string {
  return [...`&<>"'`].find((one) => escapeHtml(one) === escaped) ?? escaped
}

/** Resend's names of what each contact has. */
const CONTACT = 'contact.'
const CONTACT_EMAIL = 'contact.email'
const OWN_NAMES = new Map([
  [CONTACT_EMAIL, 'email'],
  ['FIRST_NAME', 'first_name'],
  ['LAST_NAME', 'last_name'],
  ['EMAIL', 'email'],
])
const RESEND_NAMES = new Map([...OWN_NAMES].map(([resend, own]) => [own, resend]))
const ATTRIBUTES = 'attributes.'
const LINK = '{{unsubscribe_url}}'
const RESEND_LINK = '{{{RESEND_UNSUBSCRIBE_URL}}}'

/** Without a fallback, Resend leaves the place empty; here the contact would get no message. */
function toPlaceholders(text: string): string {
  return text
    .replaceAll(RESEND_LINK, LINK)
    .replace(/\{\{\{([^{}]*)\}\}\}/g, (_, inside: string) => {
      const [name, fallback = ''] = namedIn(inside)
      const isProperty = name.startsWith(CONTACT) && name !== CONTACT_EMAIL
      const own = isProperty
        ? ATTRIBUTES + name.slice(CONTACT.length)
        : (OWN_NAMES.get(name) ?? name)
      return `{{${own}|${fallback}}}`
    })
}

/** A text with the placeholders of Resend. */
export function fromPlaceholders(text: string): string {
  return text.replaceAll(LINK, RESEND_LINK).replace(/\{\{([^{}]*)\}\}/g, (all, inside: string) => {
    const [own, fallback] = namedIn(inside)
    if (fallback === undefined) return all
    const name = own.startsWith(ATTRIBUTES)
      ? CONTACT + own.slice(ATTRIBUTES.length)
      : (RESEND_NAMES.get(own) ?? own)
    return `{{{${name}${fallback === '' ? '' : `|${fallback}`}}}}`
  })
}

/** The name of a placeholder and its fallback. */
function namedIn(inside: string): [name: string, fallback?: string] {
  const bar = inside.indexOf('|')
  return bar === -1 ? [inside.trim()] : [inside.slice(0, bar).trim(), inside.slice(bar + 1)]
}
