import { Readable } from 'node:stream'
import type { Actor, Viewer } from '@svc/core'
import {
  type Body,
  checkValue,
  type Data,
  decode,
  type Endpoint,
  idempotencyKey,
  invalid,
  LIMITS,
  type Params,
  type Query,
  refuseUnknownParameters,
  SvcError,
} from '@svc/core/contract'
import { within } from '@svc/core/operate'
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify'
import type { z } from 'zod'
import { type Admission, endHook, type LoginName } from '../admission/admission.ts'
import type { Identity } from '../admission/authenticator.ts'
import { plainAddress } from '../admission/rate-limiter.ts'
import { isForeign } from '../console-api/access.ts'
import { failureOf, tooBusy, unknownRoute } from '../failures.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The row of the API's table that a route serves. A route without it and without `page` is refused at start. */
    endpoint?: Endpoint
  }
}

/** The argument of a handler: decoded input and the identity of the caller. */
export interface Call<E> {
  /** The workspace of the caller; empty if the endpoint takes no credential. */
  workspace_id: string
  identity: Identity | null
  /** The caller, as the audit log records it. */
  actor: Actor
  /** The beginning of the header `User-Agent`; null if it is missing. */
  agent: string | null
  /** The data that the caller sees and changes; for a test key, the test data. */
  viewer: Viewer
  body: Body<E>
  query: Query<E>
  params: Params<E>
  /** The file of a request with CSV in place of `body`. */
  csv: Csv<E>
  idempotency_key: string | undefined
  /** Counts the call in the stricter bucket of an e-mail address. */
  countFor(email: string): Promise<void>
  /** Counts another request of the API key: work that one call asks for several times. */
  countMore(): Promise<void>
  /** Counts the call in its workspace's bucket of bulk estimates. */
  countBulkEstimate(): Promise<void>
  /** Counts the call in the bucket of all signups. */
  countSignup(): Promise<void>
  /** Counts the call as a login to an account, by the client's network. */
  countLogin(login: LoginName, knownNetwork: string | null): Promise<void>
  /** Does work that needs the code of a second factor of a login, and counts a wrong code. */
  tryCode<T>(login: LoginName, code: string | undefined, work: () => Promise<T>): Promise<T>
  /** Counts the call, whose signature is wrong, as a request without credentials. */
  countBadSignature(): Promise<void>
  /** Marks the response as a stored answer. */
  replayed(): void
  /** The body and signature of a signed request, which the handler must still verify. */
  signed: Signed
  reply: FastifyReply
}

/** A file, its encoding if the request names it, and the options of the query. */
type Csv<E> = E extends { readonly takes_csv: infer S extends z.ZodType }
  ? { bytes: Uint8Array; options: z.output<S> & { charset: string | undefined } } | null
  : null

/** An unchanged body and the header with its signature. */
interface Signed {
  body: Uint8Array
  signature: string | undefined
}

/**
 * The time limit of requests with an idempotency key, which the client can repeat. It is a little less than the 10 s
 * of contract section 12, because PostgreSQL's time limit of 10 s would be reported as a fault.
 */
const REPEATABLE_MAX_MS = 9_500

/**
 * The time limit of the other requests for sends and codes, which ask no other host before their effect. One step at PostgreSQL takes at most
 * 5 s for its turn and 10 s for its work, so that only work of several steps can reach this limit.
 */
const WORK_MAX_MS = 15_000

type Group = Readonly<Record<string, Endpoint>>

/** The result of a handler: the data, or a stream of the response body, whose type the handler sets on the reply. */
type Answer<E> = E extends { readonly gives_csv: true }
  ? Readable
  : E extends { readonly in_pieces: true }
    ? Data<E> | Readable
    : Data<E>

/** One handler for each endpoint of a group. If a handler is missing, the code does not compile. */
export type Handlers<G extends Group> = {
  [K in keyof G]: (call: Call<G[K]>) => Promise<Answer<G[K]>> | Answer<G[K]>
}

/**
 * Serves a group of endpoints. Checks run in one order: rate limit, credential, scope, validation, work.
 * @param config `readKey` reads the API key of a request, for a group that takes it in another header than the API; `console`
 *   serves the group below the path of the console; `only` selects the requests that reach it, and the others get the 404 of an
 *   unknown route
 */
