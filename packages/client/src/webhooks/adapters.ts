import type { PlatformRequest, PlatformResponse } from '../platform.ts'
import type { IncomingDelivery, Reply } from './answer.ts'
import {
  ALREADY_PARSED,
  bounded,
  type NodeRequestLike,
  readFetchBody,
  readNodeBody,
} from './body.ts'

/** The part of a Node response that the handler needs. */
export interface NodeResponseLike {
  readonly headersSent: boolean
  writeHead(status: number, headers: Record<string, string>): { end(text: string): unknown }
}

/** The part of a Fastify request that the plugin needs. */
export interface FastifyRequestLike {
  headers: Readonly<Record<string, string | string[] | undefined>>
  url: string
  body?: unknown
}

/** The part of a Fastify reply that the plugin needs. */
export interface FastifyReplyLike {
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
}

/** The part of a Fastify instance that the plugin needs. */
export interface FastifyInstanceLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (
      request: FastifyRequestLike,
      body: Uint8Array,
      done: (error: Error | null, body?: Uint8Array) => void,
    ) => void,
  ): unknown
  post(
    path: string,
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown
}

/** The part of a Hono context that the handler needs. */
export interface HonoContextLike {
  req: { raw: PlatformRequest; bodyCache?: object; arrayBuffer(): Promise<ArrayBuffer> }
}

/** One handler for each framework. */
export interface WebhookAdapters {
  /** A listener for `createServer`. It accepts any path, but only POST. */
  node(request: NodeRequestLike, response: NodeResponseLike): Promise<void>
  /** A handler for Next routes, Bun and other runtimes with Fetch. */
  fetch(request: PlatformRequest): Promise<PlatformResponse>
  /** A route handler for Express, on a route that `express.json()` does not read first. */
  express(request: NodeRequestLike, response: NodeResponseLike): Promise<void>
  /**
   * A plugin for Fastify with a body parser of its own scope: `app.register(hooks.fastify, { url
   * })`.
   */
  fastify(app: FastifyInstanceLike, options: { url: string }): Promise<void>
  /** A route handler for Hono. */
  hono(context: HonoContextLike): Promise<PlatformResponse>
}

/** Adapts the answering function to each framework. */
export function createAdapters(
  answer: (delivery: IncomingDelivery) => Promise<Reply>,
  bytes_max: number,
): WebhookAdapters {
  async function node(request: NodeRequestLike, response: NodeResponseLike): Promise<void> {
    const { method = '', headers, url = '' } = request
    const body = method === 'POST' ? await readNodeBody(request, bytes_max) : ''
    const header = (name: string) => [headers[name.toLowerCase()]].flat()[0] ?? null
    const reply = await answer({ method, url, header, body })
    // A middleware with its own deadline may have answered: writing now would throw and end the
    // process.
    if (response.headersSent) return
    // Without `close`, Node would read the rest of the body, without a size limit.
    const rest = request.readableEnded ? {} : { connection: 'close' }
    response.writeHead(reply.status, { ...headersOf(reply), ...rest }).end(textOf(reply))
  }

  async function fromFetch(
    request: PlatformRequest,
    body: IncomingDelivery['body'],
  ): Promise<PlatformResponse> {
    const { method, url } = request
    const header = (name: string) => request.headers.get(name)
    const reply = await answer({ method, url, header, body })
    const response = new Response(textOf(reply), {
      status: reply.status,
      headers: headersOf(reply),
    })
    return response as unknown as PlatformResponse
  }

  return {
    node,
    express: node,
    async fetch(request) {
      return fromFetch(request, await readFetchBody(request, bytes_max))
    },
    async hono({ req }) {
      // Hono keeps a body that was read as text or bytes, but serialises a parsed body again.
      const kept = Object.keys(req.bodyCache ?? {})
      const isKept = kept.includes('text') || kept.includes('arrayBuffer')
      const body = isKept
        ? bounded(new Uint8Array(await req.arrayBuffer()), bytes_max)
        : await readFetchBody(req.raw, bytes_max)
      return fromFetch(req.raw, body)
    },
    async fastify(app, { url }) {
      if (typeof app?.removeAllContentTypeParsers !== 'function') {
        throw new Error(
          'webhookHandler: hooks.fastify is a plugin: app.register(hooks.fastify, { url })',
        )
      }
      app.removeAllContentTypeParsers()
      const limits = { parseAs: 'buffer', bodyLimit: bytes_max } as const
      app.addContentTypeParser('*', limits, (_, body, done) => done(null, body))
      app.post(url, async (request, reply) => {
        const answered = await answer({
          method: 'POST',
          url: request.url,
          header: (name) => [request.headers[name.toLowerCase()]].flat()[0] ?? null,
          body: fastifyBodyOf(request.body),
        })
        reply.code(answered.status)
        reply.headers(headersOf(answered))
        return textOf(answered)
      })
    },
  }
}

function fastifyBodyOf(body: unknown): IncomingDelivery['body'] {
  if (body === undefined || body === null) return ''
  return body instanceof Uint8Array ? body : ALREADY_PARSED
}

function headersOf({ headers }: Reply): Record<string, string> {
  return { 'content-type': 'application/json', ...headers }
}

function textOf({ error, message }: Reply): string {
  return JSON.stringify(error === null ? { message } : { error, message })
}
