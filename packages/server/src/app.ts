import { randomUUID } from 'node:crypto'
import type { Core, SandboxPayments } from '@svc/core'
import { apiFor, LIMITS } from '@svc/core/contract'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { type Admission, createAdmission } from './admission/admission.ts'
import { createAuthenticator } from './admission/authenticator.ts'
import { createGate } from './admission/gate.ts'
import { type Load, OVERLOAD } from './admission/load.ts'
import { createRateLimiter } from './admission/rate-limiter.ts'
import { serveCallbacks } from './callbacks/callbacks.ts'
import { closeConnections, stopListening } from './connections/close-connections.ts'
import { type ConnectionLimit, limitConnections } from './connections/connection-limit.ts'
import { createRefusal } from './connections/refuse-connection.ts'
import { type InboxOptions, serveInbox } from './dev/inbox.ts'
import { answerFailure, unknownRoute } from './failures.ts'
import type { OnAnswered } from './metrics/request-metrics.ts'
import { serveAccountPages } from './pages/account.ts'
import { serveDocs } from './pages/docs.ts'
import { servePayments } from './pages/payment.ts'
import { serveLanding } from './pages/payment-landing.ts'
import { serveUnsubscribe } from './pages/unsubscribe.ts'
import { headerFault } from './requests/header-fault.ts'
import { acceptJson } from './requests/json-body.ts'
import { readableUrl } from './requests/readable-url.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { auditRoutes } from './routes/audit.ts'
import { billingRoutes } from './routes/billing.ts'
import { bulkRoutes } from './routes/bulks.ts'
import { contactRoutes } from './routes/contacts.ts'
import { healthRoutes } from './routes/health.ts'
import { messageRoutes, receivedRoutes } from './routes/messages.ts'
import { mount } from './routes/mount.ts'
import { suppressionRoutes } from './routes/suppressions.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { workspaceRoutes } from './routes/workspaces.ts'
import type { Config } from './settings/config.ts'
import { readSetting } from './settings/readers.ts'

/** What the API is built with, besides its core. */
export interface AppOptions {
  config: Pick<Config, 'rates' | 'trust_proxy'> & {
    jwt_secret: string
    /** Beyond which load even sends are refused. */
    overload?: Load
    /** How many connections are served at once. */
    connections_max?: number
  }
  logger?: Logger
  /** Serves the inbox at `/dev` too, which shows everything: for a service that is only tried. */
  inbox?: InboxOptions | undefined
  /** The core's payments, where they are only played: serves the page that they are decided on. */
  sandbox_payments?: SandboxPayments | undefined
  /** Serves the page that a payer comes back to whose checkout named none: for payments that are real. */
  payment_landing?: boolean | undefined
  /** Where the service is reached from outside, without a slash at its end: providers sign the address they call. */
  public_url?: (() => string) | undefined
  /** Epoch milliseconds, for the sessions and the health's time stamp. */
  now?: () => number
  /**
   * How long open connections are served as before once the app is being closed, each answer ending its connection. Only
   * then are idle ones closed.
   */
  linger_ms?: number
  /** How long a caller may take after that to send and to listen. */
  grace_ms?: number
  /** Names a request in its answer and in every log line about it. */
  newRequestId?: () => string
  /** How much there is to do; measured unless told. */
  load?: (() => Load) | undefined
  /** Told of each request that was answered. */
  onAnswered?: OnAnswered | undefined
}

/** Whoever sends slowly is not waited for: headers, then the whole request, then silence. */
const HEADERS_MAX_MS = 10_000
const REQUEST_MAX_MS = 30_000
const SILENCE_MAX_MS = 60_000
/** Node looks for slow senders this often; by default it is every half minute. */
const SLOWNESS_CHECK_MS = 1_000

/** Clients that send again and again do so within this time, and learn from the answer that the connection ends. */
const LINGER_MS = 1_000
/** Node looks for slow senders no more once it stops listening, so they are cut off then. */
const GRACE_MS = 10_000

/** Longer than any URL can be, so that an id of any length is just an id that nobody has. */
const PARAMETER_LENGTH_MAX = 65_536