export function mount<G extends Group>(
  app: FastifyInstance,
  admission: Admission,
  group: G,
  handlers: Handlers<G>,
  config: Pick<FastifyContextConfig, 'readKey' | 'console'> & {
    only?: (request: FastifyRequest) => boolean
  } = {},
): void {
  const { console, readKey, only } = config
  const base = console?.base ?? ''
  for (const name of Object.keys(group) as (keyof G & string)[]) {
    const endpoint = group[name] as Endpoint
    const handle = handlers[name] as unknown as (call: Call<Endpoint>) => unknown
    const route: Omit<RouteOptions, 'url'> = {
      method: endpoint.method,
      config: { ...(readKey && { readKey }), ...(console && { console }), endpoint },
      onRequest(request, reply, done) {
        const refused =
          only && !only(request)
            ? unknownRoute()
            : console && isForeign(request, console)
              ? new SvcError('forbidden', 'The request does not come from the console')
              : null
        if (!refused) return endHook(admission.admit(endpoint, request, reply), done)
        endHook(admission.admit(null, request, reply), (error) => done(error ?? refused))
      },
      bodyLimit: endpoint.body_limit ?? LIMITS.body_bytes,
      ...(endpoint.takes_files && { preParsing: admission.reserveBody }),
      handler: async (request, reply) => {
        const confirmed = admission.confirm(endpoint, request, reply)
        if (confirmed) await confirmed
        const call = callOf(endpoint, request, reply, admission)
        const data = await admission.during(() =>
          answerOf(call, { handle, during: admission.during }, request, endpoint),
        )
        if (data instanceof Readable) {
          // An answer to HEAD has no body: a stream, which may have no end, is closed before it is read.
          if (request.method === 'HEAD') data.destroy()
          return reply.send(data)
        }
        if (reply.statusCode === 200) reply.code(endpoint.status)
        reply.header('content-type', 'application/json; charset=utf-8')
        return responseText(endpoint, data)
      },
    }
    for (const url of [endpoint.path, endpoint.also_at]) {
      if (url) serve(app, endpoint, { ...route, url: base + url })
    }
  }
}

function responseText({ data: schema, write_data, enveloped }: Endpoint, data: unknown): string {
  const text = write_data
    ? write_data(data as never)
    : JSON.stringify((schema as { encode(value: unknown): unknown }).encode(data))
  return enveloped ? `{"success":true,"data":${text}}` : text
}

/**
 * The result of a handler. Sends, codes and purchases have a time limit, after which their work continues without an answer: with an
 * idempotency key the client can repeat the request; without one the outcome is unknown, as after any 500. The work counts as load until
 * its end. Work that asks other hosts, which may be slow although the service is well, has only the first limit.
 */
function answerOf(
  call: Call<Endpoint>,
  { handle, during }: { handle: (call: Call<Endpoint>) => unknown; during: Admission['during'] },
  { id, log }: FastifyRequest,
  { idempotent, asks_hosts }: Endpoint,
): unknown {
  const isRepeatable = call.idempotency_key !== undefined
  if (!idempotent || (asks_hosts && !isRepeatable)) return handle(call)
  const work = Promise.resolve(handle(call))
  return within(isRepeatable ? REPEATABLE_MAX_MS : WORK_MAX_MS, work, () => {
    // The client does not get a later failure, so the failure is logged.
    Promise.resolve(during(() => work)).catch((error) => {
      if (failureOf(error).status === 500)
        log.error({ err: error, request_id: id }, 'request failed')
    })
    throw isRepeatable ? tooBusy() : new Error(`no answer within ${WORK_MAX_MS / 1_000} s`)
  })
}

/** A route that takes other bodies than JSON gets a scope with its own parsers. */
function serve(app: FastifyInstance, endpoint: Endpoint, route: RouteOptions): void {
  const { takes_csv, signed_by } = endpoint
  if (!takes_csv && !signed_by) return void app.route(route)
  app.register(async (scope) => {
    if (takes_csv) acceptCsv(scope)
    if (signed_by) acceptRaw(scope)
    scope.route(route)
  })
}

function callOf(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
): Call<Endpoint> {
  const { svcIdentity: identity } = request
  const isFile = request.body instanceof CsvBody
  const asked = isFile ? { ...endpoint, query: endpoint.takes_csv } : endpoint
  const query = queryOf(asked as Endpoint, request.url, request.query)
  return {
    workspace_id: identity?.workspace_id ?? '',
    identity,
    actor: actorOf(request),
    agent: request.headers['user-agent'] ?? null,
    viewer: viewerOf(identity),
    params: paramsOf(endpoint, request.params) as Call<Endpoint>['params'],
    query: query as Call<Endpoint>['query'],
    csv: csvOf(request.body, query) as Call<Endpoint>['csv'],
    body: bodyOf(endpoint, request) as Call<Endpoint>['body'],
    idempotency_key: endpoint.idempotent ? idempotencyKeyOf(request) : undefined,
    countFor: (email) => admission.countFor(request, reply, endpoint, email),
    countMore: () => admission.countMore(request, reply),
    countBulkEstimate: () => admission.countBulkEstimate(request, reply),
    countSignup: () => admission.countSignup(request, reply),
    countLogin: (login, knownNetwork) => admission.countLogin(request, reply, login, knownNetwork),
    tryCode: (login, code, work) => admission.tryCode(request, reply, { login, code }, work),
    async countBadSignature() {
      await admission.noteBadSignature(request, reply)
    },
    replayed: () => void reply.header('Idempotent-Replayed', 'true'),
    signed: signedOf(endpoint, request),
    reply,
  }
}

