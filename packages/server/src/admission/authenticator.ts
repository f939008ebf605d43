import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import jwt from '@fastify/jwt'
import type { Actor, KeyIdentity, NewSession } from '@svc/core'
import { type Endpoint, LIMITS, type Role, SvcError, scopesOf, uuid } from '@svc/core/contract'
import type { Awaitable, DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type ConsoleUser,
  chosenMode,
  chosenWorkspace,
  cookieToken,
  operatorToken,
} from '../console-api/access.ts'

/** The identity behind a request: a workspace's session, or one of its API keys. */
export type Identity =
  | {
      kind: 'session'
      workspace_id: string
      /** The login: the workspace for its owner, otherwise the user. */
      user_id: string
      /** The role of the login in the workspace. */
      role: Role
      /** Names the session: the SHA-256, hex, of its token without the signature. */
      session_hash: string
      /** The login's token version that the token was issued with. */
      token_version: number
      /** When the token expires. */
      ends_at: Date
      /** The service requires a second factor, and the sign-in had none: the person may only add one. */
      lacks_second_factor?: boolean
      /** The data that the console shows; absent: all data. */
      mode?: 'live' | 'test'
      /** A host or `svc dev` named the person, and there is no token that could end. */
      is_trusted?: true
    }
  | ({ kind: 'api_key' } & KeyIdentity)
  | OperatorIdentity

/** An operator of the service in the console. */
export interface OperatorIdentity {
  kind: 'operator'
  /** Empty: an operator belongs to no workspace. */
  workspace_id: ''
  /** The name of the operator. */
  operator: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Reads the API key of a request to a route that takes it in another header than the API; null for none. */
    readKey?: (headers: IncomingHttpHeaders) => KeyCredential | null
  }
}

/** The credential in a request, not yet checked. */
export type Credential =
  | { kind: 'jwt'; header: string }
  /** The person that the host of the console authenticates. */
  | { kind: 'host' }
  | { kind: 'operator'; token: string }
  /** The operator that the host of the console authenticates. */
  | { kind: 'host_operator' }
  | KeyCredential

/** An API key. `belongsTo`: whether the names that stand beside the key in the request are the names of its identity. */
export interface KeyCredential {
  kind: 'api_key'
  key: string
  belongsTo?: (identity: Expected) => boolean
}

/** The ids of an identity, by which its requests are counted. */
export type Expected = Pick<KeyIdentity, 'workspace_id' | 'api_key_id'>

export interface Authenticator {
  /** Whether members need more than the password. */
  needs_second_factor: boolean
  /**
   * The identity of a request, by the credential that the endpoint takes; null if the request has none.
   * @throws SvcError as `identify` does.
   */
  identityOf(request: FastifyRequest, endpoint: Endpoint): Awaitable<Identity> | null
  /** The credential of a request of the console: its cookie, otherwise the sign-in of the host. */
  consoleCredentialOf(request: FastifyRequest): Credential | null
  /**
   * The credential of an operator in a request of the console: the cookie of operators, otherwise the sign-in of the host for a
   * browser without a session cookie.
   */
  operatorCredentialOf(request: FastifyRequest): Credential | null
  /** The ids of the identity that `identityOf` will probably find, if it needs a query. */
  expectedOf(request: FastifyRequest, endpoint: Endpoint): Expected | null
  /** @throws SvcError 401, or 403 for an address that the key does not allow. */
  identify(credential: Credential, request: FastifyRequest): Awaitable<Identity>
  /**
   * Issues the token of a session, and adds the session to the list of its login; `session_id` makes the tokens of two logins
   * differ. `agent` is the header `User-Agent`.
   */
  issueToken(session: NewSession, client: { actor: Actor; agent: string | null }): Promise<string>
  /** Ends the session of the cookie of a request, because a new session takes its place in the browser. */
  endReplaced(request: FastifyRequest, actor: Actor): Promise<void>
}

interface Claims {
  /** The login: the workspace for its owner, otherwise the user. */
  sub: string
  /**
   * The workspace of a login that does not own it. `sub` does not name it, so that a server of an older version, which knows no
   * roles, refuses the token of a member.
   */
  ws?: string
  /** The login's token version at issue: a password change ends all earlier tokens. */
  tv: number
  /** The time of issue, in seconds. */
  iat: number
  /** The time of expiry, in seconds. */
  exp: number
  /** Random, so that two logins within one second are two sessions. Tokens issued before logout existed have none. */
  jti?: string
  /** Whether the sign-in needed more than the password. Absent: it did not, or it began before second factors existed. */
  sf?: true
}

/** The endpoints with which an operator adds the second factor. */
const SECOND_FACTOR = '/api/operator/second-factor'

