import { type Endpoint, emailKey, SvcError } from '@svc/core/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Authenticator, type Identity, missingCredential, requireScope } from './auth.ts'
import type { Gate } from './gate.ts'
import { priorityOf } from './load.ts'
import type { PageRate } from './pages/page.ts'
import { clientOf, type RateLimiter, type State } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the admission let in; null where no credential was asked for. */
    identity: Identity | null
    /** Whether the body was still to come when the credential was checked. */
    awaitsBody: boolean
  }
}

/** Who comes in. Runs before a body is read: a stranger learns nothing of the schemas. */
export interface Admission {
  /**
   * Whoever exceeds a limit, or is a stranger, is told that, however busy the service is; only then is looked at whether
   * it can take the request, still before its body is read.
   * @throws SvcError 429, 401, 403 or 429, looked at in that order.
   */
  admit(endpoint: Endpoint | null, request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Checks the credential again where the body was not there yet when it was checked: a client may take its time with
   * that, and a key or session that ended meanwhile ends the request too.
   * @throws SvcError 401 or 403.
   */
  confirm(endpoint: Endpoint, request: FastifyRequest): Promise<void>
  /** Of a page, which anybody may read. @throws SvcError 429. */
  admitVisitor(rate: PageRate, request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Counts a request in the bucket that login and its kin have for each e-mail address. */
  countFor(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint,
    email: string,
  ): Promise<void>
  /** Counts a request that turned out to estimate a bulk in the bucket that its workspace has for these. */
  countBulkEstimate(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Counts a signup in the bucket that all clients share. */
  countSignup(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Counts a login to the account of an e-mail address: in the bucket of the network that it comes from, where the
   * account knows it, and else in that of the address and in the one that all clients share.
   */
  countLogin(
    request: FastifyRequest,
    reply: FastifyReply,
    email: string,
    knownNetwork: string | null,
  ): Promise<void>
  /** Counts a request whose signature was wrong as a stranger's, and refuses nothing for it; answers how its bucket stands. */
  noteBadSignature(request: FastifyRequest, reply: FastifyReply): Promise<State>
  /** Does the work of a request that was let in; until it has ended, it is load. */
  during: Gate['during']
}

export function createAdmission(
  app: FastifyInstance,
  limiter: RateLimiter,
  { authenticator, gate }: { authenticator: Authenticator; gate: Gate },
): Admission {
  app.decorateRequest('identity', null)
  app.decorateRequest('awaitsBody', false)

  async function admitStranger(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Pick<Endpoint, 'path' | 'rate'> | null,
  ): Promise<void> {
    const client = clientOf(request)
    if (endpoint?.rate === 'exempt') return limiter.show(request, reply, 'anonymous', client)
    await limiter.count(request, reply, 'anonymous', client)
    if (endpoint?.rate === 'auth') {
      await limiter.count(request, reply, 'auth', clientOf(request, endpoint.path))
    }
  }

  async function admitKnown(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint,
    identity: Identity,
  ): Promise<void> {
    const who = identity.kind === 'api_key' ? identity.api_key_id : identity.workspace_id
    const { workspace_id } = identity
    await limiter.countShared(request, reply, ['general', who], ['workspace', workspace_id])
    if (endpoint.rate === 'bulk') {
      await limiter.count(request, reply, 'bulk', workspace_id)
    }
    if (endpoint.rate === 'auth') {
      await limiter.count(request, reply, 'auth', clientOf(request, endpoint.path))
    }
  }

  /**
   * A credential that is wrong counts twice: as a stranger's request, and as a failed attempt. Who may make no more of them
   * gets a 429, whatever is wrong with the credential.
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

  async function admit(
    endpoint: Endpoint | null,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const credential = endpoint && authenticator.credentialOf(request, endpoint)
    if (!credential) {
      await admitStranger(request, reply, endpoint)
      if (endpoint && endpoint.auth !== 'none') throw missingCredential(endpoint)
      return
    }
    // Looked at first: what others send from an address does not hold back who has a good credential there.
    const identity = await authenticator
      .identify(credential, request)
      .catch((error) => refuseBadCredential(request, reply, error))
    await admitKnown(request, reply, endpoint, identity)
    requireScope(identity, endpoint.scope)
    request.identity = identity
    request.awaitsBody = !request.raw.complete
  }

  return {
    admit: (endpoint, request, reply) =>
      gate.during(async () => {
        const priority = endpoint ? priorityOf(endpoint) : 'lists'
        await gate.turn(priority)
        await admit(endpoint, request, reply)
        if (endpoint) gate.check(priority, request)
      }),
    async confirm(endpoint, request) {
      if (!request.awaitsBody) return
      const credential = authenticator.credentialOf(request, endpoint)
      if (credential) request.identity = await authenticator.identify(credential, request)
    },
    admitVisitor: (rate, request, reply) =>
      gate.during(async () => {
        const priority = priorityOf({ rate })
        await gate.turn(priority)
        await admitStranger(request, reply, rate === 'exempt' ? { path: '/', rate } : null)
        gate.check(priority, request)
      }),
    countFor: (request, reply, { path }, email) =>
      limiter.count(request, reply, 'auth', `${path} ${emailKey(email)}`),
    async countBulkEstimate(request, reply) {
      const { identity } = request
      if (identity) await limiter.count(request, reply, 'bulk_estimate', identity.workspace_id)
    },
    countSignup: (request, reply) => limiter.count(request, reply, 'signup_all', 'all'),
    async countLogin(request, reply, email, knownNetwork) {
      const account = `login ${emailKey(email)}`
      if (knownNetwork) {
        return limiter.count(request, reply, 'auth', `${account} from ${knownNetwork}`)
      }
      await limiter.count(request, reply, 'auth', account)
      // Last: what is refused for one account does not use up what all have.
      await limiter.count(request, reply, 'login_all', 'all')
    },
    noteBadSignature: (request, reply) =>
      limiter.note(request, reply, 'anonymous', clientOf(request)),
    during: gate.during,
  }
}
