import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { CERTIFICATE, CERTIFICATE_KEY } from './send-certificate.ts'

/** A mail that the sink has read to its end. */
export interface SunkMail {
  /** The envelope, with the parameters of each address. */
  from: { address: string; args: Record<string, unknown> }
  to: { address: string; args: Record<string, unknown> }[]
  raw: string
  /** Whether the sink accepted the mail, whatever its answer. */
  accepted: boolean
  /** Whether it came over TLS, and the user that logged in. */
  secure: boolean
  user: string | null
}

/** What the sink does with a mail to an address. A reply is complete: `550 5.1.1 No such user`. */
export type Play =
  | { at: 'rcpt' | 'data'; reply: string }
  /** Accepts the mail and does not answer. */
  | { at: 'data'; reply: 'hang' }
  /** Accepts the mail and closes the connection. */
  | { at: 'data'; reply: 'drop' }

export interface SmtpSink {
  url: string
  port: number
  mails: readonly SunkMail[]
  /** Sets what happens to further mails to this address. */
  meet(address: string, play: Play): void
  connections(): number
  /** Closes all connections. */
  cut(): void
  /** Makes all passwords invalid, and closes all connections. */
  revoke(): void
  /** Closes all connections, and stops listening. */
  close(): Promise<void>
}

export interface SinkOptions {
  /** The one valid login; default: no login is necessary. */
  credentials?: { user: string; password: string }
  tls?: 'none' | 'starttls' | 'from_the_start'
  onMail?(mail: SunkMail): void
}

/** A mail server that keeps all mails, on a free port. */
export async function startSmtpSink({
  credentials,
  tls = 'none',
  onMail = () => {},
}: SinkOptions = {}): Promise<SmtpSink> {
  const mails: SunkMail[] = []
  const plays = new Map<string, Play>()
  const sockets = new Set<Socket>()
  const socketOf = new Map<number, Socket>()
  let isRevoked = false

  const server = new SMTPServer({
    secure: tls === 'from_the_start',
    key: CERTIFICATE_KEY,
    cert: CERTIFICATE,
    disabledCommands: [
      ...(tls === 'starttls' ? [] : ['STARTTLS']),
      ...(credentials ? [] : ['AUTH']),
    ],
    // The library adds nothing to the replies of the plays.
    hideENHANCEDSTATUSCODES: true,
    hideDSN: false,
    allowInsecureAuth: tls === 'none',
    authOptional: credentials === undefined,
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1,
    onAuth({ username, password }, _session, done) {
      const isRight =
        !isRevoked && username === credentials?.user && password === credentials?.password
      if (isRight) done(null, { user: username })
      else done(answer('535 5.7.8 Authentication failed'))
    },
    onRcptTo({ address }, _session, done) {
      const play = plays.get(address)
      done(play?.at === 'rcpt' ? answer(play.reply) : undefined)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const play = plays.get(session.envelope.rcptTo[0]?.address ?? '')
        const reply = play?.at === 'data' ? play.reply : null
        const accepted = reply === null || reply === 'hang' || reply === 'drop'
        const mail = { ...sunk(session, Buffer.concat(chunks).toString()), accepted }
        mails.push(mail)
        onMail(mail)
        if (reply === 'drop') socketOf.get(session.remotePort)?.destroy()
        else if (reply !== 'hang') done(reply === null ? null : answer(reply))
      })
    },
  } as ConstructorParameters<typeof SMTPServer>[0])
  server.server.on('connection', (socket) => {
    const { remotePort = 0 } = socket
    sockets.add(socket)
    socketOf.set(remotePort, socket)
    socket.on('close', () => {
      sockets.delete(socket)
      socketOf.delete(remotePort)
    })
  })
  // Tests cut connections.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  const user = credentials ? `${credentials.user}:${credentials.password}@` : ''
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy()
  }

  return {
    url: `smtp${tls === 'from_the_start' ? 's' : ''}://${user}127.0.0.1:${port}`,
    port,
    mails,
    meet: (address, play) => void plays.set(address, play),
    connections: () => sockets.size,
    cut: closeConnections,
    revoke() {
      isRevoked = true
      closeConnections()
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(resolve))
      closeConnections()
      await closed
    },
  }
}

function answer(reply: string): Error {
  const [, code, text] = /^(\d{3}) (.*)$/.exec(reply) ?? []
  return Object.assign(new Error(text), { responseCode: Number(code) })
}

type Path = { address: string; args?: unknown }

function sunk(session: SMTPServerSession, raw: string): Omit<SunkMail, 'accepted'> {
  const { mailFrom, rcptTo } = session.envelope
  const from = mailFrom || { address: '' }
  return {
    from: pathOf(from),
    to: rcptTo.map(pathOf),
    raw,
    secure: session.secure,
    user: session.user ?? null,
  }
}

function pathOf({ address, args }: Path): { address: string; args: Record<string, unknown> } {
  return { address, args: { ...(args as object) } }
}

/** The fields of a mail's header, unfolded, in order. */
export function headersOf(raw: string): [name: string, value: string][] {
  const [head = ''] = raw.split('\r\n\r\n', 1)
  return head
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const sink = await startSmtpSink({
    onMail: ({ from, to, raw }) =>
      console.log(
        JSON.stringify(
          { from: from.address, to: to.map(({ address }) => address), headers: headersOf(raw) },
          null,
          2,
        ),
      ),
  })
  console.log(`SVC_SMTP_URL=${sink.url} SVC_MAIL_DOMAIN=mail.example`)
}
