import { formatCredits, type Units, withUnit } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Mail } from '../contract/outside/mail.ts'
import { compose, type Letter } from './letter.ts'

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

function mailOf({ brand, to }: Envelope, kind: Mail['kind'], letter: Letter): Mail {
  const { action } = letter
  return { to, kind, ...(action && { link: action.link }), ...compose(brand, letter) }
}
