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
  SvcError,
} from '@svc/core/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Admission } from './admission.ts'
import { type Identity, viewerOf } from './auth.ts'
import { acceptCsv } from './csv-body.ts'
import { failureOf, tooBusy } from './failures.ts'
import { inTime } from './in-time.ts'
import { plainAddress } from './rate-limit.ts'
import { keepRaw } from './raw-body.ts'
import { isDecodable } from './readable-url.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The line of the API's table that a route serves: a route without one is not served at all. */
    endpoint?: Endpoint
  }
}

/** What a handler gets: everything decoded, everybody known. */
export interface Call<E> {
  /** Whose data this is about; empty where an endpoint asks for no credential. */
  workspace_id: string
  identity: Identity | null
  /** Who asks, as the audit log records it. */
  actor: Actor
  /** Whose data is seen and changed: a test key's are test data. */
  viewer: Viewer
  body: Body<E>
  query: Query<E>
  params: Params<E>
  idempotency_key: string | undefined
  /** Counts the call in the stricter bucket of an e-mail address. */
  countFor(email: string): Promise<void>
  /** Counts the call in its workspace's bucket of bulk estimates. */
  countBulkEstimate(): Promise<void>
  /** Counts the call in the bucket of all signups. */
  countSignup(): Promise<void>
  /** Counts the call among the logins to an account, by where it comes from. */
  countLogin(email: string, knownNetwork: string | null): Promise<void>
  /** Counts the call as a stranger's: its signature was wrong. */
  countBadSignature(): Promise<void>
  /** Says on the response that it is a stored answer. */
  replayed(): void
  /** What was sent where an endpoint asks for a signature over the body: all of it still to be believed. */
  signed: Signed
  reply: FastifyReply
}

/** A body as it came, and the header that signs it. */
interface Signed {
  body: Uint8Array
  signature: string | undefined
}

/**
 * Whoever has a key to ask again with need not wait for 10 s. Contract section 12. A little less, or the time limit of
 * PostgreSQL, which is 10 s too, could come first and be told as a fault.
 */
const REPEATABLE_MAX_MS = 9_500

type Group = Readonly<Record<string, Endpoint>>

/** What a handler answers: the data, or a stream of what is sent, whose type it then says on the reply. */
type Answer<E> = E extends { readonly gives_csv: true }
  ? Readable
  : E extends { readonly in_pieces: true }
    ? Data<E> | Readable
    : Data<E>

/** One handler for each endpoint of a group: a forgotten one does not compile. */
export type Handlers<G extends Group> = {
  [K in keyof G]: (call: Call<G[K]>) => Promise<Answer<G[K]>> | Answer<G[K]>
}

/** Serves a group of endpoints. Checks run in one order: rate limit, credential, scope, validation, work. */
export function mount<G extends Group>(
  app: FastifyInstance,
  admission: Admission,
  group: G,
  handlers: Handlers<G>,
): void {
  for (const name of Object.keys(group) as (keyof G & string)[]) {
    const endpoint = group[name] as Endpoint
    const handle = handlers[name] as unknown as (call: Call<Endpoint>) => unknown
    serve(app, endpoint, {
      method: endpoint.method,
      url: endpoint.path,
      config: { endpoint },
      onRequest: (request, reply) => admission.admit(endpoint, request, reply),
      bodyLimit: endpoint.body_limit ?? LIMITS.body_bytes,
      handler: async (request, reply) => {
        await admission.confirm(endpoint, request)
        const call = callOf(endpoint, request, reply, admission)
        const data = await admission.during(() => answerOf(call, handle, request))
        if (data instanceof Readable) return reply.send(data)
        const answer = (endpoint.data as { encode(value: unknown): unknown }).encode(data)
        if (reply.statusCode === 200) reply.code(endpoint.status)
        reply.header('content-type', 'application/json; charset=utf-8')
        return JSON.stringify(endpoint.enveloped ? { success: true, data: answer } : answer)
      },
    })
  }
}

