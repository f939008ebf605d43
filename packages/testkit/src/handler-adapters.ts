import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IncomingDelivery, Reply } from './handler-answer.ts'
import {
  ALREADY_PARSED,
  bounded,
  type ParsedRequest,
  readFetchBody,
  readNodeBody,
} from './handler-body.ts'

/** The part of a Fastify request that the plugin needs. */
export interface FastifyRequestLike {
  headers: IncomingMessage['headers']
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
      body: Buffer,
      done: (error: Error | null, body?: Buffer) => void,
    ) => void,
  ): unknown
  post(
    path: string,
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown
}

/** The part of a Hono context that the handler needs. */
export interface HonoContextLike {
  req: { raw: Request; bodyCache?: object; arrayBuffer(): Promise<ArrayBuffer> }
}

/** One handler for each framework. */
export interface WebhookAdapters {
  /** A listener for `createServer`. It accepts any path, but only POST. */
  node(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** A handler for Next routes, Bun, Deno and other runtimes with Fetch. */
  fetch(request: Request): Promise<Response>
  /** A route handler for Express, on a route that `express.json()` does not read first. */
  express(request: IncomingMessage, response: ServerResponse): Promise<void>
  /**
   * A plugin for Fastify with a body parser of its own scope: `app.register(hooks.fastify, { url
   * })`.
   */
  fastify(app: FastifyInstanceLike, options: { url: string }): Promise<void>
  /** A route handler for Hono. */
  hono(context: HonoContextLike): Promise<Response>
}

/** Adapts the answering function to each framework. */
export function createAdapters(
  answer: (delivery: IncomingDelivery) => Promise<Reply>,
  bytes_max: number,
): WebhookAdapters {
  async function node(request: ParsedRequest, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request
    const body = method === 'POST' ? await readNodeBody(request, bytes_max) : ''
    const header = (name: string) => [headers[name.toLowerCase()]].flat()[0] ?? null
    const reply = await answer({ method, header, body })
    // A middleware with its own deadline may have answered: writing now would throw and end the
    // process.
    if (response.headersSent) return
    // Without `close`, Node would read the rest of the body, without a size limit.
    const rest = request.readableEnded ? {} : { connection: 'close' }
    response.writeHead(reply.status, { ...headersOf(reply), ...rest }).end(textOf(reply))
  }

  async function fromFetch(request: Request, body: IncomingDelivery['body']): Promise<Response> {
    const header = (name: string) => request.headers.get(name)
    const reply = await answer({ method: request.method, header, body })
    return new Response(textOf(reply), { status: reply.status, headers: headersOf(reply) })
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
