import type { OpenInvitation } from '@svc/core'
import { LIMITS } from '@svc/core/contract'
import { escapeHtml, type Frame, plainPage } from './plain-page.ts'

/** A mail with a link that a person can request again, by the path of the page that requests it. */
export type MailRequest = 'resend-verification' | 'forgot-password'

/** The form to verify an address. Opening the page changes nothing, because programs that scan mails open links too. */
export function verifyForm(frame: Frame, token: string, { email }: { email: string }): string {
  return plainPage(frame, {
    title: 'Verify your address',
    body: `<p>Is <strong>${escapeHtml(email)}</strong> your address, and did you sign up? Then verify it.</p>
${form('verify-email', token, '<button>Verify the address</button>')}
<p class="quiet">Verifying it revokes the API keys and disables the webhooks that were created before. Sessions continue.</p>`,
  })
}

/** The form for a new password; `before` has the fault of the last attempt, and which boxes were ticked. */
export function resetForm(
  frame: Frame,
  token: string,
  {
    email,
    before,
  }: { email: string; before?: { fault: string; revokes: boolean; keeps: boolean } | undefined },
): string {
  const ticked = before?.revokes ? ' checked' : ''
  const keeps = before?.keeps ? ' checked' : ''
  const field = `${username(email)}<label>New password, ${LIMITS.password_length_min} characters or more
<input type="password" name="password" required minlength="${LIMITS.password_length_min}" maxlength="${LIMITS.password_length_max}" autocomplete="new-password" autofocus></label>
<label class="check"><input type="checkbox" name="revoke_api_keys" value="true"${ticked}> <span>Revoke all API keys, disable all webhooks and end all links to sign-in providers: tick this if another person may have used the account</span></label>
<label class="check"><input type="checkbox" name="keep_recent" value="true"${keeps}> <span>Keep what was added since your last sign-in from this network: tick this if you added it yourself</span></label>
<button>Change the password</button>`
  return plainPage(frame, {
    title: 'Choose a new password',
    body: `<p>For the login <strong>${escapeHtml(email)}</strong>. Every session will end. API keys, webhooks, invitations, members and links to sign-in providers that your login added since your last sign-in from this network will end too.</p>
${alert(before?.fault)}${form('reset-password', token, field)}`,
  })
}

/** The form to accept an invitation, with the fault of the last attempt. */
export function acceptForm(
  frame: Frame,
  token: string,
  { invitation, fault }: { invitation: OpenInvitation; fault?: string },
): string {
  const { workspace_name, role, email, has_login } = invitation
  const name = `<label>Your name
<input name="name" maxlength="${LIMITS.user_name_length}" autocomplete="name"></label>
`
  const label = has_login
    ? 'The password of your login'
    : `A password, ${LIMITS.password_length_min} characters or more`
  const code = has_login
    ? `<label>The code of your authenticator app, if you have one
<input name="otp" maxlength="${LIMITS.otp_length}" autocomplete="one-time-code"></label>
`
    : ''
  const fields = `${username(email)}${has_login ? '' : name}<label>${label}
<input type="password" name="password" required minlength="${LIMITS.password_length_min}" maxlength="${LIMITS.password_length_max}" autocomplete="${has_login ? 'current' : 'new'}-password"></label>
${code}<button>Accept the invitation</button>`
  return plainPage(frame, {
    title: 'Accept the invitation',
    body: `<p>You are invited to the workspace <strong>${escapeHtml(workspace_name)}</strong> with the role ${role}, as ${escapeHtml(email)}.</p>
${alert(fault)}${form('accept-invitation', token, fields)}`,
    ways: has_login ? [{ text: 'Forgot the password?', href: 'forgot-password' }] : [],
  })
}

/** The form to request a mail with a new link; `before` has the reason why the earlier link is of no use. */
export function mailForm(frame: Frame, request: MailRequest, before?: Text): string {
  const { title, text, button } = before
    ? { ...MAIL_FORMS[request], ...before }
    : MAIL_FORMS[request]
  return plainPage(frame, {
    title,
    body: `<p>${escapeHtml(text)}</p>
<form method="post" action="${request}" accept-charset="utf-8">
<label>Your e-mail address
<input type="email" name="email" required maxlength="${LIMITS.email_length}" autocomplete="email"></label>
<button>${button}</button>
</form>`,
  })
}

/** The page after a request for a mail. It is the same for every address, so that it does not show who has an account. */
export function mailRequested(frame: Frame, request: MailRequest): string {
  const which =
    request === 'forgot-password'
      ? 'If the address has a login'
      : 'If the address belongs to a workspace and is not verified yet'
  return plainPage(frame, {
    title: 'Look into your mailbox',
    body: `<p>${which}, a mail with a link is on its way. It should arrive within a minute; if it does not, look into the folder for spam.</p>`,
    ways: [{ text: 'Enter another address', href: request }],
  })
}

interface Text {
  title: string
  text: string
}

const MAIL_FORMS: Record<MailRequest, Text & { button: string }> = {
  'resend-verification': {
    title: 'Verify your address',
    text: 'Enter the address of your workspace. You get a mail with a link to verify it.',
    button: 'Send a new link',
  },
  'forgot-password': {
    title: 'Choose a new password',
    text: 'Enter the address of your login. You get a mail with a link to choose a new password.',
    button: 'Send a link',
  },
}

/** Tells password managers to which login the password belongs. It has no name, so that the form does not send it. */
function username(email: string): string {
  return `<input type="email" hidden aria-label="Login" autocomplete="username" value="${escapeHtml(email)}">\n`
}

function alert(fault: string | undefined): string {
  return fault === undefined ? '' : `<p role="alert">${escapeHtml(fault)}</p>\n`
}

/** The form's target is relative, because a proxy may serve the page under a path. */
function form(action: string, token: string, fields: string): string {
  return `<form method="post" action="${action}" accept-charset="utf-8">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${fields}
</form>`
}
