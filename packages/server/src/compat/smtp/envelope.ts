import { emailKey } from '@svc/core/contract'
import type { InletLimits } from './limits.ts'
import { closing, refusal } from './reply.ts'
import { type InletDomains, type Recipient, type Recipients, recipientOf } from './request.ts'

/** The recipients of a session's current mail. */
export interface Envelope {
  /** Removes the recipients of the mail before. */
  clear(): void
  /** Adds the address of a RCPT command. @throws Refusal */
  add(address: string): void
  /** The recipients among `kept`, which has the addresses that the library kept. */
  recipients(kept: readonly { address: string }[]): Recipients
}

export function createEnvelope({
  limits,
  domains,
}: {
  limits: Pick<InletLimits, 'refused_recipients'>
  domains: InletDomains
}): Envelope {
  /** By the addresses of the RCPT commands. */
  const read = new Map<string, Recipient>()
  /** In all mails of the session. */
  let refused = 0

  return {
    clear: () => read.clear(),
    add(address) {
      const recipient = recipientOf(address, domains)
      if (!recipient) {
        refused += 1
        if (refused >= limits.refused_recipients) throw closing('Too many invalid recipients')
        throw refusal('550 5.1.3', `This is not an address that can get a message${hint(address)}`)
      }
      const [first] = read.values()
      // A client sends the mail again for the recipients that got this reply (RFC 5321, section 4.5.3.1.10).
      if (first && ('sms' in recipient || 'sms' in first)) {
        throw refusal('452 4.5.3', 'An SMS has one recipient: send it as a mail of its own')
      }
      read.set(address, recipient)
    },
    recipients(kept) {
      const email = new Map<string, string>()
      // The library keeps one of two addresses that differ in case only.
      for (const { address } of kept) {
        const recipient = read.get(address)
        if (recipient && 'sms' in recipient) return recipient
        if (recipient) email.set(emailKey(recipient.email), recipient.email)
      }
      return { email: [...email.values()] }
    },
  }
}

function hint(address: string): string {
  const local = address.slice(0, address.lastIndexOf('@'))
  return /^[\x20-\x7e]*$/.test(local) ? '' : ': only ASCII is allowed before the @'
}
