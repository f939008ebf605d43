import type { Server, Socket } from 'node:net'
import { CLIENT_BITS, networkOf } from '@svc/core/contract'
import type { InletLimits } from './limits.ts'

/** The open connections of the inlet. */
export interface Connections {
  readonly count: number
  /** Removes the time limit for the login of a connection. */
  noteLogin(session: Peer): void
  /** Ends all connections at once. */
  destroy(): void
}

/** The ends of a connection. */
interface Peer {
  remoteAddress?: string | undefined
  remotePort?: number | undefined
  localPort?: number | undefined
}

/** The size of the network that one site gets. */
const SITE_BITS = { ipv4: 32, ipv6: 48 } as const

/**
 * Limits the connections of all ports together and of each network, and the duration of each connection. Answers the
 * connections beyond a limit itself, because the library delays its refusal and counts the client until then.
 */
export function createConnections(
  limits: Pick<
    InletLimits,
    'connections' | 'connections_of_network' | 'connection_ms' | 'login_ms'
  >,
): Connections & { watch(server: Server, isPlain: boolean): void } {
  const sockets = new Map<Socket, string>()
  const perSite = new Map<string, number>()
  /** The time limits of the connections without a login. */
  const strangers = new Map<string, NodeJS.Timeout>()

  function forget(name: string): void {
    clearTimeout(strangers.get(name))
    strangers.delete(name)
  }

  function add(socket: Socket, site: string): void {
    sockets.set(socket, site)
    perSite.set(site, (perSite.get(site) ?? 0) + 1)
    const cut = setTimeout(() => socket.destroy(), limits.connection_ms)
    const name = nameOf(socket)
    strangers.set(
      name,
      setTimeout(() => socket.destroy(), limits.login_ms),
    )
    socket.once('close', () => {
      clearTimeout(cut)
      forget(name)
      sockets.delete(socket)
      const rest = (perSite.get(site) ?? 1) - 1
      if (rest > 0) perSite.set(site, rest)
      else perSite.delete(site)
    })
  }

  return {
    get count() {
      return sockets.size
    },
    watch(server, isPlain) {
      server.prependListener('connection', (socket: Socket) => {
        const site = networkOf(socket.remoteAddress ?? '', SITE_BITS) ?? ''
        const isFull = sockets.size >= limits.connections
        if (!isFull && (perSite.get(site) ?? 0) < limits.connections_of_network) {
          return add(socket, site)
        }
        // A TLS client reads no text before the handshake.
        if (isPlain) socket.write('421 4.7.0 Too many connections. Please try again later\r\n')
        socket.destroySoon()
      })
    },
    noteLogin: (session) => forget(nameOf(session)),
    destroy() {
      for (const socket of sockets.keys()) socket.destroy()
    },
  }
}

function nameOf({ remoteAddress = '', remotePort = 0, localPort = 0 }: Peer): string {
  return `${networkOf(remoteAddress, CLIENT_BITS)} ${remotePort} ${localPort}`
}