/** What may be asked for again gets its stored answer then, whatever became of it meanwhile. */
async function answerOf(
  call: Call<Endpoint>,
  handle: (call: Call<Endpoint>) => unknown,
  { id, log }: FastifyRequest,
): Promise<unknown> {
  if (call.idempotency_key === undefined) return handle(call)
  const work = Promise.resolve(handle(call))
  return inTime(REPEATABLE_MAX_MS, work, () => {
    // Nobody hears of its end any more.
    work.catch((error) => {
      if (failureOf(error).status === 500)
        log.error({ err: error, request_id: id }, 'request failed')
    })
    return tooBusy()
  })
}

/** A body other than JSON is taken by its own routes alone, which have their parsers to themselves. */
function serve(app: FastifyInstance, endpoint: Endpoint, route: RouteOptions): void {
  const { takes_csv, signed_by } = endpoint
  if (!takes_csv && !signed_by) return void app.route(route)
  app.register(async (scope) => {
    if (takes_csv) acceptCsv(scope)
    if (signed_by) keepRaw(scope)
    scope.route(route)
  })
}

function callOf(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
): Call<Endpoint> {
  const { identity } = request
  return {
    workspace_id: identity?.workspace_id ?? '',
    identity,
    actor: actorOf(request),
    viewer: viewerOf(identity),
    params: paramsOf(endpoint, request.params) as Call<Endpoint>['params'],
    query: queryOf(endpoint, request.url, request.query) as Call<Endpoint>['query'],
    body: (endpoint.body && decode(endpoint.body, bodyOf(request))) as Call<Endpoint>['body'],
    idempotency_key: endpoint.idempotent ? idempotencyKeyOf(request) : undefined,
    countFor: (email) => admission.countFor(request, reply, endpoint, email),
    countBulkEstimate: () => admission.countBulkEstimate(request, reply),
    countSignup: () => admission.countSignup(request, reply),
    countLogin: (email, knownNetwork) => admission.countLogin(request, reply, email, knownNetwork),
    async countBadSignature() {
      await admission.noteBadSignature(request, reply)
    },
    replayed: () => void reply.header('Idempotent-Replayed', 'true'),
    signed: signedOf(endpoint, request),
    reply,
  }
}

/** Who makes a request, once it was admitted. */
export function actorOf({ identity, ip, id }: FastifyRequest): Actor {
  return {
    kind: identity?.kind ?? 'client',
    id: identity?.kind === 'api_key' ? identity.api_key_id : null,
    address: plainAddress(ip),
    request_id: id,
    ...(identity?.kind === 'session' && {
      session: { session_hash: identity.session_hash, token_version: identity.token_version },
    }),
  }
}

function signedOf({ signed_by = '' }: Endpoint, { body, headers }: FastifyRequest): Signed {
  const signature = headers[signed_by.toLowerCase()]
  return {
    body: body instanceof Uint8Array ? body : new Uint8Array(),
    signature: typeof signature === 'string' ? signature : undefined,
  }
}

/** No body is an empty one; `null` is not. */
function bodyOf({ body }: FastifyRequest): unknown {
  return body === undefined ? {} : body
}

/** An id that cannot be one is an id that nobody has: the same 404 as for any other. */
function paramsOf({ params, not_found }: Endpoint, given: unknown): unknown {
  if (!params) return undefined
  const result = params.safeParse(given)
  if (result.success) return result.data
  throw new SvcError('not_found', not_found ?? 'Not found')
}

function queryOf({ query }: Endpoint, url: string, given: unknown): unknown {
  if (!query) return undefined
  // The parser takes broken percent-encoding for plain text.
  if (url.includes('%') && !isDecodable(url)) {
    throw invalid('', 'The query string must be percent-encoded UTF-8')
  }
  checkValue(given)
  return decode(query, given)
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  const result = idempotencyKey.safeParse(key)
  if (result.success) return result.data
  throw invalid('Idempotency-Key', result.error.issues[0]?.message ?? 'Invalid request')
}
