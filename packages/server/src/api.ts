import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Core, SandboxPayments } from '@svc/core'
import { apiFor, invalid, LIMITS, type SvcError } from '@svc/core/contract'
import {
  type Awaitable,
  decodedOf,
  malformedJson,
  readJson,
  readJsonWithFiles,
} from '@svc/core/operate'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { type Admission, createAdmission, endHook } from './admission/admission.ts'
import { createAuthenticator } from './admission/authenticator.ts'
import { createGate, type Gate, type Load, OVERLOAD, type Phase } from './admission/gate.ts'

import { createRateLimiter, type RateLimiter } from './admission/rate-limiter.ts'
import { serveCallbacks } from './callbacks/callbacks.ts'
import { serveResend } from './compat/resend/resend.ts'
import { serveSupabase } from './compat/supabase/send-sms.ts'
import { serveTwilio } from './compat/twilio/twilio.ts'
import { accessOf, type ConsoleOptions, serveConsole } from './console-api/console.ts'
import { createRequestLog } from './dev/request-log.ts'
import { type DevToolsOptions, serveDevTools } from './dev/tools.ts'
import { answerFailure, unknownRoute } from './failures.ts'
import type { OnAnswered } from './metrics/request-metrics.ts'
import { serveOidc } from './oidc/routes.ts'
import { serveAccountPages } from './pages/account.ts'
import { serveDocs } from './pages/docs.ts'
import { serveLanding, servePayments } from './pages/payment.ts'

import { serveUnsubscribe } from './pages/unsubscribe.ts'
import { createExports } from './routes/exports.ts'
import { mountGroups } from './routes/groups.ts'
import { isDecodable } from './routes/mount.ts'
import type { Config } from './settings/config.ts'
import type { OidcSettings } from './settings/oidc.ts'

/** A path without an endpoint. */
const NOWHERE = '/%25'

/**
 * The URL for the router. The router answers a path that is not percent-encoded UTF-8 without calling a hook. Such a
 * path is replaced by a path without an endpoint, so that the request is counted and logged.
 */
function readableUrl(url: string): string {
  return url.includes('%') && !isDecodable(url.split('?', 1)[0] ?? '') ? NOWHERE : url
}

/** The options of the API that do not depend on the server that carries it. */
export interface ApiOptions {
  config: {
    rates: Config['rates']
    jwt_secret: string
    /** The load above which even sends are refused. */
    overload?: Load
    /** Whether workspaces add, rotate and remove sending domains themselves; default: false. */
    self_service_domains?: boolean
    /** The name of the service on its pages; default: `svc`. */
    brand?: string
    /** The OIDC provider with which members sign in. */
    oidc?: OidcSettings | null
    /** Whether members need a second factor beside the password: without one they may only add it. Default: `optional`. */
    members_second_factor?: Config['members_second_factor']
  }
  logger?: Logger
  /** Serves the tools of `svc dev` in the console: captured mails, a phone, the log of requests. */
  dev_tools?: DevToolsOptions | undefined
  /** Serves the console. */
  console?: ConsoleOptions | undefined
  /** The core's simulated payments; the app serves the page on which the payer decides them. */
  sandbox_payments?: SandboxPayments | undefined
  /** Serves the page to which a payer returns from a real payment if the checkout named no other page. */
  payment_landing?: boolean | undefined
  /** The public URL of the service, without a slash at its end. Providers sign the URL that they call. */
  public_url?: (() => string) | undefined
  /** Epoch milliseconds, for sessions and for the time stamp of `/health`. */
  now?: () => number
  /** Makes the id of a request, which its answer and its log lines show. */
  newRequestId?: () => string
  /** The load of the service; measured by default. */
  load?: (() => Load) | undefined
  /** Called after each answered request. */
  onAnswered?: OnAnswered | undefined
}

/** The parts of the server that carries the API: a server of its own, or the server of another program. */
export interface Hosting {
  /** `open`; `lingering`: requests are still served; `ending`: the API refuses all requests except health checks. */
  phase: Phase
  /** The connections above the limit of the server. Such a connection carries one request. */
  beyond: WeakSet<Socket>
  /** The host has its own connections: it gives the client's address of each request, as far as it knows it. */
  addressOf?(request: IncomingMessage): string | undefined
}

/** Longer than any URL, so that a long id counts as an unknown id and causes no error of the router. */
const PARAMETER_LENGTH_MAX = 65_536