export async function createAuthenticator(
  app: FastifyInstance,
  core: DecodedCore,
  {
    secret,
    now,
    needs_second_factor,
  }: { secret: string; now: () => number; needs_second_factor: boolean },
): Promise<Authenticator> {
  await app.register(jwt, {
    secret,
    // A number means seconds here, although the library that signs counts in milliseconds.
    sign: { algorithm: 'HS256', expiresIn: LIMITS.jwt_lifetime_s },
    // The library's defaults would accept other algorithms, and tokens that never expire.
    verify: { algorithms: ['HS256'], requiredClaims: ['sub', 'tv', 'iat', 'exp'] },
  })

  async function bySession(header: string, request: FastifyRequest): Promise<Identity> {
    const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1]
    if (!token) throw invalidToken()
    const claims = readClaims(app, token, now())
    const { sub: user_id, ws = user_id, tv: token_version, sf } = claims
    const access = request.routeOptions.config.console
    const isConsole = access !== undefined
    const workspace_id = (isConsole && chosenWorkspace(request)) || ws
    if (!isId(workspace_id)) throw invalidToken()
    const session = { user_id, workspace_id, session_hash: sessionHashOf(token), token_version }
    const role = await core.members.roleOf(session, access)
    if (!role) throw invalidToken()
    const ends_at = new Date(claims.exp * 1000)
    return {
      kind: 'session',
      ...session,
      role,
      ends_at,
      ...(needs_second_factor && !sf && { lacks_second_factor: true }),
      ...(isConsole && { mode: chosenMode(request) }),
    }
  }

  async function byHost(request: FastifyRequest): Promise<Identity> {
    const user = await request.routeOptions.config.console?.authenticate?.(request)
    if (!user || !('workspace_id' in user) || !isId(user.workspace_id))
      throw new SvcError('unauthorized', 'Sign in first')
    return { ...trusted(user), mode: chosenMode(request) }
  }

  async function byOperator(credential: Credential, request: FastifyRequest): Promise<Identity> {
    if (credential.kind === 'operator') {
      const operator = await core.operators.ofToken(
        credential.token,
        request.routeOptions.config.console,
      )
      if (!operator) throw invalidToken()
      const { console, endpoint } = request.routeOptions.config
      const isHeld = console?.needs_second_factor && operator.totp_since === null
      const isOther = endpoint?.auth === 'operator' && !endpoint.path.startsWith(SECOND_FACTOR)
      if (isHeld && isOther && (await core.operators.passkeys(operator.name)).length === 0) {
        const text = 'Operators need a second factor here: add an authenticator app in Settings'
        throw new SvcError('forbidden', text)
      }
      return { kind: 'operator', workspace_id: '', operator: operator.name }
    }
    const user = await request.routeOptions.config.console?.authenticate?.(request)
    const name = user?.operator
    if (!name || name.length > LIMITS.operator_name_length) throw missingOperator()
    return { kind: 'operator', workspace_id: '', operator: name }
  }

  function operatorCredentialOf(request: FastifyRequest): Credential | null {
    const access = request.routeOptions.config.console
    if (!access?.has_operators) return null
    const token = access.has_sign_in ? operatorToken(request) : null
    if (token !== null) return { kind: 'operator', token }
    // A person who signed in with a password is not the person that the host names.
    if (access.has_sign_in && cookieToken(request) !== null) return null
    return access.authenticate ? { kind: 'host_operator' } : null
  }

  function consoleCredentialOf(request: FastifyRequest): Credential | null {
    const access = request.routeOptions.config.console
    const token = access?.has_sign_in ? cookieToken(request) : null
    if (token !== null) return { kind: 'jwt', header: `Bearer ${token}` }
    return access?.authenticate ? { kind: 'host' } : null
  }

  function credentialOf(request: FastifyRequest, { auth }: Endpoint): Credential | null {
    const { headers, routeOptions } = request
    const { readKey, console } = routeOptions.config
    if (readKey) return readKey(headers)
    if (auth === 'operator') return console ? operatorCredentialOf(request) : null
    if (console) return auth === 'none' ? null : consoleCredentialOf(request)
    const { authorization } = headers
    const key = headers['x-api-key']
    if (auth !== 'api_key' && auth !== 'none' && authorization !== undefined) {
      return { kind: 'jwt', header: authorization }
    }
    if (auth !== 'jwt' && auth !== 'none' && typeof key === 'string') {
      return { kind: 'api_key', key }
    }
    return null
  }

  function identify(credential: Credential, request: FastifyRequest): Awaitable<Identity> {
    if (credential.kind === 'jwt') return bySession(credential.header, request)
    if (credential.kind === 'host') return byHost(request)
    if (credential.kind !== 'api_key') return byOperator(credential, request)
    const { key } = credential
    const known = core.apiKeys.authenticateKnown(key, request.ip)
    if (known) return ofKey(credential, known)
    const authenticating = core.apiKeys.authenticate(key, request.ip)
    return authenticating.then((identity) => ofKey(credential, identity))
  }

  return {
    needs_second_factor,
    consoleCredentialOf,
    operatorCredentialOf,
    identify,
    identityOf(request, endpoint) {
      const credential = credentialOf(request, endpoint)
      return credential && identify(credential, request)
    },
    expectedOf(request, endpoint) {
      const credential = credentialOf(request, endpoint)
      return credential?.kind === 'api_key'
        ? core.apiKeys.expectedOf(credential.key, request.ip)
        : null
    },
    async endReplaced(request, actor) {
      const token = cookieToken(request)
      if (token === null) return
      try {
        const identity = await bySession(`Bearer ${token}`, request)
        if (identity.kind === 'session') await core.workspaces.logout(identity, actor)
      } catch (error) {
        // A session that ended needs no end.
        if (!(error instanceof SvcError)) throw error
      }
    },
    async issueToken(
      { user_id, workspace_id, token_version, session_id, has_second_factor },
      { actor, agent },
    ) {
      const iat = Math.floor(now() / 1000)
      const token = app.jwt.sign({
        sub: user_id,
        ...(workspace_id !== user_id && { ws: workspace_id }),
        tv: token_version,
        iat,
        jti: session_id,
        ...(has_second_factor && { sf: true }),
      } satisfies Omit<Claims, 'exp'>)
      const ends_at = new Date((iat + LIMITS.jwt_lifetime_s) * 1000)
      const session = { user_id, workspace_id, session_hash: sessionHashOf(token), ends_at }
      await core.members.listSession({ ...session, agent }, actor)
      return token
    },
  }
}

