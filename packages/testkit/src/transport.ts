import { createServer, type RequestListener, request as requestHttp, type Server } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SignedDelivery } from './sign.ts'

/**
 * The target of deliveries: the URL of a running receiver, a fetch handler, an object with a fetch
 * handler (a Hono app), or a request listener of node:http (an Express app, `fastify.routing`). A
 * listener is served on a temporary port.
 */
export type Target =
  | string
  | URL
  | FetchHandler
  | { fetch(request: Request): Response | Promise<Response> }
  | RequestListener

/** A function that takes a request and returns a response, as in the Fetch standard. */
export type FetchHandler = (request: Request) => Response | Promise<Response>

/** The result of one request. */
export interface Answer {
  /** The status; null without a complete answer. */
  status: number | null
  /** Why there is no complete answer, in the words of the service; null if there is one. */
  error: 'timeout' | 'connect' | 'dns' | 'reset' | 'tls' | 'failed' | null
  /** The headers, with lower-case names. */
  headers: Record<string, string>
  /** The first 16 KB of the body. */
  body: string
  duration_ms: number
  /** Why a target in this process answered 404, and the remedy; absent for other answers. */
  hint?: string
}

/** Sends deliveries to one target. */
export interface Transport {
  /** Sends one request within one deadline. Never rejects, and does not follow redirects. */
  post(delivery: SignedDelivery, deadline_ms: number): Promise<Answer>
  close(): Promise<void>
}

/** The origin of a request to a handler that is called without a socket. */
const NOWHERE = 'http://receiver.test'
const CAPTURE_BYTES = 16 * 1024
/** The number of bytes to read after the captured bytes, before the connection is closed. */
const DRAIN_BYTES = 64 * 1024

/**
 * Opens a transport for the target. `path`: where a target in this process takes deliveries.
 *
 * @throws TypeError when the path does not begin with a slash.
 */
export async function openTransport(target: Target, path = '/'): Promise<Transport> {
  if (!path.startsWith('/')) throw new TypeError(`path must begin with a slash: ${path}`)
  const isRemote = typeof target === 'string' || target instanceof URL
  const transport = await open(target, path)
  if (isRemote) return transport
  const hint = `The target answers 404 at ${path}. Name the path of the receiver: path: '/hooks/svc'`
  return {
    ...transport,
    async post(delivery, ms) {
      const answer = await transport.post(delivery, ms)
      return answer.status === 404 ? { ...answer, hint } : answer
    },
  }
}

async function open(target: Target, path: string): Promise<Transport> {
  if (typeof target === 'string' || target instanceof URL) {
    return { post: (delivery, ms) => postTo(new URL(target), delivery, ms), close: async () => {} }
  }
  const handler = typeof target === 'function' && !isListener(target) ? target : fetchOf(target)
  if (handler) {
    return { post: (delivery, ms) => callFetch(handler, path, delivery, ms), close: async () => {} }
  }
  const server = createServer(target as RequestListener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  return { post: (delivery, ms) => postTo(url, delivery, ms), close: () => closed(server) }
}

function isListener(target: FetchHandler | RequestListener): target is RequestListener {
  return target.length >= 2
}

function fetchOf(target: object): FetchHandler | null {
  const { fetch } = target as { fetch?: unknown }
  return typeof fetch === 'function' ? (request) => fetch.call(target, request) : null
}

function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  return done
}

function postTo(url: URL, delivery: SignedDelivery, deadline_ms: number): Promise<Answer> {
  const began = performance.now()
  return new Promise((resolve) => {
    const answer: Answer = { status: null, error: null, headers: {}, body: '', duration_ms: 0 }
    const signal = AbortSignal.timeout(deadline_ms)
    const end = (change: Partial<Answer>) => {
      request.destroy()
      resolve({ ...answer, ...change, duration_ms: Math.round(performance.now() - began) })
    }
    const fail = (error: unknown) =>
      end({ status: null, error: signal.aborted ? 'timeout' : wordFor(error) })
    const open = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = open(url, { method: 'POST', headers: delivery.headers, agent: false, signal })
    request.on('error', fail)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let read = 0
      const finish = () => {
        const body = Buffer.concat(chunks).subarray(0, CAPTURE_BYTES).toString('utf8')
        const headers = plain(Object.entries(response.headers))
        end({ status: response.statusCode ?? null, headers, body })
      }
      response.on('data', (chunk: Buffer) => {
        if (read < CAPTURE_BYTES) chunks.push(chunk)
        read += chunk.length
        if (read > DRAIN_BYTES) finish()
      })
      response.on('end', finish)
      response.on('error', fail)
    })
    request.end(delivery.body)
  })
}

async function callFetch(
  handler: FetchHandler,
  path: string,
  delivery: SignedDelivery,
  deadline_ms: number,
): Promise<Answer> {
  const began = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, deadline_ms, 'late')
  })
  const done = (change: Partial<Answer>): Answer => ({
    status: null,
    error: null,
    headers: {},
    body: '',
    duration_ms: Math.round(performance.now() - began),
    ...change,
  })
  try {
    const answered = (async () => {
      const response = await handler(delivery.toRequest(`${NOWHERE}${path}`))
      return { response, body: await response.text() }
    })()
    const first = await Promise.race([answered, late])
    if (first === 'late') return done({ error: 'timeout' })
    const { response, body } = first
    const headers = plain([...response.headers])
    return done({ status: response.status, headers, body: body.slice(0, CAPTURE_BYTES) })
  } catch {
    return done({ error: 'failed' })
  } finally {
    clearTimeout(timer)
  }
}

function plain(entries: [string, string | string[] | undefined][]): Record<string, string> {
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().join(', ')]))
}

const WORDS: Record<string, Answer['error']> = {
  ECONNREFUSED: 'connect',
  ENETUNREACH: 'connect',
  EHOSTUNREACH: 'connect',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
}

function wordFor(error: unknown): Answer['error'] {
  const code = String((error as { code?: unknown } | null)?.code)
  return WORDS[code] ?? (/CERT|TLS|SSL/.test(code) ? 'tls' : 'failed')
}
