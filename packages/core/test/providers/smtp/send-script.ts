import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { CERTIFICATE, CERTIFICATE_KEY } from './send-certificate.ts'

/** The points at which a scripted server answers: first, after a command, after the final dot. */
export type Verb =
  | 'greeting'
  | 'EHLO'
  | 'HELO'
  | 'STARTTLS'
  | 'AUTH'
  | 'MAIL'
  | 'RCPT'
  | 'DATA'
  | 'dot'
  | 'RSET'
  | 'QUIT'

/**
 * A reply without its final line break; or no reply (`hang`); or the end of the connection (`drop`). For `DATA` also an end in
 * the middle of the mail (`cut`), or no further reading (`stall`).
 */
export type Act = string

export interface ScriptedServer {
  port: number
  /** The commands of all connections in order; `dot` after a complete mail. */
  commands: readonly string[]
  connections(): number
  close(): Promise<void>
}

const POLITE: Record<Verb, Act> = {
  greeting: '220 mail.example ESMTP',
  EHLO: '250-mail.example\r\n250-AUTH PLAIN\r\n250 ENHANCEDSTATUSCODES',
  HELO: '250 mail.example',
  STARTTLS: '220 2.0.0 Go ahead',
  AUTH: '235 2.7.0 Welcome',
  MAIL: '250 2.1.0 OK',
  RCPT: '250 2.1.5 OK',
  DATA: '354 Go ahead',
  dot: '250 2.0.0 Queued',
  RSET: '250 2.0.0 OK',
  QUIT: '221 2.0.0 Bye',
}

/**
 * A mail server of plain sockets that answers as the script says, and by default accepts everything. A list of acts is used
 * in order, and its last act for all further times.
 */
export async function startScript(
  script: Partial<Record<Verb, Act | readonly Act[]>>,
  { tls = false }: { tls?: boolean } = {},
): Promise<ScriptedServer> {
  const commands: string[] = []
  const sockets = new Set<Socket>()
  const used = new Map<Verb, number>()

  function actOf(verb: Verb): Act {
    const acts = script[verb] ?? POLITE[verb]
    if (typeof acts === 'string') return acts
    const at = used.get(verb) ?? 0
    used.set(verb, at + 1)
    return acts[Math.min(at, acts.length - 1)] ?? POLITE[verb]
  }

  /** Returns whether the dialogue continues. */
  function act(socket: Socket, verb: Verb): boolean {
    const what = actOf(verb)
    if (what === 'drop') socket.destroy()
    else if (what === 'cut' || what === 'stall') {
      socket.write(`${POLITE.DATA}\r\n`)
      if (what === 'cut') socket.once('data', () => socket.destroy())
      else socket.pause()
    } else if (what !== 'hang') socket.write(`${what}\r\n`)
    return /^[23]|^(?:cut|stall)$/.test(what)
  }

  function serve(socket: Socket): void {
    let held = ''
    let isData = false
    socket.on('error', () => {})
    const onData = (chunk: Buffer) => {
      held += chunk.toString('latin1')
      for (;;) {
        const end = isData ? '\r\n.\r\n' : '\r\n'
        const at = held.indexOf(end)
        if (at < 0) return
        const line = held.slice(0, at)
        held = held.slice(at + end.length)
        if (isData) {
          isData = false
          commands.push('dot')
          act(socket, 'dot')
          continue
        }
        commands.push(line)
        const verb = line.slice(0, 4).toUpperCase() === 'STAR' ? 'STARTTLS' : line.slice(0, 4)
        const continues = act(socket, verb as Verb)
        isData = verb === 'DATA' && continues
        if (verb === 'STARTTLS' && continues) {
          socket.off('data', onData)
          serve(secured(socket))
          return
        }
      }
    }
    socket.on('data', onData)
  }

  const server = createServer((plain) => {
    sockets.add(plain)
    plain.on('close', () => sockets.delete(plain))
    plain.on('error', () => {})
    const socket = tls ? secured(plain) : plain
    serve(socket)
    act(socket, 'greeting')
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
  return {
    port,
    commands,
    connections: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function secured(socket: Socket): TLSSocket {
  const secureContext = createSecureContext({ key: CERTIFICATE_KEY, cert: CERTIFICATE })
  return new TLSSocket(socket, { isServer: true, secureContext })
}
