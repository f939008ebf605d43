import type { IncomingHttpHeaders } from 'node:http'
import { Agent, type Dispatcher } from 'undici'
import { PROVIDER_KEEP_ALIVE, turnOfLoop } from '../kept-connections.ts'

/** One request to a provider. */
export interface HttpCall {
  method: 'GET' | 'POST' | 'PUT'
  /** http or https; a user and a password in it are not sent. */
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array
}

/** What became of a call. Texts name the kind of failure alone: never a header, a body or an address. */
export type HttpAnswer =
  /**
   * The peer answered, with whatever status: redirects are not followed. Header names are lower-case. Of a body longer
   * than `body_max` only its first bytes are here and `json` is undefined: the status is known, so it is an answer, but
   * what the body says is not. A body that is not sent as it is (`content-encoding`) is left out, and `json` undefined.
   */
  | {
      type: 'answered'
      status: number
      headers: Record<string, string>
      body: string
      /** The body parsed, whatever content type it claims; undefined where it is not JSON. */
      json: unknown
    }
  /** Not a byte of it was handed to a connection: the peer surely has not seen it. */
  | { type: 'not_sent'; code: string; text: string }
  /** It was written, at least in part, and no whole answer came: the peer may have acted on it. */
  | { type: 'unanswered'; code: string; text: string }

export interface HttpClient {
  /** Never rejects. */
  call(call: HttpCall): Promise<HttpAnswer>
  /** Ends every connection; calls under way are answered `not_sent` or `unanswered`, and so are later ones. */
  close(): Promise<void>
}

export interface HttpClientOptions {
  /** For name, connection and TLS together; 5 s. */
  connect_ms?: number
  /** Over everything: waiting for a connection, connecting, writing, headers and body; 15 s. */
  deadline_ms?: number
  /** What is kept of an answer's body, in bytes; 256 KB. */
  body_max?: number
  /** To one origin at the same time; 50. Further calls wait. */
  connections?: number
  /** The certificates (PEM) to trust, instead of the well-known ones. */
  ca?: string
}

const TEXTS = {
  invalid: 'The request could not be built',
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
  failed: 'The call failed',
} as const

type Code = keyof typeof TEXTS

/** One pool of keep-alive connections for each origin; proxies of the environment are not used, certificates verified. */
export function createHttpClient({
  connect_ms = 5_000,
  deadline_ms = 15_000,
  body_max = 256 * 1024,
  connections = 50,
  ca,
}: HttpClientOptions = {}): HttpClient {
  const agent = new Agent({
    connections,
    pipelining: 1,
    ...PROVIDER_KEEP_ALIVE,
    // The deadline covers both; these would each begin anew with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connect_ms, autoSelectFamilyAttemptTimeout: 1_000, ...(ca && { ca }) },
  })
  return {
    call: (call) => callOnce(call, { agent, deadline_ms, body_max }),
    close: () => agent.destroy(),
  }
}

interface Bounds {
  agent: Dispatcher
  deadline_ms: number
  body_max: number
}

/**
 * undici calls `onRequestStart` right before it hands the first byte to a connection, and never when that was not
 * reached: this alone tells `not_sent` from `unanswered`, whatever the error is. On a kept connection the rule is the same:
 * once a byte was written, no error proves that the peer did not read it. A FIN without an answer, a reset and EPIPE all
 * also come from a peer that took the request and then died. What keeps a request off a closed connection is done before
 * it is written: short keep-alive, and a turn of the loop.
 */
