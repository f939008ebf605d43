import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/**
 * How often connections that have become idle are looked for: seldom, so that a client which got the answer to a request from
 * before the end, and sends again at once, is nearly always heard and told that the connection ends.
 */
const IDLE_CHECK_MS = 250

/** So many turns of the event loop may pass until all are taken that had connected before the end. */
const TURNS_MAX = 1_000

/** And so long. */
const TAKE_MAX_MS = 1_000

/**
 * Takes no more connections, and resolves when the open ones have ended or `linger_ms` have passed. Until then requests
 * that arrive on them are to be answered with `Connection: close`: a client that keeps its connection, and sends in the
 * very moment in which it is closed, sees a reset and cannot know what became of its request.
 */
export async function stopListening(server: Server, linger_ms: number): Promise<void> {
  await takeWaiting(server)
  const closed = once(server, 'close')
  // That of the HTTP server would also close idle connections.
  NetServer.prototype.close.call(server)
  const waiting = new AbortController()
  const over = pause(linger_ms, undefined, waiting).catch(() => {})
  await Promise.race([closed, over])
  waiting.abort()
}

/** Connections that the kernel has accepted, and we have not, would be reset with what was sent over them. */
async function takeWaiting(server: Server): Promise<void> {
  let taken = 0
  const count = () => {
    taken += 1
  }
  server.on('connection', count)
  // The first turn may be half over. Each takes one connection at least, where any waits.
  await turn()
  // Clients that reconnect at once would feed the loop for as long as its turns last.
  const until = performance.now() + TAKE_MAX_MS
  for (
    let i = 0, before = -1;
    i < TURNS_MAX && before !== taken && performance.now() < until;
    i++
  ) {
    before = taken
    await turn()
  }
  server.off('connection', count)
}

/** Ends connections once they are idle, and after `grace_ms` all that are left. */
export function hangUp(server: Server, grace_ms: number): void {
  // Those that were busy when the server stopped listening would be kept for their next request.
  const sweeping = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const cut = setTimeout(() => server.closeAllConnections(), grace_ms)
  server.once('close', () => {
    clearInterval(sweeping)
    clearTimeout(cut)
  })
}
