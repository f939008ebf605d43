import { createRequire } from 'node:module'
import type { LookupFunction } from 'node:net'
import type { Agent, buildConnector, Dispatcher } from 'undici'

const require = createRequire(import.meta.url)

/**
 * The parts of undici that make calls, loaded for the first client: 25 ms of CPU and 7 MB. All of undici takes 105 ms and
 * 15 MB, and the thread that serves requests seldom makes calls.
 */
const parts = {
  Agent: () => require('undici/lib/dispatcher/agent.js') as typeof Agent,
  buildConnector: () => require('undici/lib/core/connect.js') as typeof buildConnector,
}

/** The `code` of the error of a connector that refuses an address. */
export const FORBIDDEN = 'ERR_TARGET_FORBIDDEN'

/** One request. */
export interface HttpCall {
  method: 'GET' | 'POST' | 'PUT'
  /** An http or https URL. A user name and a password in the URL are not sent. */
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array
}

/** The result of a call. Texts name only the kind of failure: never a header, a body or an address. */
export type HttpAnswer =
  /** The peer answered with any status. Redirects are not followed. */
  | HttpResponse
  /** No byte of the request was handed to a connection: the peer has not seen it. */
  | { type: 'not_sent'; code: HttpFailure; text: string }
  /** The request was written, at least in part, and no complete answer came: the peer may have acted on the request. */
  | { type: 'unanswered'; code: HttpFailure; text: string }

export interface HttpResponse {
  type: 'answered'
  status: number
  /** The headers of the answer, with lower-case names. */
  headers: Record<string, string | string[] | undefined>
  /** At most the first `body_max` bytes as they arrived, not decompressed. */
  body: Buffer
  /** Whether `body` is the whole body. */
  is_whole: boolean
  /** Whether the body ended early, or had no end in time; only with `takes_cut`. */
  is_cut: boolean
}

export interface HttpClient {
  /** Makes one call. The promise never rejects. */
  call(call: HttpCall): Promise<HttpAnswer>
  /** Ends every connection; calls in flight and later calls are `not_sent` or `unanswered`. */
  close(): Promise<void>
}

export type Connector = buildConnector.connector

export interface HttpClientOptions {
  /** Opens each connection; a `connect` that refuses an address fails with the code `FORBIDDEN`. */
  connect: Connector
  /** The limit of one call: waiting for a connection, connecting, writing, headers and body. With `wait_ms`: from the first byte. */
  deadline_ms: number
  /**
   * A limit of its own for waiting for a connection and connecting. With one limit for both, a call that got a connection late
   * would be written and then aborted, although its peer is only slow.
   */
  wait_ms?: number
  /** The size of an answer's body that is kept, in bytes. */
  body_max: number
  /** How much of a body is read, in bytes, so that its connection can be used again; default `body_max`. */
  drain_max?: number
  /** How many connections an origin may have; further calls wait. Null: no limit. */
  connections: number | null
  /**
   * How long an idle connection is kept; a `Keep-Alive` header never makes this longer. Servers close idle connections
   * without notice: after 60 s (Kannel), 5 s (Node, Apache) or 2 s (gunicorn). A request that crosses the peer's FIN on the
   * network gets no answer, and TCP does not report whether the peer has read it.
   */
  idle_ms: number
  /**
   * Whether a request is sent once more, within its deadline, if its connection ends without an answer. This applies only to
   * a connection that has carried an earlier answer. The peer may get such a request twice.
   */
  repeats?: boolean
  /** Asked right before a request is written; a request that may not start is `not_sent`. Default: each may start. */
  may_start?: (() => boolean) | undefined
  /** Called for each call with an answer: its duration from the first byte of the request, in milliseconds. */
  on_call?: ((duration_ms: number) => void) | undefined
  /** Takes the requests in place of connections; `connect` is then not called. */
  network?: Dispatcher | undefined
  /** Whether a status and headers are an answer even if the body is cut or does not end in time. Default: they are `unanswered`. */
  takes_cut?: boolean
}

const TEXTS = {
  invalid: 'The request could not be built',
  forbidden: 'The address is not allowed',
  connect_refused: 'The connection was refused',
  unreachable: 'The host could not be reached',
  dns: 'The host name could not be resolved',
  tls: 'The TLS handshake failed',
  connect_timeout: 'The connection was not made in time',
  busy: 'No connection became free in time',
  timeout: 'No whole answer came in time',
  reset: 'The connection ended before the whole answer came',
  malformed: 'The answer is not HTTP',
  too_large: 'The headers of the answer are too large',
  closed: 'The client was closed',
  paused: 'Sending is paused',
  failed: 'The call failed',
} as const

