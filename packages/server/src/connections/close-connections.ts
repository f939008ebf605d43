import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/**
 * The interval between searches for idle connections. It is long, so that a client that sends again right after an
 * answer nearly always gets another answer, which announces the end of the connection.
 */
const IDLE_CHECK_MS = 250

/** The maximum number of turns of the event loop in which waiting connections are accepted. */
const TURNS_MAX = 1_000

/** The maximum time for accepting waiting connections. */
const ACCEPT_MAX_MS = 1_000

/**
 * Accepts no more connections, and resolves when the open connections have ended, or after `linger_ms`. Until then,
 * answers to requests on open connections must have `Connection: close`: a client that sends while its connection is
 * being closed sees a reset and cannot know the outcome of its request.
 */
export async function stopListening(server: Server, linger_ms: number): Promise<void> {
  await acceptWaiting(server)
  const closed = once(server, 'close')
  // `close` of the HTTP server would also close idle connections.
  NetServer.prototype.close.call(server)
  const waiting = new AbortController()
  const over = pause(linger_ms, undefined, waiting).catch(() => {})
  await Promise.race([closed, over])
  waiting.abort()
}

/** Accepts the connections that wait in the kernel. Otherwise the kernel would reset them and discard their requests. */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = 0
  const count = () => {
    accepted += 1
  }
  server.on('connection', count)
  // The current turn may be past the phase that accepts connections. If connections wait, each turn accepts at least
  // one of them.
  await turn()
  // The time is limited, because clients that reconnect at once would keep the loop running.
  const until = performance.now() + ACCEPT_MAX_MS
  for (
    let i = 0, before = -1;
    i < TURNS_MAX && before !== accepted && performance.now() < until;
    i++
  ) {
    before = accepted
    await turn()
  }
  server.off('connection', count)
}

/** Closes connections once they are idle, and all others after `grace_ms`. */
export function closeConnections(server: Server, grace_ms: number): void {
  // If a connection was busy when the server stopped listening, Node would keep it open for its next request.
  const sweeping = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const cut = setTimeout(() => server.closeAllConnections(), grace_ms)
  server.once('close', () => {
    clearInterval(sweeping)
    clearTimeout(cut)
  })
}
