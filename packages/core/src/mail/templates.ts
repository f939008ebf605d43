import { formatCredits, type Units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Mail } from '../contract/outside/mail.ts'

interface Wording {
  subject: string
  /** What the link is for. */
  ask: string
  button: string
  /** What to know besides. */
  note: string
}

const VERIFY: Wording = {
  subject: 'Verify your e-mail address',
  ask: 'Somebody signed up with this e-mail address. If it was you, verify it:',
  button: 'Verify the address',
  note: `The link works once, for ${LIMITS.verify_token_lifetime_s / 3600} hours. If it was not you, there is nothing to do. Verifying revokes the API keys and disables the webhooks that were created before.`,
}

const RESET: Wording = {
  subject: 'Reset your password',
  ask: 'Somebody asked to reset the password of the workspace with this e-mail address. If it was you, choose a new one:',
  button: 'Choose a new password',
  note: `The link works once, for ${LIMITS.reset_token_lifetime_s / 60} minutes. If it was not you, there is nothing to do: the password stays as it is. Where the address was not verified yet, a new password verifies it, revokes the API keys and disables the webhooks that were created before.`,
}

/** Asks the owner of an address to verify it. Nothing that a stranger typed in is in it: a signup is no way to write to others. */
export function verifyMail(to: string, link: string): Mail {
  return { to, kind: 'verify_email', link, ...write(VERIFY, link) }
}

/** Lets the owner of an address choose a new password. */
export function resetMail(to: string, link: string): Mail {
  return { to, kind: 'reset_password', link, ...write(RESET, link) }
}

/** Tells the owner of a workspace that its credits fell below the threshold. */
export function lowBalanceMail(
  to: string,
  { available, threshold }: { available: Units; threshold: Units },
): Mail {
  const tell = `Your workspace has ${formatCredits(available)} credits left, less than the ${formatCredits(threshold)} below which you are told. Once they are used up, messages are refused.`
  const note =
    'The next mail like this comes when credits were added and have fallen below that again, at most one an hour. PUT /api/v1/account with low_balance sets another number, or null for never.'
  return {
    to,
    kind: 'low_balance',
    subject: 'Your credits are running low',
    text: `${tell}\n\n${note}\n`,
    html: page(`<p>${tell}</p>\n<p>${note}</p>`),
  }
}

/** Tells the owner of a workspace that it was frozen, why, and how it goes on. */
export function frozenMail(
  to: string,
  { numbers, window_s }: { numbers: number; window_s: number },
): Mail {
  const tell = `Your workspace was frozen: within ${window_s} seconds it was to write to ${numbers} numbers that follow one another. That is how somebody spends another's credits with a stolen key. Nothing more is sent or charged; what was accepted before goes its way.`
  const note =
    'If it was not you: revoke the API key that these messages came with (GET /api/v1/messages lists them), and make a new one. If it was: say so when you ask for help. Either way, whoever runs the service lifts the freeze.'
  return {
    to,
    kind: 'account_frozen',
    subject: 'Your workspace was frozen',
    text: `${tell}\n\n${note}\n`,
    html: page(`<p>${tell}</p>\n<p>${note}</p>`),
  }
}

function write({ subject, ask, button, note }: Wording, link: string) {
  const href = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return {
    subject,
    text: `${ask}\n\n${link}\n\n${note}\n`,
    html: page(`<p>${ask}</p>
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