export type HttpFailure = keyof typeof TEXTS

const CONNECT_MS = 5_000

/** The connect timeout of each address except the last. With 250 ms (Node), a host without IPv6 would never reach a far peer. */
const CONNECT_EACH_MS = 1_000

export interface ConnectorOptions {
  /** The time limit of name look-up, connection and TLS together; default 5 s. */
  connect_ms?: number
  /** The certificates (PEM) to trust, instead of the well-known ones. */
  ca?: string
  /** Finds the addresses of a name; default: the resolver of the system. */
  lookup?: LookupFunction
}

/** Opens TCP and TLS connections and verifies certificates. Does not use the proxies of the environment. */
export function createConnector({
  connect_ms = CONNECT_MS,
  ...options
}: ConnectorOptions = {}): Connector {
  return parts.buildConnector()({
    timeout: connect_ms,
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: CONNECT_EACH_MS,
    ...options,
  } as buildConnector.BuildOptions)
}

/** Creates a client with one pool of keep-alive connections for each origin. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const agent = options.network ?? connectionsFor(options)
  const targetOf = createTargets()
  const use: Use = { requests: 0 }
  return {
    async call({ url, method, headers, body = null }) {
      const target = targetOf(url)
      if (!target) return { type: 'not_sent', code: 'invalid', text: TEXTS.invalid }
      const { origin, path } = target
      return callOnce({ origin, path, method, headers, body }, agent, options, use)
    },
    close: () => agent.destroy(),
  }
}

function connectionsFor({ connect, connections, idle_ms }: HttpClientOptions): Agent {
  const LoadedAgent = parts.Agent()
  return new LoadedAgent({
    connections,
    pipelining: 1,
    keepAliveTimeout: idle_ms,
    keepAliveMaxTimeout: idle_ms,
    keepAliveTimeoutThreshold: Math.min(idle_ms, 1_000),
    // The deadline covers headers and body; undici's own timeouts restart with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: countingBytes(connect),
  })
}

/**
 * undici calls `onRequestStart` right before it hands the first byte to a connection, and at no other time. Only this call
 * decides between `not_sent` and `unanswered`; the error does not. The rule is the same on a kept connection: once a byte
 * was written, no error proves that the peer did not read it. A FIN without an answer, a reset and EPIPE also come from a
 * peer that took the request and then died. Two measures prevent the use of a closed connection before the request is
 * written: a short keep-alive, and a turn of the event loop.
 */
function callOnce(
  request: Dispatcher.DispatchOptions,
  agent: Dispatcher,
  {
    deadline_ms,
    wait_ms,
    body_max,
    drain_max = body_max,
    repeats = false,
    takes_cut = false,
    may_start,
    on_call,
  }: HttpClientOptions,
  use: Use,
): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    let connection: Dispatcher.DispatchController | null = null
    let is_written = false
    let may_repeat = repeats
    let is_settled = false
    let written_at = 0
    const settle = (answer: HttpAnswer) => {
      if (is_settled) return
      is_settled = true
      clearTimeout(timer)
      if (is_written) use.requests -= 1
      if (answer.type === 'answered') on_call?.(performance.now() - written_at)
      resolve(answer)
    }
    const fail = (code: HttpFailure) => {
      if (takes_cut && status >= 200) return answer(true)
      return settle({ type: is_written ? 'unanswered' : 'not_sent', code, text: TEXTS[code] })
    }
    const start_max_ms = wait_ms ?? deadline_ms
    const until = performance.now() + start_max_ms
    // Node keeps one timer for all timeouts of equal length, so this timeout costs only an entry of a list. Instead of the
    // timer, a linked list of deadlines cost 5 % more CPU for a delivery. A Map cost 20 % more: it keeps garbage alive.
    // A process that was stopped reads the answers that arrived meanwhile, before it gives up.
    const end = () =>
      afterTurnOfLoop(() => {
        if (is_settled) return
        fail(connection ? 'timeout' : use.requests > 0 ? 'busy' : 'connect_timeout')
        connection?.abort(new Error('deadline'))
      })
    let timer = setTimeout(end, start_max_ms)
    const received = createCollector(body_max, drain_max)
    let status = 0
    let headers: HttpResponse['headers'] = {}
    const answer = (is_cut: boolean) => {
      const { body, is_whole } = received.taken()
      settle({ type: 'answered', status, headers, body, is_whole: is_whole && !is_cut, is_cut })
    }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // The deadline passed while the call waited for a connection, or undici writes the request again. In both cases the
        // request must not reach the peer.
        const is_rewrite = connection !== null
        // A process that was stopped and continued handles the events of its connections before the timer of the deadline.
        if (performance.now() >= until) fail('busy')
        else if (may_start?.() === false) fail('paused')
        connection ??= controller
        if (is_settled || is_rewrite) return controller.abort(new Error('not used'))
        if (!is_written) use.requests += 1
        is_written = true
        written_at = performance.now()
        if (wait_ms === undefined) return
        clearTimeout(timer)
        timer = setTimeout(end, deadline_ms)
      },
      onResponseStart(_, code, fields) {
        status = code
        headers = fields
      },
      onResponseData(controller, chunk) {
        if (received.add(chunk)) return
        answer(false)
        controller.abort(new Error('enough'))
      },
      onResponseEnd: () => answer(false),
      onResponseError(_, error) {
        const code = codeOf(error)
        const is_kept = code === 'reset' && ((error as SocketError).socket?.bytesRead ?? 0) > 0
        if (!may_repeat || !is_kept || is_settled || status >= 200) return fail(code)
        may_repeat = false
        connection = null
        send()
      },
    }
    const send = () => afterTurnOfLoop(() => agent.dispatch(request, handler))
    send()
  })
}