/** The settings of Fastify that every app with the API needs. */
export function apiSettings({ logger, newRequestId = randomUUID }: ApiOptions) {
  return {
    ...(logger ? { loggerInstance: logger as FastifyBaseLogger } : {}),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newRequestId(),
    // A child logger for each request costs more than the log lines. Each line names the request itself.
    childLoggerFactory: (parent) => parent,
    bodyLimit: LIMITS.body_bytes,
    // Plugins wait for nothing but their modules. Fastify's limit of 10 s ended the start on a machine that was busy or suspended.
    pluginTimeout: 0,
    // The contract's schemas read requests and write answers. Fastify's own compilers would be loaded at the start, for
    // no route: 60 ms of CPU and 10 MB.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    rewriteUrl: ({ url = '/' }) => readableUrl(url),
    // The specification has no 503. Requests are served while connections linger; later the gate refuses them.
    return503OnClosing: false,
    // RFC 9110 9.3.2: HEAD answers as GET, without a body. Container health checks and link checkers use it.
    exposeHeadRoutes: true,
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply),
  } satisfies FastifyServerOptions
}

/** @throws Error that names the fault: a route with a schema of Fastify. */
function noCompiler(): never {
  throw new Error('routes are described by the contract and have no schema of Fastify')
}

/** The parts of a served API that its other doors share. */
export interface ServedApi {
  limiter: RateLimiter
  gate: Gate
}

/** Serves the whole API and its pages by `app`, which serves nothing else. */
export async function serveApi(
  app: FastifyInstance,
  given: Core,
  options: ApiOptions,
  hosting: Hosting,
): Promise<ServedApi> {
  // Requests are decoded when they reach a handler.
  const core = decodedOf(given)
  const { config, now = Date.now } = options
  const { public_url = () => 'http://127.0.0.1:3000' } = options
  const { beyond, phase } = hosting
  acceptJson(app)
  const limiter = await createRateLimiter(app, config.rates, core)
  const authenticator = await createAuthenticator(app, core, {
    secret: config.jwt_secret,
    now,
    needs_second_factor: config.members_second_factor === 'required',
  })
  const { overload: bounds = OVERLOAD } = config
  const gate = createGate(app, {
    bounds,
    beyond,
    phase,
    measured: options.load,
  })
  const admission = createAdmission(app, limiter, { authenticator, gate })
  addHooks(app, admission, options, hosting)
  const requests = options.dev_tools ? createRequestLog(app, { core, now }) : null
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler((request, reply) => answerFailure(unknownRoute(), request, reply))
  const isClosing = () => phase.now !== 'open'

  const api = apiFor({
    voice: core.carriedChannels.includes('voice'),
    attachments_max_bytes: core.attachmentsMaxBytes,
  })
  const access = options.console ? accessOf(options.console, public_url) : null
  const { self_service_domains = false } = config
  const exportRows = createExports()
  const parts = { core, authenticator, exportRows, self_service_domains, isClosing, now }
  mountGroups(app, admission, api, { ...parts, console: access })
  serveCallbacks(app, admission, core, { public_url, now })
  serveResend(app, admission, core, { now, self_service_domains })
  serveTwilio(app, admission, core, { now })
  serveSupabase(app, admission, core, { now, public_url })
  const { brand = 'svc' } = config
  // The links of pages are relative to the root of the service.
  const frame = { brand, console: access ? access.base.slice(1) : null }
  serveAccountPages(app, admission, { core, authenticator, access, frame })
  if (config.oidc) {
    const { oidc: settings } = config
    const base = access?.base ?? '/console'
    serveOidc(app, admission, { core, authenticator, settings, public_url, base, frame })
  }
  if (access && options.console) {
    const oidc = config.oidc != null
    const more = { brand, ...options.console, oidc, self_service_domains }
    const own = { core, authenticator, exportRows, access, options: more, now }
    await serveConsole(app, admission, own)
  }
  serveUnsubscribe(app, admission, { core, frame })
  const demoKey = () => options.dev_tools?.demo?.()?.api_key ?? null
  serveDocs(app, admission, api, { public_url, brand, demoKey })
  const { sandbox_payments: payments } = options
  if (payments) servePayments(app, admission, { core, payments, frame })
  else if (options.payment_landing) serveLanding(app, admission, { core, frame })
  if (requests && access) {
    serveDevTools(app, admission, {
      core,
      access,
      requests,
      brand,
      public_url,
      ...options.dev_tools,
    })
  }
  return { limiter, gate }
}

