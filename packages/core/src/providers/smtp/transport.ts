import type { Readable } from 'node:stream'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { dkimOptions } from './dkim-options.ts'
import { isLoopback, type MailServer, mailServer } from './server-url.ts'
import type { SmtpSettings } from './settings.ts'

/** The result of sending one mail. `refused`: the recipients that the server refused in the envelope. */
type SendResult = { refused: readonly RefusedRecipient[] } & (
  | { type: 'accepted' }
  | { type: 'failed'; failure: Failure }
)

/** A recipient that the server refused, for now or for ever. */
export interface RefusedRecipient {
  address: string
  failure: Failure
}

/** The reason why a server did not accept a mail, or may not have accepted it. */
export interface Failure {
  /** The library's code, such as `ETIMEDOUT`. */
  code: string
  /** The code of the system or TLS error that is the cause. */
  cause: string | null
  /** The command that failed: `CONN`, `EHLO`, `STARTTLS`, `AUTH …`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  stage: string
  /** The server's answer, starting with its code; null for none. It may contain addresses and is never shown. */
  reply: string | null
  /** Whether the whole mail was written. If so, the server may have it even without an answer. */
  is_written: boolean
}

/** Connections to one mail server. */
export interface Transport {
  /**
   * Sends one mail. Calls `onBegin` when a connection begins with it, also a second one. If `signal` aborts, the mail has
   * failed and its connection ends.
   */
  send(mail: SendMailOptions, signal: AbortSignal, onBegin?: () => void): Promise<SendResult>
  /** Connects and logs in; resolves with the failure, or null. */
  verify(): Promise<Failure | null>
  close(): void
}

const CONNECT_MAX_MS = 10_000
const DNS_MAX_MS = 5_000
const ANSWER_MAX_MS = 18_000

/**
 * The maximum number of moves of one mail to another connection because a connection closed before a byte of the mail
 * was written. Servers close idle connections; this is not a failure of the mail.
 */
const STALE_MAX = 1

/** The progress of one mail. */
interface Progress {
  stream: Readable | null
  onBegin?: (() => void) | undefined
}

/** The first mails open the connections, and the connections stay open. */
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
    // The library must not read a caller's text as the path or URL of a file.
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
      progress?.onBegin?.()
      return stream
    }
    done()
  })
  return {
    async send(mail, signal, onBegin) {
      const progress: Progress = { stream: null, onBegin }
      try {
        const sent = await transporter.sendMail(Object.assign({}, mail, { signal, progress }))
        return { type: 'accepted', refused: refusedIn(sent) }
      } catch (error) {
        return { type: 'failed', failure: failureOf(error, progress), refused: refusedIn(error) }
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
    // A server on this machine seldom has a certificate that can be verified.
    ignoreTLS: isHere && !requireTLS,
    tls: {
      minVersion: 'TLSv1.2' as const,
      ...(settings.certificate_authority && { ca: settings.certificate_authority }),
    },
    ...(credentials && {
      auth: { user: credentials.user, pass: credentials.password },
      // A configured password must be used, even if another host removed `AUTH` from the server's list of features.
      forceAuth: true,
    }),
  }
}

/** The refused recipients that the library lists in its result or its error. */
function refusedIn(result: unknown): RefusedRecipient[] {
  const { rejectedErrors } = (result ?? {}) as { rejectedErrors?: unknown }
  if (!Array.isArray(rejectedErrors)) return []
  return rejectedErrors.flatMap((error: { recipient?: unknown }) =>
    typeof error.recipient === 'string'
      ? [{ address: error.recipient, failure: failureOf(error, { stream: null }) }]
      : [],
  )
}

function failureOf(error: unknown, { stream }: Progress): Failure {
  const { code, originalCode, command, response } = (error ?? {}) as Record<string, unknown>
  return {
    code: typeof code === 'string' ? code : 'EUNKNOWN',
    cause: typeof originalCode === 'string' ? originalCode : null,
    stage: typeof command === 'string' ? command : '',
    reply: typeof response === 'string' ? response : null,
    // The final dot is written only after the whole mail was read.
    is_written: stream?.readableEnded === true,
  }
}
