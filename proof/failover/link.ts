import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP port on loopback that leads to a socket file, as a network that can fail. */
export interface Link {
  port: number
  /** From now on nothing arrives at the other side, not even the end of a connection. */
  cut(): void
  /** Ends the cut: what was sent meanwhile arrives now. */
  mend(): void
  close(): Promise<void>
}

/** Opens a link to a socket file, at which a server need not listen yet. */
export async function openLink(socketFile: string): Promise<Link> {
  const open = new Set<Socket>()
  let held: (() => void)[] | null = null
  /** Runs a change of the other side at once, or after the cut. */
  const pass = (change: () => void) => void (held ? held.push(change) : change())
  const keep = (socket: Socket, other: () => Socket) => {
    open.add(socket)
    socket
      .on('error', () => {})
      .on('data', (chunk) => pass(() => other().write(chunk)))
      .once('close', () => {
        open.delete(socket)
        pass(() => other().destroy())
      })
  }
  const server = createServer((near) => {
    let far: Socket | undefined
    pass(() => {
      far = connect(socketFile)
      keep(far, () => near)
    })
    keep(near, () => far as Socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  function mend(): void {
    const changes = held ?? []
    held = null
    for (const change of changes) change()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      held ??= []
    },
    mend,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      mend()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
