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

/** The form's target is relative, because a proxy may serve the page under a path. */
function form(action: string, token: string, fields: string): string {
  return `<form method="post" action="${action}" accept-charset="utf-8">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${fields}
</form>`
}
