import type { Socket } from 'node:net'
import type { Core, SandboxPayments } from '@svc/core'
import { api, LIMITS, SvcError } from '@svc/core/contract'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import { type Admission, createAdmission } from './admission.ts'
import { createAuthenticator } from './auth.ts'
import type { Config } from './config.ts'
import { type InboxOptions, serveInbox } from './dev/inbox.ts'
import { answerFailure, failureText, tooBusy, unknownRoute } from './failures.ts'
import { acceptJson } from './json-body.ts'
import { mount } from './mount.ts'
import { serveAccountPages } from './pages/account.ts'
import { serveDocs } from './pages/docs.ts'
import { servePayments } from './pages/payment.ts'
import { createRateLimiter } from './rate-limit.ts'
import { readableUrl } from './readable-url.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { billingRoutes } from './routes/billing.ts'
import { bulkRoutes } from './routes/bulks.ts'
import { contactRoutes } from './routes/contacts.ts'
import { healthRoutes } from './routes/health.ts'
import { messageRoutes } from './routes/messages.ts'
import { suppressionRoutes } from './routes/suppressions.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { workspaceRoutes } from './routes/workspaces.ts'

export interface AppOptions {
  config: Pick<Config, 'rates' | 'trust_proxy'> & { jwt_secret: string }
  logger?: Logger
  /** Serves the inbox at `/dev` too, which shows everything: for a service that is only tried. */
  inbox?: InboxOptions | undefined
  /** The core's payments, where they are only played: serves the page that they are decided on. */
  sandbox_payments?: SandboxPayments | undefined
  /** Epoch milliseconds, for the sessions and the health's time stamp. */
  now?: () => number
  /** How long a caller may take to send and to listen once the app is being closed. */
  grace_ms?: number
  /** Names a request in its answer and in every log line about it. */
  newRequestId?: () => string
}

/** Whoever sends slowly is not waited for: headers, then the whole request, then silence. */
const HEADERS_MAX_MS = 10_000
const REQUEST_MAX_MS = 30_000
const SILENCE_MAX_MS = 60_000
/** Node looks for slow senders this often; by default it is every half minute. */
const SLOWNESS_CHECK_MS = 1_000

/** Node looks for slow senders no more once it stops listening, so they are cut off then. */
const GRACE_MS = 10_000
const IDLE_CHECK_MS = 50

/** From the answer to what could not be read until the connection is cut. */
const LINGER_MS = 500

/** Longer than any URL can be, so that an id of any length is just an id that nobody has. */
const PARAMETER_LENGTH_MAX = 65_536

/** The HTTP API over an open core; not yet listening. */
export async function buildApp(core: Core, options: AppOptions): Promise<FastifyInstance> {
  const { config, now = Date.now, grace_ms = GRACE_MS } = options
  let closing = false
  const app = Fastify({
    ...(options.logger ? { loggerInstance: options.logger as FastifyBaseLogger } : {}),
    logController: new LogController({ disableRequestLogging: true }),
    ...(options.newRequestId && { genReqId: options.newRequestId }),
    trustProxy: config.trust_proxy.length > 0 ? config.trust_proxy : false,
    // A logger of its own for each request costs more than the lines it would write; they name the request themselves.
    childLoggerFactory: (logger) => logger,
    bodyLimit: LIMITS.body_bytes,
    requestTimeout: REQUEST_MAX_MS,
    connectionTimeout: SILENCE_MAX_MS,
    // Node would refuse a request without a Host header itself, with an empty body.
    http: { connectionsCheckingInterval: SLOWNESS_CHECK_MS, requireHostHeader: false },
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    rewriteUrl: ({ url = '/' }) => readableUrl(url),
    forceCloseConnections: 'idle',
    // The specification knows no 503; late requests are answered by the hook below.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: (_error, socket) => refuseConnection(socket),
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply),
  })
  app.server.headersTimeout = HEADERS_MAX_MS
  // Node would refuse an expectation it does not know with 417, which the specification does not.
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response)
  })
  acceptJson(app)
  const limiter = await createRateLimiter(app, config.rates, core)
  const authenticator = await createAuthenticator(app, core, { secret: config.jwt_secret, now })
  const admission = createAdmission(app, limiter, authenticator)
  addHooks(app, admission, { isClosing: () => closing, logger: options.logger })
  app.addHook('preClose', async () => {
    closing = true
    hangUp(app.server, grace_ms)
  })
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler((request, reply) => answerFailure(unknownRoute(), request, reply))

  mount(app, admission, api.workspaces, workspaceRoutes(core, authenticator))
  mount(app, admission, api.api_keys, apiKeyRoutes(core))
  mount(app, admission, api.messages, messageRoutes(core))
  mount(app, admission, api.bulks, bulkRoutes(core))
  mount(app, admission, api.contacts, contactRoutes(core))
  mount(app, admission, api.suppressions, suppressionRoutes(core))
  mount(app, admission, api.webhooks, webhookRoutes(core))
  mount(app, admission, api.billing, billingRoutes(core))
  mount(app, admission, api.health, healthRoutes(core, { isClosing: () => closing, now }))
  serveAccountPages(app, admission, core)
  serveDocs(app, admission)
  if (options.sandbox_payments) servePayments(app, admission, core, options.sandbox_payments)
  if (options.inbox) serveInbox(app, admission, core, options.inbox)
  return app
}

function addHooks(
  app: FastifyInstance,
  admission: Admission,
  { isClosing, logger }: { isClosing: () => boolean; logger: Logger | undefined },
): void {
  app.addHook('onRoute', ({ config, url }) => {
    // Nothing is served that does not say who may come in.
    if (!config?.endpoint && !config?.page) throw new Error(`${url} is no endpoint of the API`)
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    // A route admits for itself; what is no route is a stranger's request all the same, and its body is not looked at.
    if (request.is404) admission.admit(null, request, reply).then(() => done(unknownRoute()), done)
    else done()
  })
  app.addHook('preHandler', (request, _reply, done) => {
    const { endpoint } = isClosing() ? request.routeOptions.config : {}
    // Whoever tells of a payment is heard to the last.
    if (!endpoint || endpoint.rate === 'exempt' || endpoint.signed_by) return done()
    done(tooBusy())
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    // A probe's 503 is an answer, not a fault.
    const level = statusCode === 500 ? 'error' : statusCode >= 400 ? 'info' : 'debug'
    // Gathering what a line says costs more than not writing it.
    if (logger?.isLevelEnabled(level)) {
      logger[level](
        {
          req: request,
          request_id: request.id,
          status: statusCode,
          workspace_id: request.identity?.workspace_id,
          duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        },
        'request',
      )
    }
    done()
  })
}

/** Ends connections once they are idle, and after `grace_ms` all that are left. */
function hangUp(server: FastifyInstance['server'], grace_ms: number): void {
  // Those that were busy when the server stopped listening would be kept for their next request.
  const sweeping = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const cut = setTimeout(() => server.closeAllConnections(), grace_ms)
  server.once('close', () => {
    clearInterval(sweeping)
    clearTimeout(cut)
  })
}

/** Answers what is not HTTP, or came too slowly, with the envelope too. */
function refuseConnection(socket: Socket): void {
  if (!socket.writable) return
  const body = failureText(new SvcError('validation_error', 'The request could not be read'))
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // Whoever does not hang up is hung up on: at once, an answer on its way could be lost.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
