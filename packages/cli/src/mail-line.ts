import type { Mail, MailKind } from '@svc/core'

const ASKS: Record<MailKind, string> = {
  verify_email: 'verify your address',
  reset_password: 'reset your password',
  low_balance: 'your credits are running low',
  account_frozen: 'your workspace was frozen',
}

/** One line about a mail that the sandbox kept, with the link that its reader would open, where there is one. */
export function mailLine({ to, kind, link }: Mail): string {
  return [`mail to ${to}: ${ASKS[kind]}`, link].filter(Boolean).join(' ')
}
