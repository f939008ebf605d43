import type { Mail, MailKind } from '@svc/core'

const ASKS: Record<MailKind, string> = {
  verify_email: 'verify your address',
  reset_password: 'reset your password',
}

/** One line about a mail that the sandbox kept, with the link that its reader would open. */
export function mailLine({ to, kind, link = '' }: Mail): string {
  return `mail to ${to}: ${ASKS[kind]} ${link}`
}
