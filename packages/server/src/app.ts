import { randomUUID } from 'node:crypto'
import type { Core, SandboxPayments } from '@svc/core'
import { apiFor, LIMITS } from '@svc/core/contract'
import { decodedOf } from '@svc/core/operate'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { type Admission, createAdmission, endHook } from './admission/admission.ts'
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

/** The options of the API, besides its core. */
export interface AppOptions {
  config: Pick<Config, 'rates' | 'trust_proxy'> & {
    jwt_secret: string
    /** The load above which even sends are refused. */
    overload?: Load
    /** The maximum number of connections that are served at once. */
    connections_max?: number
  }
  logger?: Logger
  /** Also serves the inbox at `/dev`, which shows all messages. It is for `svc dev`. */
  inbox?: InboxOptions | undefined
  /** The core's simulated payments; the app serves the page on which the payer decides them. */
  sandbox_payments?: SandboxPayments | undefined
  /** Serves the page to which a payer returns from a real payment if the checkout named no other page. */
  payment_landing?: boolean | undefined
  /** The public URL of the service, without a slash at its end. Providers sign the URL that they call. */
  public_url?: (() => string) | undefined
  /** Epoch milliseconds, for sessions and for the time stamp of `/health`. */
  now?: () => number
  /**
   * How long a closing app still serves open connections; each answer ends its connection. Idle connections are closed
   * only after this time.
   */
  linger_ms?: number
  /** How long, after `linger_ms`, a client may take to send its request and read the answer. */
  grace_ms?: number
  /** Makes the id of a request, which its answer and its log lines show. */
  newRequestId?: () => string
  /** The load of the service; measured by default. */
  load?: (() => Load) | undefined
  /** Called after each answered request. */
  onAnswered?: OnAnswered | undefined
}

/** The time limits of a slow client: for the headers, for the whole request, and for silence. */
const HEADERS_MAX_MS = 10_000
const REQUEST_MAX_MS = 30_000
const SILENCE_MAX_MS = 60_000
/** How often Node checks for slow clients; Node's default is 30 s. */
const SLOWNESS_CHECK_MS = 1_000

/** Clients that send often send again within this time, and the answer announces the end of the connection. */
const LINGER_MS = 1_000
/** Node does not check for slow clients after it stops listening, so connections are closed after this time. */
const GRACE_MS = 10_000

/** Longer than any URL, so that a long id counts as an unknown id and causes no error of the router. */
const PARAMETER_LENGTH_MAX = 65_536

/** The HTTP API over an open core. It does not listen yet. */
export async function buildApp(given: Core, options: AppOptions): Promise<FastifyInstance> {
  // Requests are decoded when they reach a handler.
  const core = decodedOf(given)
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
    // A child logger for each request costs more than the log lines. Each line names the request itself.
    childLoggerFactory: (logger) => logger,
    bodyLimit: LIMITS.body_bytes,
    requestTimeout: REQUEST_MAX_MS,
    connectionTimeout: SILENCE_MAX_MS,
    // `headerFault` checks the Host header: Node's own refusal has an empty body.
    http: { connectionsCheckingInterval: SLOWNESS_CHECK_MS, requireHostHeader: false },
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    rewriteUrl: ({ url = '/' }) => readableUrl(url),
    forceCloseConnections: 'idle',
    // The specification has no 503. Requests are served while connections linger; later the gate refuses them.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: (_error, socket) => void refuse(socket),
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply),
  })
  app.server.headersTimeout = HEADERS_MAX_MS
  // Node would refuse an unknown expectation with 417, which is not in the specification.
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response)
  })
  acceptJson(app)
  const limiter = createRateLimiter(app, config.rates, core)
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
  serveDocs(app, admission, api, { public_url })
  if (options.sandbox_payments) servePayments(app, admission, core, options.sandbox_payments)
  else if (options.payment_landing) serveLanding(app, admission, core)
  if (options.inbox) serveInbox(app, admission, core, options.inbox)
  return app
}

function dropUnanswered(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  request.raw.destroy()
  request.log.debug({ req: request, request_id: request.id }, 'the client is gone')
}

function addHooks(
  app: FastifyInstance,
  { admission, connections }: { admission: Admission; connections: ConnectionLimit },
  { logger, onAnswered }: AppOptions,
): void {
  app.addHook('onRoute', ({ config, url }) => {
    // Each route must state its rate limit and credential.
    if (!config?.endpoint && !config?.page) throw new Error(`${url} is not an endpoint of the API`)
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    // A connection that was reset cannot be answered, and has no address for the rate limit.
    if (request.socket.remoteAddress === undefined) return void dropUnanswered(request, reply)
    if (connections.isBeyond(request.raw.socket)) reply.header('connection', 'close')
    const fault = headerFault(request.raw)
    // After an ambiguous request, the rest of the connection is ambiguous too.
    if (fault) reply.header('connection', 'close')
    const refusal = fault ?? (request.is404 ? unknownRoute() : null)
    // A route admits its requests itself. A refused request counts as one without credentials. Its body is not read.
    if (refusal) endHook(admission.admit(null, request, reply), (error) => done(error ?? refusal))
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    onAnswered?.(request.method, request.routeOptions?.url, statusCode, reply.elapsedTime)
    // The 503 of a probe is an answer, not a fault.
    const level = statusCode === 500 ? 'error' : statusCode >= 400 ? 'info' : 'debug'
    // Checked first, because collecting the fields of a line costs time.
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