/** The requests that are written and not answered yet: with none, a call waits for a connection that cannot be made. */
interface Use {
  requests: number
}

/**
 * Calls `work` after one whole turn of the event loop, which handles the timers that are due and everything that the
 * kernel holds for this thread. A FIN that arrived before the call has then closed its connection, even if the loop was
 * blocked for long.
 */
function afterTurnOfLoop(work: () => void): void {
  // The first check phase may belong to the current turn.
  setImmediate(() => setImmediate(work))
}

type SocketError = Error & { socket?: { bytesRead?: number } | null }

/** Adds to each error of a socket how many bytes the peer had sent; undici does so for some errors only. */
function countingBytes(connect: Connector): Connector {
  return (options, done) =>
    connect(options, (...[error, socket]) => {
      if (error) return done(error, null)
      socket.prependListener('error', (failure: SocketError) => {
        failure.socket ??= { bytesRead: socket.bytesRead }
      })
      done(null, socket)
    })
}

interface Target {
  origin: string
  path: string
}

/** The maximum number of parsed addresses: at 2 KiB each, some megabytes. To parse an address again costs 1–2 µs. */
const TARGETS_MAX = 1_000

/** Splits each address into origin and path once; null for an address that is not http or https. */
function createTargets(): (url: string) => Target | null {
  const known = new Map<string, Target | null>()
  return (url) => {
    let target = known.get(url)
    if (target === undefined) {
      target = originAndPath(url)
      if (known.size >= TARGETS_MAX) known.clear()
      known.set(url, target)
    }
    return target
  }
}

function originAndPath(url: string): Target | null {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return null
  return { origin: parsed.origin, path: `${parsed.pathname}${parsed.search}` }
}

/** Keeps the first `max` bytes, and reads up to `drain_max`. */
function createCollector(max: number, drain_max: number) {
  const chunks: Buffer[] = []
  let read = 0
  return {
    /** Returns false once the body is longer than `drain_max`. */
    add(chunk: Buffer): boolean {
      // The chunk is copied, because undici passes a view of a larger buffer, which would stay in memory.
      if (read < max) chunks.push(Buffer.from(chunk.subarray(0, max - read)))
      read += chunk.length
      return read <= drain_max
    },
    taken: () => ({ body: Buffer.concat(chunks), is_whole: read <= max }),
  }
}

const CODES: Record<string, HttpFailure> = {
  UND_ERR_INVALID_ARG: 'invalid',
  UND_ERR_NOT_SUPPORTED: 'invalid',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'invalid',
  [FORBIDDEN]: 'forbidden',
  ECONNREFUSED: 'connect_refused',
  ENETUNREACH: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ESERVFAIL: 'dns',
  EREFUSED: 'dns',
  ETIMEOUT: 'dns',
  EPROTO: 'tls',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'malformed',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_DESTROYED: 'closed',
  UND_ERR_CLOSED: 'closed',
}

function codeOf(error: unknown): HttpFailure {
  const { code, name } = error as { code?: unknown; name?: unknown }
  if (name === 'HTTPParserError') return 'malformed'
  if (typeof code !== 'string') return 'failed'
  if (Object.hasOwn(CODES, code)) return CODES[code] ?? 'failed'
  return /CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code) ? 'tls' : 'failed'
}
