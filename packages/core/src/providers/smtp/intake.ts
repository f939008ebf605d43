import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { networkOf } from '../../contract/fields/client-network.ts'
import type { Listening, MessageRef, Report, Sink } from '../../contract/outside/provider.ts'
import { readMessageToken } from '../../contract/signing/mail-address-token.ts'
import { within } from '../../runtime/within.ts'
import { reportsOf } from './bounce-outcome.ts'
import { REPORT_BYTES_READ, readMailReport } from './bounce-report.ts'

/** The address and limit of the mail intake. */
interface IntakeSettings {
  host: string
  /** The port to listen on; 0 for any free port. */
  port: number
  /** The largest accepted mail; default: 10 MiB. */
  max_bytes?: number | undefined
}

/** Limits on counts, and on times in milliseconds. */
export interface IntakeLimits {
  clients: number
  /** The maximum number of clients from one IPv4 address, or from one IPv6 /48. */
  clients_of_site: number
  recipients: number
  /** The maximum number of recipients on one connection that are not our addresses. */
  unknown_addresses: number
  silence_ms: number
  connection_ms: number
  store_ms: number
}

const MAX_BYTES = 10 * 1024 * 1024

export const INTAKE_LIMITS: IntakeLimits = {
  clients: 50,
  // The number of connections that Postfix opens to one server.
  clients_of_site: 20,
  recipients: 10,
  unknown_addresses: 10,
  silence_ms: 60_000,
  connection_ms: 300_000,
  store_ms: 30_000,
}

/**
 * Receives mail from other servers to `b+<token>@bounce_domain`, by SMTP (RFC 5321): delivery status notifications and
 * feedback reports. It relays nothing, has no users and answers no mail. It refuses an address that is not ours (550),
 * acknowledges a mail after its reports are stored (250), and requests a retry if they could not be stored (451). A
 * mail without a usable report is acknowledged and dropped, because a refusal would cause a bounce of a bounce.
 * @throws Error if the server cannot listen on the port.
 */
export async function listenForMail({
  intake,
  sink,
  limits = INTAKE_LIMITS,
  ...recipients
}: Recipients & { intake: IntakeSettings; sink: Sink; limits?: IntakeLimits }): Promise<Listening> {
  const { SMTPServer } = await import('smtp-server')
  const counts = { taken: 0, dropped: 0, refused: 0 }
  const unknown = new WeakMap<SMTPServerSession, number>()
  /** The ids of the sessions whose mail is being received. */
  const busy = new Set<string>()
  let closing = false
  const receive = createReceiving({ recipients, sink, limits, counts })

  const server = new SMTPServer({
    name: recipients.bounce_domain,
    banner: 'reports only',
    // AUTH: there are no users. STARTTLS: the private key of the library's certificate is public.
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    size: intake.max_bytes ?? MAX_BYTES,
    maxClients: limits.clients,
    maxRecipients: limits.recipients,
    socketTimeout: limits.silence_ms,
    onRcptTo({ address }, session, done) {
      if (recipientOf(recipients, address)) return done()
      counts.refused += 1
      const tried = (unknown.get(session) ?? 0) + 1
      unknown.set(session, tried)
      done(
        tried < limits.unknown_addresses
          ? answer(550, 'No such address')
          : answer(421, 'Too many unknown addresses'),
      )
    },
    onData(stream, session, done) {
      busy.add(session.id)
      receive(stream, session)
        .then(
          () => done(),
          (error: unknown) => done(error instanceof Error ? error : answer(451, TRY_AGAIN)),
        )
        .finally(() => {
          busy.delete(session.id)
          // Waits until the answer to the mail is written.
          if (closing) setImmediate(closeIdle)
        })
    },
    onClose: ({ id }) => void busy.delete(id),
  })
  const sockets = limitConnections(server.server, limits)

  /** Ends the connections on which no mail is being received. */
  function closeIdle(): void {
    for (const connection of server.connections) {
      if (!busy.has(connection.session.id)) connection.send(421, 'Closing')
    }
  }

  server.on('error', ({ code }: NodeJS.ErrnoException) => {
    // This error ends one connection. A failure to listen is thrown.
    if (!server.server.listening) return
    sink.note('info', 'a connection of the mail intake failed', { code: code ?? 'unknown' })
  })
  server.listen(intake.port, intake.host)
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  const name = `${intake.host}:${port}`

  return {
    states() {
      const { taken, dropped, refused } = counts
      const detail = `${taken} reports taken, ${dropped} mails dropped, ${refused} addresses refused`
      return [{ name, state: closing ? 'down' : 'up', detail }]
    },
    async close(grace_ms) {
      if (closing) return
      closing = true
      server.options.closeTimeout = Math.max(1, grace_ms)
      const closed = new Promise<void>((resolve) => server.close(resolve))
      closeIdle()
      await closed
      for (const socket of sockets.keys()) socket.destroy()
    },
  }
}

