import { randomUUID } from 'node:crypto'
import type { Core } from '@svc/core'
import { closeConnections, stopListening } from '@svc/core/operate'
import Fastify, { type FastifyInstance } from 'fastify'
import { type ApiOptions, apiSettings, type ServedApi, serveApi } from './api.ts'
import { createRefusal, limitConnections } from './connections/connection-limit.ts'

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
  let phase: 'open' | 'lingering' | 'ending' = 'open'
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
    phase: () => phase,
    connections: limitConnections(app.server, connections_max),
  })
  options.onServed?.(served)
  const refuse = createRefusal({ limiter: served.limiter, logger, newRequestId })
  app.addHook('preClose', async () => {
    phase = 'lingering'
    await stopListening(app.server, linger_ms)
    phase = 'ending'
    closeConnections(app.server, grace_ms)
  })
  return app
}
