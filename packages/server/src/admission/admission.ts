import { type Endpoint, emailKey, SvcError } from '@svc/core/contract'
import {
  type Awaitable,
  createByteBudget,
  requireCapability,
  requireScope,
  whenReady,
  within,
} from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { tooBusy } from '../failures.ts'
import {
  type Authenticator,
  type Expected,
  type Identity,
  missingCredential,
} from './authenticator.ts'
import type { Gate } from './gate.ts'
import { clientOf, type RateLimiter, type State } from './rate-limiter.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The identity that the admission found; null if the endpoint takes no credential. */
    svcIdentity: Identity | null
    /** Whether the body had not arrived when the credential was checked. */
    svcAwaitsBody: boolean
  }
}

/**
 * How the requests of a page count. `anonymous`: like any request without a credential. `exempt`: in no bucket, so
 * that no request is refused; the headers only show a bucket. `console`: in the bucket of the console, by address, so that
 * pages of people use up nothing of what other clients of their address have.
 */
export type PageRate = 'anonymous' | 'console' | 'exempt'

/** The name with which a client logs in: the e-mail address of a member, or the name of an operator. */
export interface LoginName {
  kind: 'member' | 'operator'
  name: string
}

/**
 * Decides which requests may enter. It runs before a body is read, so that a refusal reveals nothing of the schemas. A request whose
 * check takes longer than 9.5 s is refused with 429.
 */
