import { formatCredits, type Units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Mail } from '../contract/outside/mail.ts'

interface Wording {
  subject: string
  /** The purpose of the link. */
  request: string
  button: string
  note: string
}

const VERIFY: Wording = {
  subject: 'Verify your e-mail address',
  request: 'A workspace was created with this e-mail address. If it was you, verify the address:',
  button: 'Verify the address',
  note: `The link works once, for ${LIMITS.verify_token_lifetime_s / 3600} hours. If it was not you, there is nothing to do. Verifying revokes the API keys and disables the webhooks that were created before.`,
}

const RESET: Wording = {
  subject: 'Reset your password',
  request:
    'A new password was requested for the workspace with this e-mail address. If it was you, choose one:',
  button: 'Choose a new password',
  note: `The link works once, for ${LIMITS.reset_token_lifetime_s / 60} minutes. If it was not you, there is nothing to do: the password does not change. If the address is not verified yet, a new password verifies it, revokes the API keys and disables the webhooks that were created before.`,
}

/** The mail to verify an address. It contains no text of the signup, because such a text could be a message to strangers. */
export function verifyMail(to: string, link: string): Mail {
  return { to, kind: 'verify_email', link, ...write(VERIFY, link) }
}

/** The mail to choose a new password. */
export function resetMail(to: string, link: string): Mail {
  return { to, kind: 'reset_password', link, ...write(RESET, link) }
}

/**
 * The mail to an invited person. It has no name of the workspace or the inviting person, because such a text could be a
 * message to strangers; the address of the owner is verified.
 */
export function invitationMail(to: string, link: string, owner_email: string): Mail {
  const wording: Wording = {
    subject: 'You were invited to a workspace',
    request: `The workspace of ${escaped(owner_email)} invites you to work in it. To see the invitation:`,
    button: 'See the invitation',
    note: `The link works once, for ${LIMITS.invitation_lifetime_s / 86_400} days. If you do not know the sender, there is nothing to do.`,
  }
  const { html, ...rest } = write(wording, link)
  const text = rest.text.replace(escaped(owner_email), () => owner_email)
  return { to, kind: 'invitation', link, ...rest, html, text }
}

/** The mail about credits below the threshold. */
export function lowBalanceMail(
  to: string,
  { available, threshold }: { available: Units; threshold: Units },
): Mail {
  const news = `Your workspace has ${formatCredits(available)} credits left, less than its threshold of ${formatCredits(threshold)}. Once they are used up, messages are refused.`
  const note =
    'You get the next mail like this when credits were added and fell below the threshold again, at most one an hour. PUT /api/v1/account with low_balance sets another threshold; null turns these mails off.'
  return {
    to,
    kind: 'low_balance',
    subject: 'Your credits are running low',
    text: `${news}\n\n${note}\n`,
    html: page(`<p>${news}</p>\n<p>${note}</p>`),
  }
}

/** The mail about a frozen workspace, with the reason and what to do. */
export function frozenMail(
  to: string,
  { numbers, window_s }: { numbers: number; window_s: number },
): Mail {
  const news = `Your workspace was frozen: within ${window_s} seconds it tried to send messages to ${numbers} numbers that follow one another. That is a sign of fraud with a stolen API key. New messages are refused and not charged; messages accepted before are still sent.`
  const note =
    'If it was not you: revoke the API key of these messages (GET /api/v1/messages lists them), and create a new one. If it was you: say so when you ask for help. In both cases, the operator of the service lifts the freeze.'
  return {
    to,
    kind: 'account_frozen',
    subject: 'Your workspace was frozen',
    text: `${news}\n\n${note}\n`,
    html: page(`<p>${news}</p>\n<p>${note}</p>`),
  }
}

function write({ subject, request, button, note }: Wording, link: string) {
  const href = escaped(link)
  return {
    subject,
    text: `${request}\n\n${link}\n\n${note}\n`,
    html: page(`<p>${request}</p>
<p><a href="${href}">${button}</a></p>
<p>Or open this address: ${href}</p>
<p>${note}</p>`),
  }
}

function page(body: string): string {
  return `<!doctype html>
<html lang="en"><body style="font-family:sans-serif;line-height:1.5">
${body}
</body></html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
