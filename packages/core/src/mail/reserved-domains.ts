import { emailAddress } from '../contract/fields/email-address.ts'
import type { Mail, Mailer } from '../contract/outside/mail.ts'

/** Top-level domains without mailboxes (RFC 2606 section 2, RFC 6761). `svc` is not delegated; the sandbox uses it. */
const RESERVED_TOPS = new Set(['test', 'example', 'invalid', 'localhost', 'local', 'svc'])
/** Domains for documentation (RFC 2606 section 3). */
const RESERVED_DOMAINS = new Set(['example.com', 'example.net', 'example.org'])

/** Whether no mailbox exists at the domain of an address, because the domain is reserved for tests or documentation. */
export function isReservedAddress(address: string): boolean {
  const labels = emailAddress(address)?.domain.split('.') ?? []
  return RESERVED_TOPS.has(labels.at(-1) ?? '') || RESERVED_DOMAINS.has(labels.slice(-2).join('.'))
}

/**
 * Gives mails for reserved domains to the sandbox and all others to `mailer`. A mail server would return them as bounces,
 * and would count them against the sender: the address of the demo workspace is reserved.
 */
export function withoutReserved(mailer: Mailer, sandbox: Mailer): Mailer {
  return {
    send: (mail: Mail) => (isReservedAddress(mail.to) ? sandbox : mailer).send(mail),
  }
}
