import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { CERTIFICATE, CERTIFICATE_KEY } from './send-certificate.ts'

/** Where a server of a script can speak: before anything, after a command, after the final dot. */
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
 * A reply as it goes out, without its line break at the end; or nothing for ever (`hang`); or the end of the connection
 * (`drop`). To `DATA` also an end in the middle of the mail (`cut`), or reading no more of it (`stall`).
 */
export type Act = string

export interface ScriptedServer {
  port: number
  /** What was said to it, over all connections, in its order; `dot` once a mail was there whole. */
  heard: readonly string[]
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
 * A mail server made of nothing but sockets that says what it is told to, in the places that are given, and else what is
 * polite. An act that is a list is used up one for each time, its last one for ever.
 */
export async function startScript(
  script: Partial<Record<Verb, Act | readonly Act[]>>,
  { tls = false }: { tls?: boolean } = {},
): Promise<ScriptedServer> {
  const heard: string[] = []
  const sockets = new Set<Socket>()
  const used = new Map<Verb, number>()

  function actOf(verb: Verb): Act {
    const given = script[verb] ?? POLITE[verb]
    if (typeof given === 'string') return given
    const at = used.get(verb) ?? 0
    used.set(verb, at + 1)
    return given[Math.min(at, given.length - 1)] ?? POLITE[verb]
  }

  /** Whether it went on. */
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
          heard.push('dot')
          act(socket, 'dot')
          continue
        }
        heard.push(line)
        const verb = line.slice(0, 4).toUpperCase() === 'STAR' ? 'STARTTLS' : line.slice(0, 4)
        const wentOn = act(socket, verb as Verb)
        isData = verb === 'DATA' && wentOn
        if (verb === 'STARTTLS' && wentOn) {
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
    heard,
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
