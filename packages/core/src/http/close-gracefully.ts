import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/**
 * The interval between searches for idle connections. It is long, so that a client that sends again right after an
 * answer nearly always gets another answer, which announces the end of the connection.
 */
const IDLE_CHECK_MS = 250

/** After this time without a connection, the clients of the requests in flight have come back with their next one. */
const CALM_MS = 20

/** If connections keep coming, they are accepted for this time and until a short turn of the event loop, or for the longest time. */
const ACCEPT_MIN_MS = 200
const ACCEPT_MAX_MS = 1_000
const SHORT_TURN_MS = 0.1

/** Clients that send often send again within this time, and the answer announces the end of the connection. */
const LINGER_MS = 1_000

/** Kubernetes and systemd kill a process 30 s and more after their signal. */
const GRACE_MS = 25_000

/** How much of the time the connections may use; the rest is for the work in flight of the core. */
const CONNECTIONS_MAX_MS = 10_000

/** A program's HTTP server: of `node:http`, or of a framework such as Fastify that has a `server` and a `close`. */
export type ClosableHost = NetServer | { server: NetServer; close(): PromiseLike<unknown> }

/** What is closed after the server: the handler of `createHandler`, then the core. */
export interface Closable {
  close(options?: { grace_ms?: number }): Promise<unknown>
}

/**
 * Ends a program's HTTP server, then `parts` in their order, for example the core. Requests in flight are answered. Each later
 * answer has `Connection: close`, so that kept connections end; connections that wait to be accepted are served. Everything ends
 * within `grace_ms` (default: 25 s): connections that are still open after at most 10 s are cut, and the core gets the rest of the
 * time for work in flight. Call it once, on SIGTERM.
 */
export async function closeGracefully(
  host: ClosableHost,
  parts: Closable | readonly Closable[],
  { grace_ms = GRACE_MS }: { grace_ms?: number } = {},
): Promise<void> {
  const until = performance.now() + grace_ms
  const left_ms = () => Math.max(0, Math.floor(until - performance.now()))
  const server = 'server' in host ? host.server : host
  server.prependListener('request', announceEnd)
  await stopListening(server, Math.min(LINGER_MS, left_ms() / 2))
  closeConnections(server, Math.min(CONNECTIONS_MAX_MS, left_ms() / 2))
  const closed = closedOf(server).then(() => ('server' in host ? host.close() : undefined))
  // Connections that were upgraded, for example to WebSocket, belong to the program: they hold up nothing here.
  const waiting = new AbortController()
  await Promise.race([closed, pause(left_ms() / 2, undefined, waiting).catch(() => {})])
  waiting.abort()
  for (const part of [parts].flat()) await part.close({ grace_ms: left_ms() })
}

/** Connections of HTTP/2 end with the session, and its answers must not have the header (RFC 9113, section 8.2.2). */
function announceEnd({ httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  if (httpVersionMajor === 1) response.setHeader('connection', 'close')
}

/** Resolves when a server that does not listen has no connection. */
function closedOf(server: NetServer): Promise<void> {
  return new Promise((resolve) => {
    // The callback of a server that was closed before gets an error, and is called as soon as no connection is open.
    NetServer.prototype.close.call(server, () => resolve())
  })
}

/**
 * Accepts no more connections, and resolves when the open connections have ended, or after `linger_ms`. Until then,
 * answers to requests on open connections must have `Connection: close`: a client that sends while its connection is
 * being closed sees a reset and cannot know the outcome of its request.
 */
export async function stopListening(server: NetServer, linger_ms: number): Promise<void> {
  const release = holdRequests(server)
  await acceptWaiting(server)
  const closed = once(server, 'close')
  // `close` of the HTTP server would also close idle connections.
  NetServer.prototype.close.call(server)
  release()
  const waiting = new AbortController()
  const over = pause(linger_ms, undefined, waiting).catch(() => {})
  await Promise.race([closed, over])
  waiting.abort()
}

/**
 * Accepts the connections that wait in the kernel: it would reset them and discard their requests. Resolves right after a short
 * turn of the event loop that accepted none, so that hardly one can have arrived since, and if possible when none came for a while.
 */
async function acceptWaiting(server: NetServer): Promise<void> {
  const began = now_ms()
  // The current turn may be past the phase that accepts connections. If connections wait, each turn accepts at least
  // one of them.
  await turn()
  let accepted_at = now_ms()
  const accepting = () => {
    accepted_at = now_ms()
  }
  server.on('connection', accepting)
  for (let before = accepted_at; ; ) {
    await turn()
    const now = now_ms()
    const isCalm = now - accepted_at >= CALM_MS
    const isEnough = isCalm || now - began > ACCEPT_MIN_MS
    const isShort = accepted_at < before && now - before < SHORT_TURN_MS
    if ((isEnough && isShort) || now - began > ACCEPT_MAX_MS) break
    before = now
  }
  server.off('connection', accepting)
}

/** A monotonic clock, in milliseconds. A false `performance` of a host's tests does not stop it. */
function now_ms(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Keeps requests back until the returned function is called. Their answers would bring new connections. */
function holdRequests(server: NetServer): () => void {
  const listeners = server.rawListeners('request') as ((...request: unknown[]) => void)[]
  const held: unknown[][] = []
  const hold = (...request: unknown[]) => void held.push(request)
  server.removeAllListeners('request')
  server.on('request', hold)
  return () => {
    server.off('request', hold)
    for (const listener of listeners) server.on('request', listener)
    for (const request of held) server.emit('request', ...request)
  }
}

/** Closes connections once they are idle, and all others after `grace_ms`. */
export function closeConnections(server: NetServer, grace_ms: number): void {
  // Servers of HTTP/2 and of other protocols end their connections themselves.
  const closing = 'closeIdleConnections' in server ? (server as Server) : null
  // If a connection was busy when the server stopped listening, Node would keep it open for its next request.
  const sweeping = setInterval(() => closing?.closeIdleConnections(), IDLE_CHECK_MS)
  const cut = setTimeout(() => closing?.closeAllConnections(), grace_ms)
  // Open connections keep the process running, and without them there is nothing to do.
  sweeping.unref()
  cut.unref()
  server.once('close', () => {
    clearInterval(sweeping)
    clearTimeout(cut)
  })
}
