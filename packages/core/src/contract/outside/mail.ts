/** The kinds of mails that the service itself sends. */
export type MailKind =
  | 'verify_email'
  | 'reset_password'
  | 'invitation'
  | 'low_balance'
  | 'account_frozen'
  | 'webhook_failure'

/** A mail from the service to the owner of a workspace, to a member, or to an invited person. */
export interface Mail {
  /** One plain address, as `emailAddress` returns it: not a list, and without a display name. */
  to: string
  subject: string
  text: string
  html: string
  kind: MailKind
  /** The link in the text, if there is one. It may contain a secret. */
  link?: string
}

/** Sends mails. It chooses the sender and the transport itself. */
export interface Mailer {
  /**
   * Resolves when the next mail server has accepted the mail.
   * @throws Error if it has not. The service then sends the mail again, so a mail may arrive twice.
   */
  send(mail: Mail): Promise<void>
}
