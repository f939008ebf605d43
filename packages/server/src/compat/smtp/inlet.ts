import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { isLoopback } from '@svc/core/contract'
import { SMTPServer } from 'smtp-server'
import { atFreePort } from '../../connections/free-port.ts'
import type { SmtpAddress } from '../../settings/readers.ts'
import type { Shared } from './admit.ts'
import {
  type Certificate,
  type CertificateFiles,
  inletCertificate,
  watchCertificate,
} from './certificate.ts'
import { type Commands, createCommands, type MailOutcome } from './commands.ts'
import { createConnections } from './connections.ts'
import { type InletLimits, inletLimits } from './limits.ts'
import { createMailReader } from './mail-reader.ts'
import { createMails } from './mails.ts'
import type { InletDomains } from './request.ts'
import { createVisits } from './visit.ts'

/** The settings of the inlet. */
export interface InletSettings extends InletDomains {
  addresses: readonly SmtpAddress[]
  /** Needed for each address that other machines can reach. */
  certificate: CertificateFiles | null
  /** The maximum of connections that wait to be accepted; default: that of Node. */
  backlog?: number | undefined
  /** Whether a port that is in use is replaced by the next free one. */
  next_port?: boolean | undefined
}

/** The inlet's log. No line has an address or a content of a mail. */
interface InletLog {
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
  limits: changed = {},
  certificate_check_ms = CERTIFICATE_CHECK_MS,
  onMail = () => {},
}: {
  shared: Shared
  settings: InletSettings
  log: InletLog
  limits?: Partial<InletLimits>
  certificate_check_ms?: number | undefined
  onMail?: ((outcome: MailOutcome) => void) | undefined
}): Promise<Inlet> {
  const limits = { ...inletLimits(shared.core.attachmentsMaxBytes), ...changed }
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
  const visitOf = createVisits({ shared, limits, connections, domains: settings })
  const commands = createCommands({ visitOf, mails, onMail, noteFailure })
  const servers = settings.addresses.map((address) =>
    createServer(address, { certificate, limits, commands }),
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
      const listen = async (at: number) => {
        server.listen(at, host, settings.backlog)
        await once(server.server, 'listening')
      }
      await (settings.next_port ? atFreePort(port, listen) : listen(port))
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
          if (!commands.isBusy(connection.session)) connection.send(421, 'The service is stopping')
        }
      }
    }
    commands.onIdle(closeIdle)
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

function createServer(
  { host, implicit_tls }: SmtpAddress,
  {
    certificate,
    limits,
    commands,
  }: { certificate: Certificate | null; limits: InletLimits; commands: Commands },
): SMTPServer {
  const { onAuth, onMailFrom, onRcptTo, onData } = commands
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
    // A recipient's local part is ASCII, so an address that needs the extension could not be taken (RFC 6531, section 3.1).
    hideSMTPUTF8: true,
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
