import { LIMITS } from '../contract/limits.ts'
import type { Mail } from './mail.ts'

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
  note: `The link works once, for ${LIMITS.verify_token_lifetime_s / 3600} hours. If it was not you, there is nothing to do.`,
}

const RESET: Wording = {
  subject: 'Reset your password',
  ask: 'Somebody asked to reset the password of the workspace with this e-mail address. If it was you, choose a new one:',
  button: 'Choose a new password',
  note: `The link works once, for ${LIMITS.reset_token_lifetime_s / 60} minutes. If it was not you, there is nothing to do: the password stays as it is.`,
}

/** Asks the owner of an address to verify it. Nothing that a stranger typed in is in it: a signup is no way to write to others. */
export function verifyMail(to: string, link: string): Mail {
  return { to, kind: 'verify_email', link, ...write(VERIFY, link) }
}

/** Lets the owner of an address choose a new password. */
export function resetMail(to: string, link: string): Mail {
  return { to, kind: 'reset_password', link, ...write(RESET, link) }
}

function write({ subject, ask, button, note }: Wording, link: string) {
  const href = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return {
    subject,
    text: `${ask}\n\n${link}\n\n${note}\n`,
    html: `<!doctype html>
<html lang="en"><body style="font-family:sans-serif;line-height:1.5">
<p>${ask}</p>
<p><a href="${href}">${button}</a></p>
<p>Or open this address: ${href}</p>
<p>${note}</p>
</body></html>
`,
  }
}
