import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** The number of connections above the limit that get a refusal. Further connections are closed without an answer. */
const REFUSED_MAX = 1_000

/** The limit of the connections that a server serves at once. */
export interface ConnectionLimit {
  /** Whether a connection was opened when the limit was reached. Such a connection carries one request. */
  isBeyond(socket: Socket): boolean
}

export function limitConnections(server: Server, max: number): ConnectionLimit {
  const beyond = new WeakSet<Socket>()
  let open = 0
  server.maxConnections = max + REFUSED_MAX
  server.on('connection', (socket: Socket) => {
    open += 1
    if (open > max) beyond.add(socket)
    socket.once('close', () => {
      open -= 1
    })
  })
  return { isBeyond: (socket) => beyond.has(socket) }
}

/** The kernel's limit of connections that wait on one socket; null if it is unknown. */
export function readSomaxconn(file = '/proc/sys/net/core/somaxconn'): number | null {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null
  } catch {
    return null
  }
}
