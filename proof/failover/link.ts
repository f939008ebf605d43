import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP port on loopback that leads to a socket file of PostgreSQL, as a network that can fail. */
export interface Link {
  port: number
  /** From now on nothing arrives at the other side, not even the end of a connection. */
  cut(): void
  /** Ends the cut: what was sent meanwhile arrives now. */
  mend(): void
  /** Notes each statement that a client runs from now on; returns a function that ends this and returns the texts. */
  watch(): () => string[]
  close(): Promise<void>
}

/** Opens a link to a socket file, at which a server need not listen yet. */
export async function openLink(socketFile: string): Promise<Link> {
  const open = new Set<Socket>()
  const watchers = new Set<string[]>()
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
    const statementsIn = createReader()
    near.on('data', (chunk) => {
      const texts = statementsIn(chunk)
      for (const noted of watchers) noted.push(...texts)
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
    watch() {
      const noted: string[] = []
      watchers.add(noted)
      return () => {
        watchers.delete(noted)
        return noted
      }
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      mend()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/**
 * Reads the messages of one client, and returns the texts of the statements that each chunk completes: of a simple query, and of each
 * statement that is bound. Source: PostgreSQL documentation, 55.7 "Message Formats".
 */
function createReader(): (chunk: Buffer) => string[] {
  const prepared = new Map<string, string>()
  let rest: Buffer = Buffer.alloc(0)
  let isStarted = false
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const texts: string[] = []
    for (;;) {
      // The first message has no type.
      const head = isStarted ? 1 : 0
      if (rest.length < head + 4) return texts
      const end = head + rest.readInt32BE(head)
      if (rest.length < end) return texts
      const type = isStarted ? String.fromCharCode(rest[0] as number) : ''
      if (type === 'Q' || type === 'P' || type === 'B') {
        const [first = '', second = ''] = rest.toString('utf8', head + 4, end).split('\0', 2)
        if (type === 'Q') texts.push(first)
        if (type === 'P') prepared.set(first, second)
        if (type === 'B') texts.push(prepared.get(second) ?? second)
      }
      isStarted = true
      rest = rest.subarray(end)
    }
  }
}