/**
 * Hashes a token without its signature. Decoders ignore some bits of the last character of a base64url text, so one
 * signature has several spellings.
 */
function sessionHashOf(token: string): string {
  return hash('sha256', token.slice(0, token.lastIndexOf('.')))
}

function readClaims(app: FastifyInstance, token: string, now_ms: number): Claims {
  try {
    const claims = app.jwt.verify<Claims>(token, { clockTimestamp: now_ms })
    const { sub, ws = sub, tv } = claims
    if (isId(sub) && isId(ws) && Number.isInteger(tv)) return claims
  } catch (error) {
    if ((error as { code?: unknown }).code === 'FAST_JWT_EXPIRED') {
      throw new SvcError('token_expired', 'Your session has expired. Please login again.')
    }
  }
  throw invalidToken()
}

function isId(claim: unknown): boolean {
  return uuid.safeParse(claim).success
}

function invalidToken(): SvcError {
  return new SvcError('token_expired', 'Invalid or expired token')
}

function missingOperator(): SvcError {
  return new SvcError('unauthorized', 'Sign in as an operator first')
}

/** The error for a request without the credential that an endpoint requires. */
export function missingCredential({ auth }: Endpoint): SvcError {
  if (auth === 'operator') return missingOperator()
  const header = {
    api_key: 'X-API-Key header',
    jwt: 'Authorization header',
    jwt_or_api_key: 'Authorization or X-API-Key header',
    none: 'credential',
  }[auth]
  return new SvcError('unauthorized', `Missing ${header}`)
}

/** The identity of a person that the host of the console authenticated. */
function trusted({ workspace_id, user_id = workspace_id, role = 'owner' }: ConsoleUser) {
  const never = new Date(8.64e15)
  const session = { user_id, workspace_id, role, session_hash: '', token_version: 0 }
  return { kind: 'session', ...session, ends_at: never, is_trusted: true } as const
}

function ofKey({ belongsTo }: KeyCredential, identity: KeyIdentity): Identity {
  if (belongsTo && !belongsTo(identity)) {
    throw new SvcError('unauthorized', 'The API key belongs to another user name')
  }
  return { kind: 'api_key', ...identity }
}

/** The identity with which a caller sends. A member acts in the console as a key with the scopes of the role. */
export function keyOf(identity: Identity | null): KeyIdentity {
  if (!identity) throw new Error('the endpoint takes a credential')
  if (identity.kind === 'api_key') return identity
  if (identity.kind === 'operator') throw new Error('an operator does not send')
  const { workspace_id, user_id, role, mode = 'live' } = identity
  return {
    workspace_id,
    api_key_id: user_id,
    scopes: scopesOf(role),
    mode,
    daily_credit_limit: null,
  }
}
