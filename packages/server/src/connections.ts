import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** So many more are told that there are too many; any beyond are closed unanswered. */
const REFUSED_MAX = 1_000

/** The connections beyond those that a server serves at once. */
export interface ConnectionBound {
  /** Whether a connection was opened when there were as many as may be. It carries one request. */
  isBeyond(socket: Socket): boolean
}

export function boundConnections(server: Server, max: number): ConnectionBound {
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

/** The most connections that the kernel lets wait on any socket; null where it does not say. */
export function readSomaxconn(file = '/proc/sys/net/core/somaxconn'): number | null {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null
  } catch {
    return null
  }
}