export interface Admission {
  /**
   * Checks rate limits and the credential first, even if the service is busy, and then whether the service has room for
   * the request.
   * @throws SvcError 429, 401, 403 or 429, checked in this order.
   */
  admit(endpoint: Endpoint | null, request: FastifyRequest, reply: FastifyReply): Awaitable<void>
  /**
   * Checks the credential again if the body had not arrived at the first check: if the key or session ended while the
   * body arrived, the request is refused.
   * @throws SvcError 401, 403 or 429.
   */
  confirm(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): Awaitable<void>
  /** Admits a request for a page, which needs no credential. @throws SvcError 429. */
  admitVisitor(rate: PageRate, request: FastifyRequest, reply: FastifyReply): Awaitable<void>
  /** Counts a request in the bucket that login and similar endpoints have for each e-mail address. */
  countFor(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint,
    email: string,
  ): Promise<void>
  /** Counts another request of the caller: work that one request asks for several times. */
  countMore(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Counts the estimate of a bulk in the workspace's bucket for estimates. */
  countBulkEstimate(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Counts a signup in the bucket that all clients share. */
  countSignup(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Counts a login. If the account knows the client's network, the bucket of this network counts it; otherwise the bucket of the
   * account and the bucket that all clients share. All spellings that find one account count in one bucket.
   */
  countLogin(
    request: FastifyRequest,
    reply: FastifyReply,
    login: LoginName,
    knownNetwork: string | null,
  ): Promise<void>
  /**
   * Does work that needs the code of a second factor, and counts a wrong code in a bucket of the account that no network has of its
   * own. A wrong code is found only after the right password, so that guesses of strangers use up nothing of it.
   * @throws SvcError 429 without the work if the bucket is used up; the error of the work.
   */
  tryCode<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    code: { login: LoginName; code: string | undefined },
    work: () => Promise<T>,
  ): Promise<T>
  /** Counts a request with a wrong signature as one without credentials. Refuses no request; returns the state. */
  noteBadSignature(request: FastifyRequest, reply: FastifyReply): Promise<State>
  /** Waits until a large body fits into memory, before it is read. */
  reserveBody: preParsingHookHandler
  /** Runs the work of an admitted request, which counts as load until it ends. */
  during: Gate['during']
}

/** Ends a hook after an admission. A refusal without a wait was thrown before, and the throw ended the hook. */
export function endHook(admitted: Awaitable<void>, done: (error?: Error) => void): void {
  if (admitted instanceof Promise) admitted.then(() => done(), done)
  else done()
}

/** The endpoints of the console with which a member adds the second factor. */
const SECOND_FACTOR = '/api/second-factor'

/**
 * Whether an identity may call an endpoint. An operator may call only endpoints for operators, and no other identity may.
 * @throws SvcError `forbidden`.
 */
function assertMay(identity: Identity, endpoint: Endpoint): void {
  if ((identity.kind === 'operator') !== (endpoint.auth === 'operator')) {
    throw new SvcError('forbidden', 'The credential is not for this endpoint')
  }
  if (identity.kind === 'api_key') {
    requireScope(identity, endpoint.scope)
    requireScope(identity, endpoint.also_scope)
  }
  if (identity.kind !== 'session') return
  if (identity.lacks_second_factor && !endpoint.path.startsWith(SECOND_FACTOR)) {
    const text = 'A second factor is required here: add an authenticator app in the console'
    throw new SvcError('forbidden', text)
  }
  requireCapability(identity.role, endpoint.needs)
}

/** Lets an identity enter that may. @throws SvcError `forbidden`. */
function enter(request: FastifyRequest, endpoint: Endpoint, identity: Identity): void {
  assertMay(identity, endpoint)
  request.svcIdentity = identity
  request.svcAwaitsBody = !request.raw.complete
}

/** Whether work failed because of the code of a second factor, which members send as `otp` and operators as `code`. */
function isWrongCode(error: unknown): boolean {
  const details = error instanceof SvcError ? error.details : undefined
  return details?.some(({ path }) => path === 'otp' || path === 'code') ?? false
}

/** A slow database can make the checks wait several times. With the limit of its work, a send is answered within 25 s of its last byte. */
const CHECK_MAX_MS = 9_500

export function createAdmission(
  app: FastifyInstance,
  limiter: RateLimiter,
  { authenticator, gate }: { authenticator: Authenticator; gate: Gate },
): Admission {
  app.decorateRequest('svcIdentity', null)
  app.decorateRequest('svcAwaitsBody', false)

  /** @throws SvcError 429 when the checks of a request take too long. Its work has not begun. */
  function inTime(
    checked: Awaitable<void>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Awaitable<void> {
    if (!(checked instanceof Promise)) return checked
    return within(CHECK_MAX_MS, checked, () => {
      limiter.showUnknown(request, reply)
      throw tooBusy()
    })
  }

  async function admitAnonymous(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Pick<Endpoint, 'path' | 'rate' | 'auth'> | null,
  ): Promise<void> {
    const client = clientOf(request)
    const { console: access, page } = request.routeOptions.config
    const isSessionCheck =
      access !== undefined && endpoint?.auth === 'none' && request.method === 'GET'
    if (page === 'console' || isSessionCheck)
      return limiter.count(request, reply, 'console', client)
    if (endpoint?.rate === 'exempt') return limiter.show(request, reply, 'anonymous', client)
    await limiter.count(request, reply, 'anonymous', client)
    if (endpoint?.rate === 'auth') {
      await limiter.count(request, reply, 'auth', clientOf(request, endpoint.path))
    }
  }

  function admitKnown(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint,
    identity: Expected | Identity,
  ): Awaitable<void> {
    if ('operator' in identity) {
      return limiter.count(request, reply, 'console', `operator ${emailKey(identity.operator)}`)
    }
    const { workspace_id } = identity
    const caller = 'api_key_id' in identity ? identity.api_key_id : identity.user_id
    const isConsole = request.routeOptions.config.console !== undefined
    const own = [isConsole ? 'console' : 'general', caller] as const
    // Pages that show live data read often, so their reads use up nothing of what programs of the workspace have.
    const counted =
      isConsole && (request.method === 'GET' || request.method === 'HEAD')
        ? limiter.count(request, reply, ...own)
        : limiter.countShared(request, reply, own, ['workspace', workspace_id])
    if (endpoint.rate !== 'bulk' && endpoint.rate !== 'auth') return counted
    const [bucket, who] =
      endpoint.rate === 'bulk'
        ? (['bulk', workspace_id] as const)
        : (['auth', clientOf(request, endpoint.path)] as const)
    return whenReady(counted, () => limiter.count(request, reply, bucket, who))
  }

  /**
   * A wrong credential counts twice: as a request without credentials, and as a failed attempt. A client that used up
   * either bucket gets a 429 in place of the reason.
   */
  async function refuseBadCredential(
    request: FastifyRequest,
    reply: FastifyReply,
    error: unknown,
  ): Promise<never> {
    const client = clientOf(request)
    await limiter.count(request, reply, 'anonymous', client)
    if (error instanceof SvcError && error.status === 401) {
      await limiter.count(request, reply, 'failed_auth', client)
    }
    throw error
  }

  /**
   * Counts a request whose credential needs a query. Where the identity is expected, it counts meanwhile, which saves a wait: the
   * first request after the end of a key has then counted in the key's buckets too; its response shows only the buckets of a wrong
   * credential.
   */
  async function countIdentified(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint,
    { identifying, expected }: { identifying: Promise<Identity>; expected: Expected | null },
  ): Promise<Identity> {
    const counting = expected && Promise.resolve(admitKnown(request, reply, endpoint, expected))
    const [identity, counted] = await Promise.allSettled([identifying, counting])
    if (identity.status === 'rejected') {
      request.svcTightest = null
      return refuseBadCredential(request, reply, identity.reason)
    }
    if (counted.status === 'rejected') throw counted.reason
    if (!expected) await admitKnown(request, reply, endpoint, identity.value)
    return identity.value
  }

  /**
   * Finds the identity of a request, and counts the request; null without a credential. The credential is checked before any bucket, so that other clients
   * of the address cannot block its owner.
   */
  function identified(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint,
  ): Awaitable<Identity> | null {
    let identity: Awaitable<Identity> | null
    try {
      identity = authenticator.identityOf(request, endpoint)
    } catch (error) {
      return refuseBadCredential(request, reply, error)
    }
    if (identity === null) return null
    if (identity instanceof Promise) {
      const expected = authenticator.expectedOf(request, endpoint)
      return countIdentified(request, reply, endpoint, { identifying: identity, expected })
    }
    const counted = admitKnown(request, reply, endpoint, identity)
    return counted instanceof Promise ? counted.then(() => identity) : identity
  }

  function assertAdmitted(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint | null,
  ): Awaitable<void> {
    const identity = endpoint && identified(request, reply, endpoint)
    if (!endpoint || identity === null) {
      return admitAnonymous(request, reply, endpoint).then(() => {
        if (endpoint && endpoint.auth !== 'none') throw missingCredential(endpoint)
      })
    }
    if (identity instanceof Promise)
      return identity.then((found) => enter(request, endpoint, found))
    enter(request, endpoint, identity)
  }

  return {
    admit: (endpoint, request, reply) =>
      inTime(
        gate.admit(endpoint, request, () => assertAdmitted(request, reply, endpoint)),
        request,
        reply,
      ),
    confirm(endpoint, request, reply) {
      if (!request.svcAwaitsBody) return
      const identity = authenticator.identityOf(request, endpoint)
      if (identity === null) return
      if (identity instanceof Promise)
        return inTime(
          identity.then((found) => enter(request, endpoint, found)),
          request,
          reply,
        )
      enter(request, endpoint, identity)
    },
    admitVisitor: (rate, request, reply) =>
      inTime(
        gate.admit({ rate: rate === 'console' ? 'anonymous' : rate }, request, () =>
          admitAnonymous(
            request,
            reply,
            rate === 'exempt' ? { path: '/', rate, auth: 'none' } : null,
          ),
        ),
        request,
        reply,
      ),
    countFor: async (request, reply, { path }, email) =>
      limiter.count(request, reply, 'auth', `${path} ${emailKey(email)}`),
    async countMore(request, reply) {
      const { svcIdentity: identity } = request
      if (identity?.kind !== 'api_key') return
      const shared = ['workspace', identity.workspace_id] as const
      await limiter.countShared(request, reply, ['general', identity.api_key_id], shared)
    },
    async countBulkEstimate(request, reply) {
      const { svcIdentity: identity } = request
      if (identity) await limiter.count(request, reply, 'bulk_estimate', identity.workspace_id)
    },
    countSignup: async (request, reply) => limiter.count(request, reply, 'signup_all', 'all'),
    async countLogin(request, reply, { kind, name }, knownNetwork) {
      // The key with which the look-up finds the account.
      const account = `${kind} login ${emailKey(name)}`
      if (knownNetwork) {
        return limiter.count(request, reply, 'auth', `${account} from ${knownNetwork}`)
      }
      await limiter.count(request, reply, 'auth', account)
      // Counted last, so that logins refused for one account do not use up the bucket of all clients.
      await limiter.count(request, reply, 'login_all', 'all')
    },
    async tryCode(request, reply, { login: { kind, name }, code }, work) {
      if (code === undefined) return work()
      const account = `${kind} code ${emailKey(name)}`
      await limiter.assertLeft(request, reply, 'auth', account)
      try {
        return await work()
      } catch (error) {
        if (isWrongCode(error)) await limiter.count(request, reply, 'auth', account)
        throw error
      }
    },
    noteBadSignature: (request, reply) =>
      limiter.note(request, reply, 'anonymous', clientOf(request)),
    reserveBody: createBodyBudget(),
    during: gate.during,
  }
}

/** Bodies up to this size are read at once, like those of all other requests. */
const SMALL_BYTES = 1024 * 1024

/**
 * The large bodies that are in memory at once, until their answers. With its decoded files and the parts that are being
 * stored, a body takes about three times as much. A body above this size is read alone.
 */
const BYTES_MAX = 64 * 1024 * 1024

/** The same for one workspace, so that the slow requests of one do not stop those of the others. */
const BYTES_OF_WORKSPACE = BYTES_MAX / 2

/**
 * Makes a hook that lets a request with a large body wait until the body fits into memory. The client cannot send it
 * meanwhile. The time limit of a request also ends the wait.
 */
export function createBodyBudget(): preParsingHookHandler {
  const all = createByteBudget(BYTES_MAX)
  const workspaces = new Map<
    string,
    { budget: ReturnType<typeof createByteBudget>; users: number }
  >()

  async function reserve(
    request: FastifyRequest,
    reply: FastifyReply,
    bytes: number,
  ): Promise<void> {
    const workspaceId = request.svcIdentity?.workspace_id ?? ''
    const own = workspaces.get(workspaceId) ?? {
      budget: createByteBudget(BYTES_OF_WORKSPACE),
      users: 0,
    }
    workspaces.set(workspaceId, own)
    own.users += 1
    const releases: (() => void)[] = []
    const gone = new AbortController()
    reply.raw.once('close', () => {
      gone.abort(new Error('the client left'))
      for (const release of releases.splice(0)) release()
      own.users -= 1
      if (own.users === 0) workspaces.delete(workspaceId)
    })
    for (const budget of [own.budget, all]) {
      const release = await budget.reserve(bytes, gone.signal)
      if (gone.signal.aborted) release()
      else releases.push(release)
    }
  }

  // Without a promise for the small bodies, which are nearly all.
  return (request, reply, _payload, done) => {
    const bytes = bytesOf(request)
    if (bytes <= SMALL_BYTES) done()
    else reserve(request, reply, bytes).then(() => done(), done)
  }
}

/** The announced size of the body; without it, the largest that the route takes. */
function bytesOf({ headers, routeOptions }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? SMALL_BYTES
  const length = headers['content-length']
  return length === undefined ? limit : Math.min(Number(length), limit)
}
