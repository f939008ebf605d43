import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { emailKey, isLoopback, SvcError } from '@svc/core/contract'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { failureOf } from '../../failures.ts'
import type { SmtpAddress } from '../../settings/readers.ts'
import { createAdmission, type Shared } from './admit.ts'
import {
  type Certificate,
  type CertificateFiles,
  inletCertificate,
  watchCertificate,
} from './certificate.ts'
import { type Connections, createConnections } from './connections.ts'
import { INLET_LIMITS, type InletLimits } from './limits.ts'
import { createMailReader } from './mail-reader.ts'
import { createMails } from './mails.ts'
import { closing, type Refusal, refusal, refusalOf } from './reply.ts'
import { type InletDomains, type Recipient, type Recipients, recipientOf } from './request.ts'

/** The settings of the inlet. */
export interface InletSettings extends InletDomains {
  addresses: readonly SmtpAddress[]
  /** Needed for each address that other machines can reach. */
  certificate: CertificateFiles | null
}

/** What happened to a mail: accepted, refused for good, or to be repeated later. */
export type MailOutcome = 'accepted' | 'refused' | 'deferred'

/** The inlet's log. No line has an address or a content of a mail. */
export interface InletLog {
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

/** A listening inlet. */
export interface Inlet {
  /** Where it listens, with the real ports. */
  addresses: readonly SmtpAddress[]
  /** The number of open connections. */
  connections(): number
  /** Accepts no more connections, completes the mails in flight, and closes the connections. */
  close(grace_ms: number): Promise<void>
}

/** The session's own state. */
interface Visit {
  /** The API key of the login; checked again for each mail. */
  key: string | null
  /** The addresses of this mail's RCPT commands, as read. */
  recipients: Map<string, Recipient>
  refused_recipients: number
  failed_logins: number
  mails: number
}

/** How often the files of the certificate are checked. */
const CERTIFICATE_CHECK_MS = 10_000

/** Commands of the library that have no use here. */
const USELESS_COMMANDS = ['WIZ', 'SHELL', 'KILL']

/**
 * Takes mails by SMTP (RFC 5321, RFC 6409) from clients that log in with an API key, and sends each mail as one message.
 * The reply 250 follows the commit and names the message. There is no relay: each command of a mail needs a login.
 * @throws ConfigError for an address that other machines can reach without a certificate, or a wrong certificate; Error
 * if a port is taken.
 */
export async function openInlet({
  shared,
  settings,
  log,
  limits = INLET_LIMITS,
  certificate_check_ms = CERTIFICATE_CHECK_MS,
  onMail = () => {},
}: {
  shared: Shared
  settings: InletSettings
  log: InletLog
  limits?: InletLimits
  certificate_check_ms?: number | undefined
  onMail?: ((outcome: MailOutcome) => void) | undefined
}): Promise<Inlet> {
  const certificate = await inletCertificate(settings)
  const reader = createMailReader()
  const connections = createConnections(limits)
  const noteFailure = (error: unknown) =>
    log.error({ err: error }, 'a mail of the SMTP inlet failed')
  const mails = createMails({
    shared,
    reader,
    limits,
    domains: settings,
    onLateFailure: noteFailure,
  })
  const handling = createHandling({
    shared,
    limits,
    connections,
    mails,
    settings,
    onMail,
    noteFailure,
  })
  const servers = settings.addresses.map((address) =>
    createServer(address, { certificate, limits, handling }),
  )
  for (const [index, server] of servers.entries()) {
    connections.watch(server.server, !settings.addresses[index]?.implicit_tls)
    server.on('error', ({ code }: NodeJS.ErrnoException) => {
      // This error ends one connection. A failure to listen is thrown.
      if (server.server.listening) {
        log.info({ code: code ?? 'unknown' }, 'a connection of the SMTP inlet failed')
      }
    })
  }
  const addresses: SmtpAddress[] = []
  try {
    for (const [index, server] of servers.entries()) {
      const { host, port, implicit_tls } = settings.addresses[index] as SmtpAddress
      server.listen(port, host)
      await once(server.server, 'listening')
      addresses.push({ host, port: (server.server.address() as AddressInfo).port, implicit_tls })
    }
  } catch (error) {
    for (const { server } of servers) server.close()
    await reader.close()
    throw error
  }
  const unwatch = settings.certificate
    ? watchCertificate(settings.certificate, {
        check_ms: certificate_check_ms,
        log,
        use: (fresh) => {
          for (const server of servers) server.updateSecureContext(fresh)
        },
      })
    : () => {}

  let ended: Promise<void> | null = null
  async function end(grace_ms: number): Promise<void> {
    unwatch()
    const ending = servers.map((server) => {
      server.options.closeTimeout = Math.max(1, grace_ms)
      return new Promise<void>((resolve) => server.close(resolve))
    })
    const closeIdle = () => {
      for (const { connections: open } of servers) {
        for (const connection of open) {
          if (!handling.isBusy(connection.session)) connection.send(421, 'The service is stopping')
        }
      }
    }
    handling.onIdle(closeIdle)
    closeIdle()
    await Promise.all(ending)
    connections.destroy()
    await reader.close()
  }

  return {
    addresses,
    connections: () => connections.count,
    close(grace_ms) {
      ended ??= end(grace_ms)
      return ended
    },
  }
}

type Handling = ReturnType<typeof createHandling>

function createServer(
  { host, implicit_tls }: SmtpAddress,
  {
    certificate,
    limits,
    handling,
  }: { certificate: Certificate | null; limits: InletLimits; handling: Handling },
): SMTPServer {
  const { onAuth, onMailFrom, onRcptTo, onData } = handling
  return new SMTPServer({
    name: 'svc',
    banner: 'log in with an API key',
    secure: implicit_tls,
    ...certificate,
    minVersion: 'TLSv1.2',
    authMethods: ['PLAIN', 'LOGIN'],
    // Without a certificate, the library would use its own, whose key is public.
    disabledCommands: certificate ? USELESS_COMMANDS : [...USELESS_COMMANDS, 'STARTTLS'],
    allowInsecureAuth: isLoopback(host),
    // Reports of the delivery are webhooks, and the provider's server decides about TLS.
    hideENHANCEDSTATUSCODES: false,
    hideDSN: true,
    hideREQUIRETLS: true,
    disableReverseLookup: true,
    logger: false,
    size: limits.mail_bytes,
    maxRecipients: limits.recipients,
    socketTimeout: limits.silence_ms,
    onAuth,
    onMailFrom,
    onRcptTo,
    onData,
  })
}

/** The decisions about commands. All ports share them. */
function createHandling({
  shared,
  limits,
  connections,
  mails,
  settings,
  onMail,
  noteFailure,
}: {
  shared: Shared
  limits: InletLimits
  connections: Pick<Connections, 'noteLogin'>
  mails: ReturnType<typeof createMails>
  settings: InletSettings
  onMail: (outcome: MailOutcome) => void
  noteFailure: (error: unknown) => void
}) {
  const admission = createAdmission(shared)
  const visits = new WeakMap<SMTPServerSession, Visit>()
  /** The ids of the sessions whose mail is being received or stored. */
  const busy = new Set<string>()
  let onIdle: (() => void) | null = null

  const visitOf = (session: SMTPServerSession): Visit => {
    const known = visits.get(session)
    if (known) return known
    const fresh = {
      key: null,
      recipients: new Map(),
      refused_recipients: 0,
      failed_logins: 0,
      mails: 0,
    }
    visits.set(session, fresh)
    return fresh
  }

  /** The reply for an error. A fault of the service is logged. */
  function replyFor(error: unknown): Refusal {
    if (isRefusal(error)) return error
    const failure = failureOf(error)
    if (failure.status === 500) noteFailure(error)
    return refusalOf(failure)
  }

  type Done = (error?: Error | null) => void

  function answer(work: Promise<void>, done: Done): void {
    work.then(
      () => done(),
      (error) => done(replyFor(error)),
    )
  }

  async function logIn(session: SMTPServerSession, key: string): Promise<void> {
    const visit = visitOf(session)
    try {
      await admission.identify(key, session.remoteAddress)
      visit.key = key
      connections.noteLogin(session)
    } catch (error) {
      visit.failed_logins += 1
      if (visit.failed_logins >= limits.failed_logins) throw closing('Too many failed logins')
      if (!(error instanceof SvcError)) throw error
      if (error.code === 'rate_limit_exceeded') throw refusal('454 4.7.0', error.message)
      throw refusal('535 5.7.8', error.message)
    }
  }

  /** The identity of the session now: a key may end between two mails, and while a mail is received. */
  async function identityOf(session: SMTPServerSession) {
    const { key } = visitOf(session)
    if (key === null) throw refusal('530 5.7.0', 'Log in with an API key first')
    return admission.identify(key, session.remoteAddress)
  }

  async function begin(session: SMTPServerSession): Promise<void> {
    const visit = visitOf(session)
    if (visit.mails >= limits.mails) throw closing('Too many mails on one connection')
    await admission.countMail(await identityOf(session))
    visit.mails += 1
    visit.recipients.clear()
  }

  function addRecipient(session: SMTPServerSession, address: string): void {
    const visit = visitOf(session)
    const read = recipientOf(address, settings)
    if (!read) {
      visit.refused_recipients += 1
      if (visit.refused_recipients >= limits.refused_recipients) {
        throw closing('Too many invalid recipients')
      }
      throw refusal('550 5.1.3', 'This is not an address that can get a message')
    }
    const [first] = visit.recipients.values()
    // A client sends the mail again for the recipients that got this reply (RFC 5321, section 4.5.3.1.10).
    if (first && ('sms' in read || 'sms' in first)) {
      throw refusal('452 4.5.3', 'An SMS has one recipient: send it as a mail of its own')
    }
    visit.recipients.set(address, read)
  }

  function recipientsOf(session: SMTPServerSession): Recipients {
    const { recipients } = visitOf(session)
    const email = new Map<string, string>()
    // The library keeps one of two addresses that differ in case only.
    for (const { address } of session.envelope.rcptTo) {
      const read = recipients.get(address)
      if (read && 'sms' in read) return read
      if (read) email.set(emailKey(read.email), read.email)
    }
    return { email: [...email.values()] }
  }

  async function take(
    stream: Parameters<typeof mails.receive>[0],
    session: SMTPServerSession,
  ): Promise<string> {
    const raw = await mails.receive(stream)
    return mails.send(raw, recipientsOf(session), await identityOf(session))
  }

  return {
    isBusy: ({ id }: SMTPServerSession) => busy.has(id),
    /** `call` runs whenever a mail ended, from now on. */
    onIdle(call: () => void) {
      onIdle = call
    },
    onAuth(
      { password }: { password?: string | null | undefined },
      session: SMTPServerSession,
      done: (error: Error | null, response?: { user: string }) => void,
    ) {
      answer(logIn(session, password ?? ''), (error) =>
        error ? done(error) : done(null, { user: 'key' }),
      )
    },
    onMailFrom(_: unknown, session: SMTPServerSession, done: Done) {
      answer(begin(session), done)
    },
    onRcptTo({ address }: { address: string }, session: SMTPServerSession, done: Done) {
      try {
        addRecipient(session, address)
        done()
      } catch (error) {
        done(replyFor(error))
      }
    },
    onData(
      stream: Parameters<typeof mails.receive>[0],
      session: SMTPServerSession,
      done: (error?: Error | null, text?: string) => void,
    ) {
      busy.add(session.id)
      take(stream, session)
        .then(
          (id) => {
            onMail('accepted')
            done(null, `Queued as ${id}`)
          },
          (error) => {
            const reply = replyFor(error)
            onMail(String(reply.responseCode).startsWith('5') ? 'refused' : 'deferred')
            done(reply)
          },
        )
        .finally(() => {
          busy.delete(session.id)
          // After the reply to the mail is written.
          if (onIdle) setImmediate(onIdle)
        })
    },
  }
}

function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && 'responseCode' in error
}