/** The caller of an admitted request, for the audit log. */
export function actorOf({ svcIdentity: identity, ip, id }: FastifyRequest): Actor {
  return {
    kind: identity?.kind ?? 'client',
    id: actorIdOf(identity),
    address: plainAddress(ip),
    request_id: id,
    ...(identity?.kind === 'session' &&
      !identity.is_trusted && {
        session: {
          user_id: identity.user_id,
          session_hash: identity.session_hash,
          token_version: identity.token_version,
        },
      }),
  }
}

/** The id of a key, or of a member; the owner has none. */
function actorIdOf(identity: Identity | null): string | null {
  if (identity?.kind === 'api_key') return identity.api_key_id
  if (identity?.kind === 'operator') return identity.operator
  if (!identity || identity.user_id === identity.workspace_id) return null
  return identity.user_id
}

/**
 * The data that a caller sees and changes: a session has all data of its workspace, a test key and the console's test mode only
 * the test data.
 */
function viewerOf(identity: Identity | null): Viewer {
  if (identity?.kind === 'api_key') return identity
  if (identity?.kind === 'operator') return ''
  if (identity?.mode === 'test') return { workspace_id: identity.workspace_id, mode: 'test' }
  return identity?.workspace_id ?? ''
}

function signedOf({ signed_by = '' }: Endpoint, { body, headers }: FastifyRequest): Signed {
  const signature = headers[signed_by.toLowerCase()]
  return {
    body: body instanceof Uint8Array ? body : new Uint8Array(),
    signature: typeof signature === 'string' ? signature : undefined,
  }
}

/** The file of a request with CSV. */
function csvOf(body: unknown, query: unknown): unknown {
  if (!(body instanceof CsvBody)) return null
  return { bytes: body.bytes, options: { ...(query as object), charset: body.charset } }
}

/** A missing body counts as an empty object, but a body of `null` does not. */
function bodyOf({ body: schema, read_plain }: Endpoint, { body = {} }: FastifyRequest): unknown {
  if (!schema || body instanceof CsvBody) return undefined
  return read_plain?.(body) ?? decode(schema, body)
}

/** An id of a wrong form gets the same 404 as an unknown id. */
function paramsOf({ params, not_found }: Endpoint, input: unknown): unknown {
  if (!params) return undefined
  const result = params.safeParse(input)
  if (result.success) return result.data
  throw new SvcError('not_found', not_found ?? 'Not found')
}

function queryOf({ query, rate, signed_by }: Endpoint, url: string, input: unknown): unknown {
  const hasNone = Object.keys(input as object).length === 0
  if (hasNone && !query) return undefined
  // Probes are always answered, and the sender of a signed notification may add parameters to its URL.
  if (rate !== 'exempt' && !signed_by) refuseUnknownParameters(query, input as object)
  if (!query) return undefined
  // The parser would read broken percent-encoding as plain text.
  if (url.includes('%') && !isDecodable(url)) {
    throw invalid('', 'The query string must be percent-encoded UTF-8')
  }
  checkValue(input)
  return decode(query, input)
}

/** Whether a part of a URL is percent-encoded UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  const result = idempotencyKey.safeParse(key)
  if (result.success) return result.data
  throw invalid('Idempotency-Key', result.error.issues[0]?.message ?? 'Invalid request')
}

/** The identity of a caller on an endpoint that takes sessions only. */
export function sessionOf(identity: Identity | null): Identity & { kind: 'session' } {
  if (identity?.kind !== 'session') throw new Error('the endpoint takes sessions only')
  return identity
}

/** Lets the routes of `scope` take a body of any type as exact bytes, because its signature covers these bytes. */
export function acceptRaw(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, bytes, done) => {
    done(null, bytes)
  })
}

/** The body of a request with a CSV file. */
class CsvBody {
  readonly bytes: Uint8Array
  /** The encoding that the request names. */
  readonly charset: string | undefined

  constructor(bytes: Uint8Array, charset: string | undefined) {
    this.bytes = bytes
    this.charset = charset
  }
}

const CHARSET = /;\s*charset="?([^\s;"]+)/i

/** Lets the routes of `scope` also take a CSV file; its bytes are read by the handler. */
function acceptCsv(scope: FastifyInstance): void {
  const read = (
    request: FastifyRequest,
    bytes: Buffer,
    done: (error: null, body: CsvBody) => void,
  ) => done(null, new CsvBody(bytes, CHARSET.exec(request.headers['content-type'] ?? '')?.[1]))
  for (const type of ['text/csv', 'text/tab-separated-values']) {
    scope.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, read)
  }
}
