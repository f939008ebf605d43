import { formatCredits, type Units, withUnit } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Mail } from '../contract/outside/mail.ts'

/** The name of the service in mails, and the recipient. */
export interface Envelope {
  brand: string
  to: string
}

/** The mail to verify an address. It contains no text of the signup, because such a text could be a message to strangers. */
export function verifyMail(envelope: Envelope, link: string): Mail {
  return mailOf(envelope, 'verify_email', {
    subject: 'Verify your e-mail address',
    paragraphs: [
      'A workspace was created with this e-mail address. If it was you, verify the address:',
    ],
    action: { label: 'Verify the address', link },
    notes: [
      `The link works once, for ${LIMITS.verify_token_lifetime_s / 3600} hours. If it was not you, there is nothing to do.`,
      'Verifying revokes the API keys and disables the webhooks that were created before.',
    ],
  })
}

/** The mail to choose a new password. */
export function resetMail(envelope: Envelope, link: string): Mail {
  return mailOf(envelope, 'reset_password', {
    subject: 'Reset your password',
    paragraphs: [
      'A new password was requested for the workspace with this e-mail address. If it was you, choose one:',
    ],
    action: { label: 'Choose a new password', link },
    notes: [
      `The link works once, for ${LIMITS.reset_token_lifetime_s / 60} minutes. If it was not you, there is nothing to do: the password does not change.`,
      'If the address is not verified yet, a new password verifies it, revokes the API keys and disables the webhooks that were created before.',
    ],
  })
}

/**
 * The mail to an invited person. It has no name of the workspace or the inviting person, because such a text could be a
 * message to strangers; the address of the owner is verified.
 */
export function invitationMail(envelope: Envelope, link: string, owner_email: string): Mail {
  return mailOf(envelope, 'invitation', {
    subject: 'You were invited to a workspace',
    paragraphs: [
      `The workspace of ${owner_email} invites you to work in it. To see the invitation:`,
    ],
    action: { label: 'See the invitation', link },
    notes: [
      `The link works once, for ${LIMITS.invitation_lifetime_s / 86_400} days. If you do not know the sender, there is nothing to do.`,
    ],
  })
}

/** The mail about credits below the threshold. `link`: where more are bought; null for none. */
export function lowBalanceMail(
  envelope: Envelope,
  { available, threshold }: { available: Units; threshold: Units },
  link: string | null,
): Mail {
  return mailOf(envelope, 'low_balance', {
    subject: 'Your credits are running low',
    paragraphs: [
      `Your workspace has ${withUnit(available)} left, less than its threshold of ${formatCredits(threshold)}. Once they are used up, messages are refused.`,
    ],
    action: link === null ? undefined : { label: 'Add credits', link },
    notes: [
      'You get the next mail like this when credits were added and fell below the threshold again, at most one an hour. PUT /api/v1/account with low_balance sets another threshold; null turns these mails off.',
    ],
  })
}

/** The mail about a frozen workspace, with the reason and what to do. `link`: where its API keys are revoked; null for none. */
export function frozenMail(
  envelope: Envelope,
  { numbers, window_s }: { numbers: number; window_s: number },
  link: string | null,
): Mail {
  return mailOf(envelope, 'account_frozen', {
    subject: 'Your workspace was frozen',
    paragraphs: [
      `Your workspace was frozen: within ${window_s} seconds it tried to send messages to ${numbers} numbers that follow one another. That is a sign of fraud with a stolen API key. New messages are refused and not charged; messages accepted before are still sent.`,
      'If it was not you: revoke the API key of these messages (GET /api/v1/messages lists them), and create a new one.',
      'If it was you: say so when you ask for help. In both cases, the operator of the service lifts the freeze.',
    ],
    action: link === null ? undefined : { label: 'See the API keys', link },
    notes: [],
  })
}

/** A webhook in a mail about failures. */
export interface TroubledWebhook {
  url: string
  failing_since: Date | null
  consecutive_failures: number
  /** Why the service disabled it; null while it only fails. */
  disabled_reason: string | null
}

/** The number of webhooks that a mail describes; it counts the others. */
const WEBHOOKS_SHOWN = 10

/**
 * The mail about webhooks that fail or were disabled. It names hosts only, because the rest of an address may be a secret.
 * `link`: the page of the webhook, or of all webhooks if there are several; null for none.
 */
export function webhookMail(
  envelope: Envelope,
  webhooks: readonly TroubledWebhook[],
  link: string | null,
): Mail {
  const more = webhooks.length - WEBHOOKS_SHOWN
  return mailOf(envelope, 'webhook_failure', {
    subject: subjectOf(webhooks),
    paragraphs: [
      ...webhooks.slice(0, WEBHOOKS_SHOWN).map(troubleOf),
      ...(more > 0 ? [`And ${more} more.`] : []),
    ],
    action:
      link === null
        ? undefined
        : { label: webhooks.length > 1 ? 'See the webhooks' : 'See the webhook', link },
    notes: [
      `While a webhook fails, its deliveries are tried again on their schedule; without a success for five days it is disabled. After you enable a disabled webhook, ${link === null ? 'POST /api/v1/webhooks/:id/recover' : 'Recover on its page'} sends the missed deliveries again.`,
      `You get one mail when a webhook begins to fail and one when it is disabled, at most one mail an hour. To turn these mails off, ${link === null ? 'send PUT /api/v1/account with webhook_mails false' : 'open Settings in the console, then Mails to the owner'}.`,
    ],
  })
}