function dropUnanswered(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack()
  request.raw.destroy()
  request.log.debug({ req: request, request_id: request.id }, 'the client is gone')
}

function addHooks(
  app: FastifyInstance,
  admission: Admission,
  { logger, onAnswered }: ApiOptions,
  { beyond, addressOf }: Hosting,
): void {
  app.addHook('onRoute', ({ config, url }) => {
    // Each route must state its rate limit and credential.
    if (!config?.endpoint && !config?.page) throw new Error(`${url} is not an endpoint of the API`)
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    if (addressOf) {
      Object.defineProperty(request, 'ip', { value: addressOf(request.raw) })
    } else if (request.socket.remoteAddress === undefined) {
      // A connection that was reset cannot be answered, and has no address for the rate limit.
      return void dropUnanswered(request, reply)
    }
    const fault = headerFault(request.raw)
    // After an ambiguous request, the rest of the connection is ambiguous too.
    if (fault || beyond.has(request.raw.socket)) reply.header('connection', 'close')
    const refusal = fault ?? (request.is404 ? unknownRoute() : null)
    // A route admits its requests itself. A refused request counts as one without credentials. Its body is not read.
    if (refusal) endHook(admission.admit(null, request, reply), (error) => done(error ?? refusal))
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    const { method, url } = request
    onAnswered?.(method, request.routeOptions?.url, statusCode, reply.elapsedTime, url)
    // The 503 of a probe is an answer, not a fault.
    const level = statusCode === 500 ? 'error' : statusCode >= 400 ? 'info' : 'debug'
    // Checked first, because collecting the fields of a line costs time.
    if (logger?.isLevelEnabled(level)) {
      logger[level](
        {
          req: request,
          request_id: request.id,
          status: statusCode,
          workspace_id: request.svcIdentity?.workspace_id,
          duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        },
        'request',
      )
    }
    done()
  })
}

/**
 * Headers that a request may have only once. If there were two values, a proxy might use one and the service the
 * other: Node joins the values of some headers and drops the second value of others.
 */
const SINGLE = new Map(
  ['Host', 'Authorization', 'X-API-Key', 'Idempotency-Key', 'Content-Type'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
)

/** `uri-host [ ":" port ]` of RFC 3986. It may be empty. It has no comma, because a comma may join two values. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})*)(?::\d*)?$/i

/**
 * Returns the fault in the headers of a request; null for none. This check runs before all others. Source for `Host`,
 * which Node does not check: RFC 9112 section 3.2.
 */
function headerFault({
  rawHeaders,
  headers: { host },
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'httpVersion'>): SvcError | null {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const single = SINGLE.get(name)
    if (single === undefined) continue
    if (seen.has(name)) return invalid(single, `The ${single} header must be given only once`)
    seen.add(name)
  }
  if (host === undefined) {
    return httpVersion === '1.1' ? invalid('Host', 'The Host header is missing') : null
  }
  return HOST.test(host) ? null : invalid('Host', 'The Host header is not valid')
}

/** Bodies up to this size are read as a whole: they are parsed within a few milliseconds. */
const PLAIN_BYTES_MAX = 128 * 1024

/**
 * The parser of the API's bodies: JSON in UTF-8, at most 16 levels deep, without texts that a database cannot store.
 * Fastify's own parser has no limit of depth and drops `__proto__` keys, which are ordinary keys here. For an endpoint that
 * takes files, the large files are no texts.
 */
function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    ({ routeOptions }, bytes, done) => {
      try {
        const value = parse(bytes, routeOptions.config.endpoint?.takes_files === true)
        if (!(value instanceof Promise)) return done(null, value)
        value.then((read) => done(null, read), done)
      } catch (error) {
        done(error as Error)
      }
    },
  )
}

function parse(bytes: Buffer, takesFiles: boolean): Awaitable<unknown> {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  // Some clients begin with a byte order mark, which a parser may ignore (RFC 8259, section 8.1).
  const plain = bytes[0] === 0xef ? bytes.subarray(3) : bytes
  if (takesFiles && bytes.length > PLAIN_BYTES_MAX) return readJsonWithFiles(plain)
  return readJson(plain.toString('utf8'))
}
