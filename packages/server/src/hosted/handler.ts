import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { failureText, tooBusy } from '../failures.ts'
import { type HostedApi, type HostedOptions, openHostedApi, withoutPrefix } from './hosted-api.ts'

/** The options of `createHandler`. `Context` is the type of the second argument of `fetch`. */
export interface HandlerOptions<Context = unknown> extends HostedOptions {
  /** The path under which the host serves the API, such as `/messaging`. Default: the root. */
  prefix?: string
  /**
   * The address of the client of a `Request`, which has no address itself. Rate limits and the networks of API keys use
   * it. Default: unknown, so that all requests of `fetch` count as one client.
   */
  clientAddress?: ((request: Request, context: Context) => string | undefined) | undefined
}

/** The API for programs with a server of their own. */
export interface Handler<Context = unknown> {
  /**
   * Answers a request, for Hono, Next.js and other hosts of web requests. Bodies are streams, and the API's limits of
   * bodies apply. The promise rejects only if `request.signal` aborts. `context` is passed to `clientAddress`.
   */
  fetch(request: Request, context?: Context): Promise<Response>
  /**
   * Answers a request of Node's server, for Express: `app.use('/messaging', handler.node)`. The client's address is
   * `request.ip` if the host sets it, otherwise the address of the connection.
   * @throws Error if another parser has read the body.
   */
  node(request: IncomingMessage, response: ServerResponse): void
  /** Refuses all later requests with 429. Call it after the host's server is closed and before the core is closed. */
  close(): Promise<void>
}

/** Opens the API over an open core for a program with a server of its own, which is not Fastify. */
export async function createHandler<Context = unknown>(
  options: HandlerOptions<Context>,
): Promise<Handler<Context>> {
  const { prefix = '', clientAddress, ...others } = options
  if (!/^(?:\/[^/?#]+)*$/.test(prefix)) {
    throw new RangeError(`prefix: "${prefix}" must begin with a slash and not end with one`)
  }
  const api = await openHostedApi(others)
  return {
    async fetch(request, context) {
      if (api.isClosed()) return closedAnswer()
      const address = clientAddress?.(request, context as Context) ?? UNKNOWN
      return answer(api, request, { prefix, address })
    },
    node(request, response) {
      if (request.readableEnded && hasBody(request)) {
        throw new Error('the body was read before svc: mount svc before express.json() and others')
      }
      const { ip } = request as { ip?: unknown }
      if (typeof ip === 'string') api.setAddress(request, ip)
      request.url = withoutPrefix(request.url ?? '/', prefix)
      api.app.routing(request, response)
    },
    close: api.close,
  }
}

/** It is not an IP address, so no network of an API key contains it. */
const UNKNOWN = 'unknown'

/** The statuses whose answers have no body. Source: Fetch standard, null body status. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** Headers about one connection, which the host sets itself. Source: RFC 9110, section 7.6.1. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
])

/** The framework answers nothing after its end. */
function closedAnswer(): Response {
  const failure = tooBusy()
  return new Response(failureText(failure), {
    status: failure.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'retry-after': String(failure.retry_after_s),
    },
  })
}

async function answer(
  { app }: HostedApi,
  request: Request,
  { prefix, address }: { prefix: string; address: string },
): Promise<Response> {
  const { pathname, search, host } = new URL(request.url)
  const body = request.body && Readable.fromWeb(request.body as ReadableStream)
  // An aborted request ends the stream with an error, which the answer reports.
  body?.on('error', () => {})
  const injected = await app.inject({
    method: request.method as 'GET',
    url: withoutPrefix(pathname, prefix) + search,
    headers: headersOf(request, host),
    remoteAddress: address,
    ...(body && { payload: body }),
    payloadAsStream: true,
    signal: request.signal,
  })
  // A refused body is not read to its end.
  body?.destroy()
  const headers = new Headers()
  for (const [name, value] of Object.entries(injected.headers)) {
    if (OF_CONNECTION.has(name)) continue
    for (const one of [value].flat()) if (one !== undefined) headers.append(name, String(one))
  }
  const { statusCode: status } = injected
  const stream = injected.stream()
  if (WITHOUT_BODY.has(status) || request.method === 'HEAD') {
    stream.resume()
    return new Response(null, { status, headers })
  }
  return new Response(
    Readable.toWeb(stream) as unknown as ConstructorParameters<typeof Response>[0],
    { status, headers },
  )
}

function headersOf({ headers, body }: Request, host: string): Record<string, string> {
  const isOfUnknownLength = body !== null && !headers.has('content-length')
  return {
    host,
    ...(isOfUnknownLength && { 'transfer-encoding': 'chunked' }),
    ...Object.fromEntries(headers),
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
