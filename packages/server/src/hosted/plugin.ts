import type { IncomingMessage } from 'node:http'
import { type Awaitable, closeConnections } from '@svc/core/operate'
import type { FastifyBaseLogger, FastifyPluginAsync, onRequestHookHandler } from 'fastify'
import type { Logger } from 'pino'
import type { ConsoleOperator, ConsoleUser } from '../console-api/access.ts'
import { logOptions } from '../logging/log-options.ts'
import { createHandler, type Handler } from './handler.ts'
import { type HostedOptions, openHostedApi, withoutPrefix } from './hosted-api.ts'

/** How long a closing host's clients may take to read their answers. */
const GRACE_MS = 10_000

/** The options of the Fastify plugin: `app.register(svc, { prefix: '/messaging', core })`. */
export interface SvcPluginOptions extends HostedOptions {
  /** The path under which the API is served, such as `/messaging`, without parameters. */
  prefix?: string
}

/**
 * The API as a Fastify 5 plugin: `await app.register(svc, { prefix: '/messaging', core })`. It answers every request below
 * its prefix, unknown paths included, with its own parsers, limits, errors and request ids; the host's other routes do not
 * change. The host's `onRequest` hooks run before it and its `onResponse` hooks after it; headers that they set are kept.
 * The host owns the connections: time limits, `trustProxy`, `maxConnections`. The plugin stops with the app; the core stays
 * open.
 */
export const svc: FastifyPluginAsync<SvcPluginOptions> = async (
  scope,
  { prefix: _, ...options },
) => {
  const { logger = loggerOf(scope.log), ...others } = options
  const prefix = servedPrefix(scope.prefix)
  const api = await openHostedApi({ ...others, ...(logger && { logger }) })
  // Before the host reads a body.
  const onRequest: onRequestHookHandler = (request, reply, done) => {
    reply.hijack()
    const { raw } = reply
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) raw.setHeader(name, value)
    }
    request.raw.url = withoutPrefix(request.raw.url ?? '/', prefix)
    api.setAddress(request.raw, request.ip)
    api.app.routing(request.raw, raw)
    done()
  }
  for (const url of ['/', '/*']) {
    const method = scope.supportedMethods
    scope.route({ method, url, exposeHeadRoute: false, onRequest, handler: () => {} })
  }
  scope.addHook('preClose', async () => {
    api.stop()
    // Fastify would wait up to 72 s for clients that keep their connections.
    if (scope.server.listening) closeConnections(scope.server, GRACE_MS)
  })
  scope.addHook('onClose', () => api.close())
}

/**
 * The whole prefix of a plugin, without a slash at its end.
 * @throws RangeError for a prefix with a parameter or a pattern, because the API's own paths would depend on the request.
 */
function servedPrefix(prefix: string): string {
  if (/^(?:\/[^/?#:*]+)*\/?$/.test(prefix)) return prefix.replace(/\/$/, '')
  throw new RangeError(`prefix: "${prefix}" must be a path without parameters, such as /messaging`)
}

/** The host's log with the fields of the service's log: no URL, which may hold a token. Undefined for a host without pino. */
function loggerOf(log: FastifyBaseLogger): Logger | undefined {
  if (!('bindings' in log && 'isLevelEnabled' in log)) return undefined
  const { serializers } = logOptions(log.level)
  return (log as Logger).child({}, { ...(serializers && { serializers }) })
}

/** The options of `createConsole`. */
export interface CreateConsoleOptions
  extends Pick<
    HostedOptions,
    | 'core'
    | 'logger'
    | 'public_url'
    | 'rates'
    | 'brand'
    | 'self_service_domains'
    | 'sandbox_payments'
  > {
  /** The path of the console in the program, such as `/admin/messaging`. Default: `/console`. */
  basePath?: string | undefined
  /**
   * Finds the person behind a request, by the program's own session; null: the person is not signed in. An operator of
   * the whole service has `operator`, with or without a workspace. It is called for each
   * request. `request` is that of the program's server; with `fetch` it has only method, path and headers.
   */
  authenticate(request: IncomingMessage): Awaitable<ConsoleUser | ConsoleOperator | null>
}

/**
 * The console inside another program, with the sign-in of the program. It answers only requests below `basePath`, to which it
 * must be mounted: `app.use('/console', console.node)` in Express, `app.all('/console/*', (c) => console.fetch(c.req.raw))` in
 * Hono. Requests from pages of other origins are refused.
 * @throws RangeError for a `basePath` that is no path of one segment or more.
 */
export async function createConsole({
  basePath = '/console',
  authenticate,
  ...options
}: CreateConsoleOptions): Promise<Handler> {
  if (!/^(?:\/[\w.~-]+)+$/.test(basePath)) {
    throw new RangeError(`basePath: "${basePath}" must be a path such as /console`)
  }
  const handler = await createHandler({
    ...options,
    console: { base: basePath, authenticate: async ({ raw }) => authenticate(raw) },
  })
  const isBelow = (path: string) => path === basePath || path.startsWith(`${basePath}/`)
  return {
    ...handler,
    async fetch(request) {
      if (isBelow(new URL(request.url).pathname)) return handler.fetch(request)
      return new Response('Not found', { status: 404 })
    },
    node(request, response) {
      const { url = '/' } = request
      // Express removes the path of a mounted handler. Other paths of the API must not be reachable here.
      if (!isBelow(url.split('?', 1)[0] ?? ''))
        request.url = basePath + url.replace(/^\/(?=\?|$)/, '')
      handler.node(request, response)
    },
  }
}
