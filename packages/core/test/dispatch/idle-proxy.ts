import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

/** A peer as one meets it behind a server that closes idle connections. */
export interface IdleProxy {
  port: number
  /** When something last passed, by `performance.now()`; 0 before that. */
  lastPassed(): number
  /** Closes the connections that have been idle for so long. Before that it closes none, so that no message crosses a close. */
  begin(): void
  /** How many connections pass through it now. */
  open(): number
  /** How many connections it has closed because nothing passed. */
  closed(): number
  close(): Promise<void>
}

/**
 * Passes bytes on to a port of this machine, and closes a connection through which nothing went for so long as
 * `idle_ms` says of the nth: as servers do it, without notice. Bytes written to a closed connection are lost.
 */
export async function openIdleProxy(
  port: number,
  idle_ms: (nth: number) => number,
): Promise<IdleProxy> {
  const sockets = new Set<Socket>()
  let count = 0
  let closed = 0
  let last = 0
  let hasBegun = false
  /** Those that are idle before `begin`. */
  const waiting = new Set<() => void>()
  const server = createServer({ noDelay: true }, (client) => {
    const peer = connect({ port, host: '127.0.0.1', noDelay: true })
    const max_ms = idle_ms(count++)
    let isIdle = false
    const end = () => {
      clearTimeout(timer)
      waiting.delete(closeIdle)
      client.destroy()
      peer.destroy()
    }
    function closeIdle() {
      if (!isIdle || client.destroyed) return
      closed += 1
      end()
    }
    const timer = setTimeout(async () => {
      isIdle = true
      // On a busy machine the timer comes before bytes that have long arrived: this turn reads them.
      await turn()
      if (hasBegun) closeIdle()
      else waiting.add(closeIdle)
    }, max_ms)
    for (const [from, to] of [
      [client, peer],
      [peer, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        last = performance.now()
        isIdle = false
        timer.refresh()
        to.write(chunk)
      })
      from.on('error', end)
      from.on('close', () => {
        sockets.delete(from)
        end()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    lastPassed: () => last,
    begin() {
      hasBegun = true
      for (const closeIdle of waiting) closeIdle()
    },
    open: () => sockets.size / 2,
    closed: () => closed,
    async close() {
      const ended = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await ended
    },
  }
}
