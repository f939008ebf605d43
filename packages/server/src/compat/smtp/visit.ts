import type { KeyIdentity } from '@svc/core'
import { CLIENT_BITS, emailKey, networkOf, SvcError } from '@svc/core/contract'
import type { SMTPServerSession } from 'smtp-server'
import { createAdmission, type Shared } from './admit.ts'
import type { Connections } from './connections.ts'
import type { InletLimits } from './limits.ts'
import type { MailOwner } from './mail-reader.ts'
import { closing, refusal } from './reply.ts'
import { type InletDomains, type Recipient, type Recipients, recipientOf } from './request.ts'

/** A session from its first command to its end: the key of its login, and its current mail. */
export interface Visit {
  envelope: Envelope
  /** Keeps the key for the mails of the session. @throws Refusal for a key that may not send. */
  logIn(key: string): Promise<void>
  /**
   * The identity of the session now: a key may end between two mails, and while a mail is received.
   * @throws Refusal before the login, SvcError after the end of the key.
   */
  identity(): Promise<KeyIdentity>
  /** The owner of the current mail. @throws Refusal before the first mail. */
  owner(): MailOwner
  /** Counts a mail and empties the envelope. @throws Refusal, or SvcError beyond a rate limit. */
  beginMail(): Promise<void>
}

/** Finds the visit of a session, and opens it with the first command. */
export function createVisits({
  shared,
  limits,
  connections,
  domains,
}: {
  shared: Shared
  limits: InletLimits
  connections: Pick<Connections, 'noteLogin'>
  domains: InletDomains
}): (session: SMTPServerSession) => Visit {
  const admission = createAdmission(shared)
  const visits = new WeakMap<SMTPServerSession, Visit>()

  function open(session: SMTPServerSession): Visit {
    let key: string | null = null
    let owner: MailOwner | null = null
    let failedLogins = 0
    let mails = 0
    const envelope = createEnvelope({ limits, domains })

    async function identity(): Promise<KeyIdentity> {
      if (key === null) throw refusal('530 5.7.0', 'Log in with an API key first')
      return admission.identify(key, session.remoteAddress)
    }

    return {
      envelope,
      identity,
      async logIn(password) {
        try {
          await admission.identify(password, session.remoteAddress)
          key = password
          connections.noteLogin(session)
        } catch (error) {
          failedLogins += 1
          if (failedLogins >= limits.failed_logins) throw closing('Too many failed logins')
          if (!(error instanceof SvcError)) throw error
          if (error.code === 'rate_limit_exceeded') throw refusal('454 4.7.0', error.message)
          throw refusal('535 5.7.8', error.message)
        }
      },
      owner() {
        if (owner === null) throw refusal('530 5.7.0', 'Log in with an API key first')
        return owner
      },
      async beginMail() {
        if (mails >= limits.mails) throw closing('Too many mails on one connection')
        const found = await identity()
        await admission.countMail(found)
        const client = networkOf(session.remoteAddress, CLIENT_BITS) ?? ''
        owner = { workspace_id: found.workspace_id, client }
        mails += 1
        envelope.clear()
      },
    }
  }

  return (session) => {
    const known = visits.get(session)
    if (known) return known
    const fresh = open(session)
    visits.set(session, fresh)
    return fresh
  }
}

/** The recipients of a session's current mail. */
interface Envelope {
  /** Removes the recipients of the mail before. */
  clear(): void
  /** Adds the address of a RCPT command. @throws Refusal */
  add(address: string): void
  /** The recipients among `kept`, which has the addresses that the library kept. */
  recipients(kept: readonly { address: string }[]): Recipients
}

function createEnvelope({
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