function callOnce(call: HttpCall, { agent, deadline_ms, body_max }: Bounds): Promise<HttpAnswer> {
  const target = originAndPath(call.url)
  if (!target) return Promise.resolve(notSent('invalid'))
  return new Promise((resolve) => {
    let connection: Dispatcher.DispatchController | null = null
    let is_settled = false
    const settle = (answer: HttpAnswer) => {
      if (is_settled) return
      is_settled = true
      clearTimeout(timer)
      resolve(answer)
    }
    const fail = (code: Code) => settle(connection ? unanswered(code) : notSent(code))
    const until = performance.now() + deadline_ms
    const timer = setTimeout(() => {
      fail(connection ? 'timeout' : 'busy')
      connection?.abort(new Error('deadline'))
    }, deadline_ms)
    const body = createCollector(body_max)
    let head = { status: 0, headers: {} as Record<string, string> }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // Given up while it waited for a connection, or about to be written anew: both must not reach the peer.
        const is_repeat = connection !== null
        // A process that was stopped handles what its connections got before the timer of the deadline.
        if (performance.now() >= until) fail('busy')
        connection ??= controller
        if (is_settled || is_repeat) controller.abort(new Error('not wanted'))
      },
      onResponseStart(_, status, headers) {
        head = { status, headers: flat(headers) }
      },
      onResponseData(controller, chunk) {
        if (body.add(chunk)) return
        settle(answerOf(head, body.text(), true))
        controller.abort(new Error('enough'))
      },
      onResponseEnd() {
        settle(answerOf(head, body.text(), false))
      },
      onResponseError(_, error) {
        fail(codeOf(error))
      },
    }
    const dispatch = () => {
      agent.dispatch(
        {
          ...target,
          method: call.method,
          headers: { 'user-agent': 'Svc/1', ...lowerCase(call.headers), ...IDENTITY },
          body: call.body ?? null,
        },
        handler,
      )
    }
    turnOfLoop()
      .then(dispatch)
      .catch((error) => fail(codeOf(error)))
  })
}

const IDENTITY = { 'accept-encoding': 'identity' }

function originAndPath(url: string): { origin: string; path: string } | null {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return null
  return { origin: parsed.origin, path: `${parsed.pathname}${parsed.search}` }
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text]),
  )
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]),
  )
}

/** Keeps the first `max` bytes. */
function createCollector(max: number) {
  const chunks: Buffer[] = []
  let room = max
  return {
    /** Whether all of it still fitted. */
    add(chunk: Buffer): boolean {
      // Of its own: what undici gives is a view of a larger buffer that would be kept whole.
      chunks.push(Buffer.from(chunk.subarray(0, room)))
      room -= chunk.length
      return room >= 0
    },
    text: () => new TextDecoder().decode(Buffer.concat(chunks)),
  }
}

function answerOf(
  { status, headers }: { status: number; headers: Record<string, string> },
  body: string,
  is_cut: boolean,
): HttpAnswer {
  const { 'content-encoding': encoding = 'identity' } = headers
  if (!['', 'identity'].includes(encoding.trim().toLowerCase())) {
    return { type: 'answered', status, headers, body: '', json: undefined }
  }
  return { type: 'answered', status, headers, body, json: is_cut ? undefined : parsed(body) }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function notSent(code: Code): HttpAnswer {
  return { type: 'not_sent', code, text: TEXTS[code] }
}

function unanswered(code: Code): HttpAnswer {
  return { type: 'unanswered', code, text: TEXTS[code] }
}

const CODES: Record<string, Code> = {
  UND_ERR_INVALID_ARG: 'invalid',
  UND_ERR_NOT_SUPPORTED: 'invalid',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'invalid',
  ECONNREFUSED: 'connect_refused',
  ENETUNREACH: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EPROTO: 'tls',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'malformed',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_DESTROYED: 'closed',
  UND_ERR_CLOSED: 'closed',
}

function codeOf(error: unknown): Code {
  const { code, name } = error as { code?: unknown; name?: unknown }
  if (name === 'HTTPParserError') return 'malformed'
  if (typeof code !== 'string') return 'failed'
  if (Object.hasOwn(CODES, code)) return CODES[code] ?? 'failed'
  return /CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code) ? 'tls' : 'failed'
}

const SECOND_MS = 1_000
const DAY_MS = 86_400 * SECOND_MS

/**
 * How long `Retry-After` says to wait, in milliseconds: seconds or a date (RFC 9110 section 10.2.3), at least 1 s and at
 * most 24 h. Null where there is none or it is neither. Header names are lower-case.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | undefined>>,
  now_ms: number,
): number | null {
  const text = headers['retry-after']?.trim() ?? ''
  const wait_ms = /^\d{1,30}$/.test(text) ? Number(text) * SECOND_MS : httpDateMs(text) - now_ms
  return Number.isNaN(wait_ms) ? null : Math.min(Math.max(wait_ms, SECOND_MS), DAY_MS)
}

/** The three forms of RFC 9110 section 5.6.7; the last one names no zone and means GMT. NaN for anything else. */
function httpDateMs(text: string): number {
  if (/^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/.test(text)) {
    return Date.parse(text)
  }
  const is_asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text)
  return is_asctime ? Date.parse(`${text} GMT`) : Number.NaN
}
