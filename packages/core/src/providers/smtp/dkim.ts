import type { SmtpSettings } from './settings.ts'

/** What is signed of those fields that a mail has. RFC 8058 section 4 wants both of the unsubscribing ones among them. */
const SIGNED = [
  'from',
  'reply-to',
  'to',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'auto-submitted',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
]

/** How the mail library is told to sign (RFC 6376). */
export function dkimOptions({ domain, selector, private_key }: NonNullable<SmtpSettings['dkim']>) {
  return {
    domainName: domain,
    keySelector: selector,
    privateKey: private_key,
    headerFieldNames: SIGNED.join(':'),
  }
}