function subjectOf(webhooks: readonly TroubledWebhook[]): string {
  const disabled = webhooks.filter(({ disabled_reason }) => disabled_reason !== null).length
  const failing = webhooks.length - disabled
  if (disabled === 0) return failing === 1 ? 'A webhook fails' : `${failing} webhooks fail`
  if (failing > 0) return `Webhooks: ${disabled} disabled, ${failing} failing`
  return disabled === 1 ? 'A webhook was disabled' : `${disabled} webhooks were disabled`
}

const DISABLED_BECAUSE: Readonly<Record<string, string>> = {
  gone: 'it answered 410 Gone',
  failing: 'no delivery succeeded for five days',
}

function troubleOf(webhook: TroubledWebhook): string {
  const { url, failing_since, consecutive_failures, disabled_reason } = webhook
  const { host } = new URL(url)
  if (disabled_reason !== null) {
    const reason = DISABLED_BECAUSE[disabled_reason] ?? disabled_reason
    return `The webhook to ${host} was disabled: ${reason}. It gets no more events until you enable it.`
  }
  const since = failing_since?.toISOString().slice(0, 16).replace('T', ' ')
  return `No delivery to ${host} succeeded since ${since} UTC: ${consecutive_failures} attempts in a row failed.`
}

function mailOf({ brand, to }: Envelope, kind: Mail['kind'], letter: Letter): Mail {
  const { action } = letter
  return { to, kind, ...(action && { link: action.link }), ...compose(brand, letter) }
}

/** The content of a mail to an owner, member or invited person, as plain texts. */
interface Letter {
  subject: string
  /** The paragraphs before the button. */
  paragraphs: readonly string[]
  /** A button, and the same link in words for programs that show no button. */
  action?: { label: string; link: string } | undefined
  /** Paragraphs in small type after the button. */
  notes: readonly string[]
}

/** Colours for light screens. Mail programs that ignore the style element keep them. */
const LIGHT = {
  page: '#f4f5f7',
  card: '#ffffff',
  line: '#e1e4ea',
  text: '#16181d',
  quiet: '#5b6270',
  action: '#1d4ed8',
} as const

/** Mail programs without support for media queries show the light colours, which are complete. */
const STYLE = `:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
.page { background-color: #0f1115 !important; }
.card { background-color: #181b21 !important; border-color: #2b303a !important; }
.text { color: #eceef2 !important; }
.quiet, .quiet a { color: #a2a9b7 !important; }
.action { background-color: #2f66e8 !important; }
}
@media (max-width: 480px) {
.page { padding: 16px 8px !important; }
.card { padding: 24px 20px !important; }
}`

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

/**
 * The text part and the HTML part of a letter. Both parts say the same. The HTML part escapes every text, loads nothing from
 * another host, and uses a table with inline styles, because mail programs ignore newer layouts.
 */
export function compose(
  brand: string,
  { subject, paragraphs, action, notes }: Letter,
): Pick<Mail, 'subject' | 'text' | 'html'> {
  const parts = [...paragraphs, ...(action ? [action.link] : []), ...notes]
  const text = `${parts.join('\n\n')}\n\n-- \n${brand}\n`
  return { subject, text, html: htmlOf(brand, { subject, paragraphs, action, notes }) }
}

function htmlOf(brand: string, { subject, paragraphs, action, notes }: Letter): string {
  const rows = [
    `<h1 class="text" style="margin:0 0 16px;${FONT};font-size:21px;line-height:1.3;font-weight:650;color:${LIGHT.text}">${escaped(subject)}</h1>`,
    ...paragraphs.map(
      (text) =>
        `<p class="text" style="margin:0 0 16px;${FONT};font-size:16px;line-height:1.5;color:${LIGHT.text}">${escaped(text)}</p>`,
    ),
    ...(action ? [button(action)] : []),
    ...notes.map(
      (text) =>
        `<p class="quiet" style="margin:16px 0 0;${FONT};font-size:14px;line-height:1.5;color:${LIGHT.quiet}">${escaped(text)}</p>`,
    ),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escaped(subject)}</title>
<style>${STYLE}</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:${LIGHT.page}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="page" align="center" style="padding:32px 16px;background-color:${LIGHT.page}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px"><tr>
<td class="quiet" style="padding:0 4px 12px;${FONT};font-size:15px;font-weight:600;color:${LIGHT.quiet}">${escaped(brand)}</td>
</tr><tr>
<td class="card" style="padding:32px;background-color:${LIGHT.card};border:1px solid ${LIGHT.line};border-radius:12px">
${rows.join('\n')}
</td>
</tr></table>
</td>
</tr></table>
</body>
</html>
`
}

function button({ label, link }: { label: string; link: string }): string {
  const href = escaped(link)
  return `<p style="margin:24px 0"><a href="${href}" class="action" style="display:inline-block;padding:12px 20px;border-radius:8px;background-color:${LIGHT.action};${FONT};font-size:16px;font-weight:600;line-height:1.25;color:#ffffff;text-decoration:none">${escaped(label)}</a></p>
<p class="quiet" style="margin:0;${FONT};font-size:14px;line-height:1.5;color:${LIGHT.quiet};word-break:break-all">Or open this address: <a href="${href}" style="color:${LIGHT.quiet}">${href}</a></p>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '"': '&quot;',
  "'": '&#39;',
  '<': '&lt;',
  '>': '&gt;',
}

function escaped(text: string): string {
  return text.replace(/[&"'<>]/g, (character) => ENTITIES[character] ?? '')
}
