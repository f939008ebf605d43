/** What a mail of the service's own is about. */
export type MailKind = 'verify_email' | 'reset_password' | 'low_balance' | 'account_frozen'

/** A mail from the service to the owner of a workspace. */
export interface Mail {
  /** One plain address, as `emailAddress` gives it: a mailer must not read it as a list or look for a name in it. */
  to: string
  subject: string
  text: string
  html: string
  kind: MailKind
  /** The one thing to open, where there is one. It holds a secret. */
  link?: string
}

/** Carries mails. Sender and transport are its own business. */
export interface Mailer {
  /**
   * Resolves when the mail was handed on.
   * @throws Error when it was not; it is then tried again, so a mail may arrive twice.
   */
  send(mail: Mail): Promise<void>
}
