import type { Readable } from 'node:stream'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { dkimOptions } from './dkim.ts'
import { isLoopback, type MailServer, mailServer } from './server-url.ts'
import type { SmtpSettings } from './settings.ts'

/** What became of one mail. */
export type Handing =
  /** The server has it. */
  { type: 'taken' } | { type: 'failed'; failure: Failure }

/** Why a server does not have a mail, or may not have it. */
export interface Failure {
  /** The library's word, such as `ETIMEDOUT`. */
  code: string
  /** What the system or TLS called it, where it was theirs. */
  cause: string | null
  /** What was asked of the server when it failed: `CONN`, `EHLO`, `STARTTLS`, `AUTH …`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  stage: string
  /** The server's answer, its code first; null where none came. It may hold addresses: to be read, never to be shown. */
  reply: string | null
  /** Whether the mail was written to its end: without an answer, the server may have it. */
  is_written: boolean
}

/** Connections to one mail server. */
export interface Transport {
  /** Hands one mail over; a mail that `signal` gives up is failed, and its connection cut. */
  hand(mail: SendMailOptions, signal: AbortSignal): Promise<Handing>
  /** Connects and logs in; what is wrong, or null. */
  verify(): Promise<Failure | null>
  close(): void
}

const CONNECT_MAX_MS = 10_000
const DNS_MAX_MS = 5_000
const ANSWER_MAX_MS = 18_000

/**
 * How often a mail is given to another connection when the one it was given to turns out to be closed, not a byte of the
 * mail written: servers close what is idle, and that is no failure of the mail's.
 */
const STALE_MAX = 1

/** What tells of one mail how far it got. */
interface Progress {
  stream: Readable | null
}

/** Opens nothing yet: connections are made when there is something to send, and kept. */
export function openTransport(settings: SmtpSettings): Transport {
  const transporter = createTransport({
    ...serverOptions(settings),
    pool: true,
    maxConnections: settings.connections,
    maxRequeues: STALE_MAX,
    name: settings.mail_domain,
    connectionTimeout: CONNECT_MAX_MS,
    greetingTimeout: CONNECT_MAX_MS,
    dnsTimeout: DNS_MAX_MS,
    socketTimeout: ANSWER_MAX_MS,
    // Nothing that a caller sent is ever read as a path or an address to load from.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(settings.dkim && { dkim: dkimOptions(settings.dkim) }),
  })
  transporter.use('stream', (mail, done) => {
    const { progress } = mail.data as { progress?: Progress }
    const create = mail.message.createReadStream.bind(mail.message)
    mail.message.createReadStream = (options) => {
      const stream = create(options)
      if (progress) progress.stream = stream
      return stream
    }
    done()
  })
  return {
    async hand(mail, signal) {
      const progress: Progress = { stream: null }
      try {
        await transporter.sendMail(Object.assign({}, mail, { signal, progress }))
        return { type: 'taken' }
      } catch (error) {
        return { type: 'failed', failure: failureOf(error, progress) }
      }
    },
    async verify() {
      try {
        await transporter.verify()
        return null
      } catch (error) {
        return failureOf(error, { stream: null })
      }
    },
    close: () => transporter.close(),
  }
}

function serverOptions(settings: SmtpSettings) {
  const { host, port, is_tls, credentials } = mailServer(settings.url) as MailServer
  const isHere = isLoopback(host)
  const requireTLS = settings.require_tls ?? !isHere
  return {
    host,
    port,
    secure: is_tls,
    requireTLS,
    // A server of this machine seldom has a certificate that anybody could check.
    ignoreTLS: isHere && !requireTLS,
    tls: {
      minVersion: 'TLSv1.2' as const,
      ...(settings.certificate_authority && { ca: settings.certificate_authority }),
    },
    ...(credentials && {
      auth: { user: credentials.user, pass: credentials.password },
      // Who gave a password means it to be used, though the list of what the server offers was cut on its way.
      forceAuth: true,
    }),
  }
}

function failureOf(error: unknown, { stream }: Progress): Failure {
  const { code, originalCode, command, response } = (error ?? {}) as Record<string, unknown>
  return {
    code: typeof code === 'string' ? code : 'EUNKNOWN',
    cause: typeof originalCode === 'string' ? originalCode : null,
    stage: typeof command === 'string' ? command : '',
    reply: typeof response === 'string' ? response : null,
    // The final dot is written when the mail was read to its end, and never before.
    is_written: stream?.readableEnded === true,
  }
}
