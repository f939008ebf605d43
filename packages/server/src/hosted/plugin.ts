import { closeConnections } from '@svc/core/operate'
import type { FastifyBaseLogger, FastifyPluginAsync, onRequestHookHandler } from 'fastify'
import type { Logger } from 'pino'
import { logOptions } from '../service/log-options.ts'
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
