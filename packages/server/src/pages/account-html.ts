import type { OpenInvitation } from '@svc/core'
import { LIMITS } from '@svc/core/contract'
import { escapeHtml, plainPage } from './plain-page.ts'

/** The form to verify an address. Opening the page changes nothing, because programs that scan mails open links too. */
export function verifyForm(token: string): string {
  return plainPage(
    'Verify your e-mail address',
    `<p>Does the e-mail address of the mail belong to you?</p>
<p>Verifying it revokes the API keys and disables the webhooks that were created before. Sessions continue.</p>
${form('verify-email', token, '<button>Verify the address</button>')}`,
  )
}

/** The form for a new password; `before` has the fault of the last attempt, and whether the box was ticked. */
export function resetForm(token: string, before?: { fault: string; revokes: boolean }): string {
  const alert = before ? `<p role="alert">${escapeHtml(before.fault)}</p>\n` : ''
  const ticked = before?.revokes ? ' checked' : ''
  const field = `<label>New password, ${LIMITS.password_length_min} characters or more
<input type="password" name="password" required minlength="${LIMITS.password_length_min}" maxlength="${LIMITS.password_length_max}" autocomplete="new-password" autofocus></label>
<label><input type="checkbox" name="revoke_api_keys" value="true"${ticked}> Revoke all API keys and disable all webhooks: tick this if another person may have used the account</label>
<button>Change the password</button>`
  return plainPage('Choose a new password', `${alert}${form('reset-password', token, field)}`)
}

/** The form to accept an invitation, with the fault of the last attempt. */
export function acceptForm(token: string, invitation: OpenInvitation, fault?: string): string {
  const { workspace_name, role, email, has_login } = invitation
  const alert = fault === undefined ? '' : `<p role="alert">${escapeHtml(fault)}</p>\n`
  const name = `<label>Your name
<input name="name" maxlength="${LIMITS.user_name_length}" autocomplete="name"></label>
`
  const label = has_login
    ? 'The password of your login'
    : `A password, ${LIMITS.password_length_min} characters or more`
  const fields = `${has_login ? '' : name}<label>${label}
<input type="password" name="password" required minlength="${LIMITS.password_length_min}" maxlength="${LIMITS.password_length_max}" autocomplete="${has_login ? 'current' : 'new'}-password"></label>
<button>Accept the invitation</button>`
  return plainPage(
    'Accept the invitation',
    `<p>You are invited to the workspace <strong>${escapeHtml(workspace_name)}</strong> with the role ${role}, as ${escapeHtml(email)}.</p>
${alert}${form('accept-invitation', token, fields)}`,
  )
}

/** The form's target is relative, because a proxy may serve the page under a path. */
function form(action: string, token: string, fields: string): string {
  return `<form method="post" action="${action}" accept-charset="utf-8">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${fields}
</form>`
}