/** The HTTP API over an open core; not yet listening. */
export async function buildApp(core: Core, options: AppOptions): Promise<FastifyInstance> {
  const { config, now = Date.now, newRequestId = randomUUID } = options
  const { linger_ms = LINGER_MS, grace_ms = GRACE_MS } = options
  const { public_url = () => 'http://127.0.0.1:3000' } = options
  let state: 'open' | 'lingering' | 'ending' = 'open'
  const isClosing = () => state !== 'open'
  const app = Fastify({
    ...(options.logger ? { loggerInstance: options.logger as FastifyBaseLogger } : {}),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newRequestId(),
    trustProxy: config.trust_proxy.length > 0 ? config.trust_proxy : false,
    // A logger of its own for each request costs more than the lines it would write; they name the request themselves.
    childLoggerFactory: (logger) => logger,
    bodyLimit: LIMITS.body_bytes,
    requestTimeout: REQUEST_MAX_MS,
    connectionTimeout: SILENCE_MAX_MS,
    // Node would refuse a request without a Host header itself, with an empty body: `headerFault` does.
    http: { connectionsCheckingInterval: SLOWNESS_CHECK_MS, requireHostHeader: false },
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    rewriteUrl: ({ url = '/' }) => readableUrl(url),
    forceCloseConnections: 'idle',
    // The specification knows no 503: requests are served while connections linger, then answered at the gate.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: (_error, socket) => void refuse(socket),
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
  const refuse = createRefusal({ limiter, logger: options.logger, newRequestId })
  const { overload: bounds = OVERLOAD } = config
  const { connections_max = readSetting('SVC_CONNECTIONS_MAX') } = config
  const connections = limitConnections(app.server, connections_max)
  const gate = createGate(app, {
    bounds,
    connections,
    isEnding: () => state === 'ending',
    measured: options.load,
  })
  const admission = createAdmission(app, limiter, { authenticator, gate })
  addHooks(app, { admission, connections }, options)
  app.addHook('preClose', async () => {
    state = 'lingering'
    await stopListening(app.server, linger_ms)
    state = 'ending'
    closeConnections(app.server, grace_ms)
  })
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler((request, reply) => answerFailure(unknownRoute(), request, reply))

  const api = apiFor({ voice: core.hasVoice })
  mount(app, admission, api.workspaces, workspaceRoutes(core, authenticator))
  mount(app, admission, api.api_keys, apiKeyRoutes(core))
  mount(app, admission, api.messages, messageRoutes(core))
  mount(app, admission, api.bulks, bulkRoutes(core))
  mount(app, admission, api.received, receivedRoutes(core))
  mount(app, admission, api.contacts, contactRoutes(core))
  mount(app, admission, api.suppressions, suppressionRoutes(core))
  mount(app, admission, api.webhooks, webhookRoutes(core))
  mount(app, admission, api.audit, auditRoutes(core))
  mount(app, admission, api.billing, billingRoutes(core))
  mount(app, admission, api.health, healthRoutes(core, { isClosing, now }))
  serveCallbacks(app, admission, core, { public_url, now })
  serveAccountPages(app, admission, core)
  serveUnsubscribe(app, admission, core)
  serveDocs(app, admission, api)
  if (options.sandbox_payments) servePayments(app, admission, core, options.sandbox_payments)
  else if (options.payment_landing) serveLanding(app, admission, core)
  if (options.inbox) serveInbox(app, admission, core, options.inbox)
  return app
}

function dropUnanswered(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  request.raw.destroy()
  request.log.debug({ req: request, request_id: request.id }, 'the client has gone')
}

function addHooks(
  app: FastifyInstance,
  { admission, connections }: { admission: Admission; connections: ConnectionLimit },
  { logger, onAnswered }: AppOptions,
): void {
  app.addHook('onRoute', ({ config, url }) => {
    // Nothing is served that does not say who may come in.
    if (!config?.endpoint && !config?.page) throw new Error(`${url} is no endpoint of the API`)
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    // A connection that was reset cannot be answered, and has no address to count the request under.
    if (request.socket.remoteAddress === undefined) return void dropUnanswered(request, reply)
    if (connections.isBeyond(request.raw.socket)) reply.header('connection', 'close')
    const fault = headerFault(request.raw)
    // Where a request is ambiguous, so may be what follows it on the connection.
    if (fault) reply.header('connection', 'close')
    const refusal = fault ?? (request.is404 ? unknownRoute() : null)
    // A route admits for itself; what is refused is a stranger's request all the same, and its body is not looked at.
    if (refusal) admission.admit(null, request, reply).then(() => done(refusal), done)
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    onAnswered?.(request.method, request.routeOptions?.url, statusCode, reply.elapsedTime)
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
