import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Core } from '@svc/core'
import { invalid, type SvcError } from '@svc/core/contract'
import { closeConnections, stopListening } from '@svc/core/operate'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Phase } from './admission/gate.ts'
import { clientOf, type RateLimiter, rateExceeded } from './admission/rate-limiter.ts'
import { type ApiOptions, apiSettings, type ServedApi, serveApi } from './api.ts'
import { failureText } from './failures.ts'
import type { Config } from './settings/config.ts'
import { readSetting } from './settings/readers.ts'

/** The options of the API as a server of its own, besides its core. */
export interface AppOptions extends ApiOptions {
  config: ApiOptions['config'] &
    Pick<Config, 'trust_proxy'> & {
      /** The maximum number of connections that are served at once. */
      connections_max?: number
    }
  /**
   * How long a closing app still serves open connections; each answer ends its connection. Idle connections are closed
   * only after this time.
   */
  linger_ms?: number
  /** How long, after `linger_ms`, a client may take to send its request and read the answer. */
  grace_ms?: number
  /** Receives the parts of the API that another door, such as the SMTP inlet, shares with it. */
  onServed?: ((served: ServedApi) => void) | undefined
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

/** The HTTP API over an open core, as a server of its own. It does not listen yet. */
export async function buildApp(core: Core, options: AppOptions): Promise<FastifyInstance> {
  const { config, logger, newRequestId = randomUUID } = options
  const { linger_ms = LINGER_MS, grace_ms = GRACE_MS } = options
  const phase: Phase = { now: 'open' }
  const app = Fastify({
    ...apiSettings(options),
    trustProxy: config.trust_proxy.length > 0 ? config.trust_proxy : false,
    requestTimeout: REQUEST_MAX_MS,
    connectionTimeout: SILENCE_MAX_MS,
    // `headerFault` checks the Host header: Node's own refusal has an empty body.
    http: { connectionsCheckingInterval: SLOWNESS_CHECK_MS, requireHostHeader: false },
    forceCloseConnections: 'idle',
    clientErrorHandler: (_error, socket) => void refuse(socket),
  })
  app.server.headersTimeout = HEADERS_MAX_MS
  // Node would refuse an unknown expectation with 417, which is not in the specification.
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response)
  })
  const { connections_max = readSetting('SVC_CONNECTIONS_MAX') } = config
  const served = await serveApi(app, core, options, {
    phase,
    beyond: limitConnections(app.server, connections_max),
  })
  options.onServed?.(served)
  const refuse = createRefusal({ limiter: served.limiter, logger, newRequestId })
  app.addHook('preClose', async () => {
    phase.now = 'lingering'
    await stopListening(app.server, linger_ms)
    phase.now = 'ending'
    closeConnections(app.server, grace_ms)
  })
  return app
}

/** The number of connections above the limit that get a refusal. Further connections are closed without an answer. */
const REFUSED_MAX = 1_000

/** The connections that were opened when the limit was reached. Each carries one request. */
function limitConnections(server: Server, max: number): WeakSet<Socket> {
  const beyond = new WeakSet<Socket>()
  let open = 0
  server.maxConnections = max + REFUSED_MAX
  server.on('connection', (socket: Socket) => {
    open += 1
    if (open > max) beyond.add(socket)
    socket.once('close', () => {
      open -= 1
    })
  })
  return beyond
}

/** The time from the refusal until the connection is closed. */
const REFUSED_LINGER_MS = 500

/**
 * Answers input that is not HTTP or that came too slowly, and closes the connection. The input counts as a request
 * without credentials. The answer has a request id and the envelope. A connection without any input is closed without an
 * answer.
 */
function createRefusal({
  limiter,
  logger,
  newRequestId,
}: {
  limiter: Pick<RateLimiter, 'tally'>
  logger: Logger | undefined
  newRequestId: () => string
}): (socket: Socket) => Promise<void> {
  // The rest of the input on a refused connection is unreadable too, and gets no second answer.
  const refused = new WeakSet<Socket>()

  return async (socket) => {
    if (!socket.writable || refused.has(socket)) return
    refused.add(socket)
    // Browsers open connections in advance. An answer on one that is unused would pass as the answer to its first request.
    if (socket.bytesRead === 0) return void socket.destroy()
    const { remoteAddress: ip } = socket
    // A connection that was reset cannot be answered.
    if (ip === undefined) return void socket.destroy()
    const state = await limiter.tally('anonymous', clientOf({ ip }))
    const failure = state.exceeded
      ? rateExceeded(state)
      : invalid('', 'The request could not be read')
    const request_id = newRequestId()
    logger?.info({ request_id, status: failure.status }, 'request refused unread')
    if (socket.writable) {
      socket.end(
        answerText(failure, {
          'x-request-id': request_id,
          'x-ratelimit-limit': state.max,
          'x-ratelimit-remaining': state.remaining,
          'x-ratelimit-reset': state.reset_s,
        }),
      )
    }
    // Closes connections that the client leaves open, after a wait: an immediate close could lose the answer.
    setTimeout(() => socket.destroy(), REFUSED_LINGER_MS).unref()
  }
}

function answerText(failure: SvcError, named: Record<string, string | number>): string {
  const { status, retry_after_s } = failure
  const body = failureText(failure)
  const headers = {
    ...named,
    ...(retry_after_s !== undefined && { 'retry-after': retry_after_s }),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
}