/** The number of leading address bits that make a network for `clients_of_site`. */
const SITE_BITS = { ipv4: 32, ipv6: 48 } as const

const TRY_AGAIN = 'It could not be stored. Please try again later'

/** Limits the connections of one network and the duration of each connection. Returns the open connections. */
function limitConnections(server: Server, limits: IntakeLimits): ReadonlyMap<Socket, string> {
  /** Each open connection with its network. */
  const sockets = new Map<Socket, string>()
  server.on('connection', (socket) => {
    const site = networkOf(socket.remoteAddress ?? '', SITE_BITS) ?? ''
    const others = [...sockets.values()].filter((one) => one === site).length
    if (others >= limits.clients_of_site) {
      // Refused here, because the library delays its refusal and counts the client until then.
      socket.write('421 Too many connections from your network. Please try again later\r\n')
      return socket.destroySoon()
    }
    sockets.set(socket, site)
    const cut = setTimeout(() => socket.destroy(), limits.connection_ms)
    socket.once('close', () => {
      clearTimeout(cut)
      sockets.delete(socket)
    })
  })
  return sockets
}

/** Stores the reports of a mail. */
function createReceiving({
  recipients,
  sink,
  limits,
  counts,
}: {
  recipients: Recipients
  sink: Sink
  limits: IntakeLimits
  counts: { taken: number; dropped: number }
}) {
  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const raw = await beginningOf(stream)
    if (stream.sizeExceeded) throw answer(552, 'The mail is too large')
    const to = session.envelope.rcptTo.flatMap(
      ({ address }) => recipientOf(recipients, address) ?? [],
    )
    const reports = await reportsIn(raw, to)
    if (reports.length === 0) {
      counts.dropped += 1
      return
    }
    try {
      await within(limits.store_ms, sink.receive(reports), () => {
        throw new Error('it took too long')
      })
    } catch (error) {
      sink.note('error', 'a mail could not be stored', { err: error })
      throw answer(451, TRY_AGAIN)
    }
    counts.taken += 1
  }

  async function reportsIn(raw: Uint8Array, to: readonly Recipient[]): Promise<Report[]> {
    const report = await readMailReport(raw)
    const refs = to.flatMap((one) => {
      if (one.type === 'message') return one.ref
      return (report && provenIn(recipients, report.evidence)) ?? []
    })
    const reports = report ? unique(refs).flatMap((ref) => reportsOf(report, ref)) : []
    if (reports.length === 0) {
      sink.note('info', 'a mail without a usable report was dropped', {
        kind: report?.type ?? 'no report',
        message_ids: refs.map(({ message_id }) => message_id),
      })
    }
    return reports
  }

  return receive
}

function answer(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode })
}

/** Reads the whole mail, because the answer follows the mail's end. Keeps only the part that may contain reports. */
async function beginningOf(stream: SMTPServerDataStream): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (length >= REPORT_BYTES_READ) continue
    chunks.push(chunk)
    length += chunk.length
  }
  return Buffer.concat(chunks)
}

function unique(refs: readonly MessageRef[]): MessageRef[] {
  return [...new Map(refs.map((ref) => [ref.message_id, ref])).values()]
}

/** The domain of the addresses for reports, and the secret of their tokens. */
interface Recipients {
  bounce_domain: string
  secret: string
}

/**
 * The recipient of a mail to the service: a message, which its token identifies, or the address for complaints. A
 * complaint must contain a proof, because any person may write to that address.
 */
type Recipient = { type: 'message'; ref: MessageRef } | { type: 'complaints' }

/** The address for feedback reports of mailbox providers, which the operator registers with them. */
const COMPLAINTS = 'fbl'

const TOKENS_MAX = 20

/** Returns null for an address that is not ours. Upper and lower case are equal. */
function recipientOf({ bounce_domain, secret }: Recipients, address: string): Recipient | null {
  const at = address.lastIndexOf('@')
  if (address.slice(at + 1).toLowerCase() !== bounce_domain.toLowerCase()) return null
  const local = address.slice(0, Math.max(at, 0)).toLowerCase()
  if (local === COMPLAINTS) return { type: 'complaints' }
  const ref = local.startsWith('b+') ? readMessageToken(secret, 'bounce', local.slice(2)) : null
  return ref ? { type: 'message', ref } : null
}

/**
 * Finds the message whose token is in the returned part of a report: in our envelope sender or unsubscribe link. Null
 * if there is no token. An id without a token proves nothing: a reader of one mail could guess the ids of others.
 */
function provenIn({ secret }: Recipients, evidence: string): MessageRef | null {
  const found = evidence.matchAll(/(?<![0-9a-z])[0-9a-z]{62}(?![0-9a-z])/gi)
  let checked = 0
  for (const [token] of found) {
    const ref =
      readMessageToken(secret, 'bounce', token) ?? readMessageToken(secret, 'unsubscribe', token)
    if (ref) return ref
    checked += 1
    if (checked === TOKENS_MAX) break
  }
  return null
}
