import type { Actor, NewSession } from '@svc/core'
import { type Endpoint, LIMITS, SvcError } from '@svc/core/contract'
import { decodedOf } from '@svc/core/operate'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmission } from '../src/admission/admission.ts'
import { createAuthenticator, keyOf, missingCredential } from '../src/admission/authenticator.ts'
import { createGate } from '../src/admission/gate.ts'
import { createRateLimiter } from '../src/admission/rate-limiter.ts'
import type { ConsoleOperator, ConsoleUser } from '../src/console-api/access.ts'
import { bulk } from './accounts.ts'
import {
  askConsole,
  type ConsoleRequest,
  JWT_SECRET,
  QUIET,
  ratesOf,
  useWorld,
  type World,
} from './world.ts'

// Many small cases of the decisions at the entrance, in two services. The suites of the parts show each of them as a whole.

const SAME = { 'sec-fetch-site': 'same-origin' }
const PASSWORD = 'a long password'
const QUARTER = { window_s: 900 }

/** A request of the browser; `path` below `/console/api`. */
async function ask(...request: Parameters<typeof askConsole>) {
  const answer = await askConsole(...request)
  return {
    status: answer.statusCode,
    body: answer.json(),
    limit: [answer.headers['x-ratelimit-limit'], answer.headers['x-ratelimit-remaining']].join(),
    cookie: `${answer.headers['set-cookie']}`.split(';', 1)[0] ?? '',
  }
}

describe('the buckets', () => {
  const world = useWorld({
    console: { folder: 'none' },
    rates: {
      general: { max: 6, ...QUARTER },
      workspace: { max: 7, ...QUARTER },
      console: { max: 5, ...QUARTER },
      bulk: { max: 1, ...QUARTER },
      bulk_estimate: { max: 2, ...QUARTER },
      auth: { max: 4, ...QUARTER },
      anonymous: { max: 6, ...QUARTER },
      failed_auth: { max: 3, ...QUARTER },
    },
  })
  const fresh = async () => {
    await world().advance(900_000)
    const owner = await world().signup({ credits: 10 })
    const { key } = await world().key(owner)
    await world().advance(900_000)
    return { owner, key, cookie: `svc_session=${owner.token}` }
  }
  const limitOf = ({ status, headers }: Awaited<ReturnType<World['call']>>) => [
    status,
    [headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']].join(),
  ]

  it('of a bulk and of its estimate belong to the workspace', async () => {
    const { owner, key } = await fresh()
    const other = (await world().key(await world().signup({ credits: 10 }))).key
    const second = (await world().key(owner)).key
    await world().advance(900_000)
    const send = (as: string) =>
      world().call('POST', '/api/v1/messages/bulk', { key: as, json: bulk })
    expect(limitOf(await send(key))).toEqual([201, '1,0'])
    expect(limitOf(await send(second))).toEqual([429, '1,0'])
    expect(limitOf(await send(other))).toEqual([201, '1,0'])
    const estimate = (as: string) =>
      world().call('POST', '/api/v1/messages/estimate', { key: as, json: bulk })
    expect(limitOf(await estimate(key))).toEqual([200, '2,1'])
    expect(limitOf(await estimate(second))).toEqual([200, '2,0'])
    expect(limitOf(await estimate(key))).toEqual([429, '2,0'])
    expect(limitOf(await world().send(key))).toEqual([201, '7,1'])
  })

  it('of the console belong to the person, and only reads use up nothing of the workspace', async () => {
    const { key, cookie } = await fresh()
    for (const method of ['GET', 'HEAD', 'GET', 'HEAD']) {
      expect(
        (
          await world().app.inject({
            method: method as 'GET',
            url: '/console/api/v1/account',
            headers: { ...SAME, cookie },
          })
        ).statusCode,
      ).toBe(200)
    }
    expect(limitOf(await world().send(key))).toEqual([201, '6,5'])
    const changed = await ask(world(), 'PUT', '/v1/account', { cookie, json: {} })
    expect([changed.status, changed.limit]).toEqual([200, '5,0'])
    expect((await ask(world(), 'GET', '/v1/account', { cookie })).status).toBe(429)
    for (let left = 4; left >= 1; left--) {
      expect(limitOf(await world().send(key))).toEqual([201, `6,${left}`])
    }
    // The change of the console was the seventh request of the workspace.
    const { token } = (await fresh()).owner
    expect(limitOf(await world().call('GET', '/api/v1/account', { token }))).toEqual([200, '6,5'])
  })

  it('of operators belong to the name in any case', async () => {
    const operator = { name: 'Ops@example.com', password: PASSWORD }
    await world().core.operators.add(operator)
    await world().core.operators.add({ name: 'asha', password: PASSWORD })
    const cookieOf = async (name: string) =>
      (await ask(world(), 'POST', '/operator/session', { json: { name, password: PASSWORD } }))
        .cookie
    const [ops, asha] = [await cookieOf(operator.name), await cookieOf('asha')]
    const overview = async (cookie: string) => {
      const { status, limit } = await ask(world(), 'GET', '/operator/workspaces', { cookie })
      return [status, limit]
    }
    expect(await overview(ops)).toEqual([200, '5,4'])
    expect(await overview(ops)).toEqual([200, '5,3'])
    expect(await overview(asha)).toEqual([200, '5,4'])
  })

  it('of an address count each request without a credential, and on a sign-in the route too', async () => {
    await fresh()
    const from = '192.0.2.50'
    const json = { email: 'unknown@example.com', password: PASSWORD }
    const forgot = () =>
      world().call('POST', '/api/v1/auth/forgot-password', {
        from,
        json: { email: `${Math.random()}@example.com` },
      })
    expect(limitOf(await forgot())).toEqual([200, '4,3'])
    expect(limitOf(await world().call('GET', '/nothing', { from }))).toEqual([404, '6,4'])
    expect(limitOf(await forgot())).toEqual([200, '4,2'])
    expect(limitOf(await world().call('GET', '/health', { from }))).toEqual([200, '6,3'])
    const login = await world().call('POST', '/api/v1/auth/login', { from, json })
    expect(limitOf(login)).toEqual([401, '6,2'])
    const page = await world().app.inject({ url: '/docs', remoteAddress: from })
    expect(page.headers['x-ratelimit-remaining']).toBe('1')
    expect(limitOf(await world().call('GET', '/health', { from }))).toEqual([200, '6,1'])
    const list = () => world().call('GET', '/api/v1/messages', { from })
    expect(limitOf(await list())).toEqual([401, '6,0'])
    expect(limitOf(await list())).toEqual([429, '6,0'])
  })

  it('of failed attempts count wrong credentials, with their client', async () => {
    const { key } = await fresh()
    const from = '192.0.2.51'
    const list = (as: string) => world().call('GET', '/api/v1/messages', { key: as, from })
    const account = (token: string) => world().call('GET', '/api/v1/account', { token, from })
    expect(limitOf(await list('svc_live_wrong'))).toEqual([401, '3,2'])
    expect(limitOf(await account('wrong'))).toEqual([401, '3,1'])
    expect(limitOf(await list('svc_live_wrong'))).toEqual([401, '3,0'])
    expect(limitOf(await list('svc_live_wrong'))).toEqual([429, '3,0'])
    expect(limitOf(await list(key))).toEqual([200, '6,5'])
  })

  it('of a login belong to the account in any case, unless the account knows the network', async () => {
    const { owner } = await fresh()
    const login = (from: string, email = owner.email) =>
      world().call('POST', '/api/v1/auth/login', { from, json: { email, password: 'a wrong one' } })
    for (let left = 3; left >= 0; left--) {
      const email = left % 2 ? owner.email : owner.email.toUpperCase()
      expect(limitOf(await login(`203.0.113.${left}`, email))[0]).toBe(401)
    }
    expect((await login('203.0.113.9')).status).toBe(429)
  })
})

describe('a second factor', () => {
  const world = useWorld({
    console: { folder: 'none', second_factor: true },
    members_second_factor: 'required',
    rates: { auth: { max: 2, ...QUARTER } },
  })

  it('is needed of a member who signed in without one, except to add it', async () => {
    const { token } = await world().signup()
    const cookie = `svc_session=${token}`
    const { status, body } = await ask(world(), 'GET', '/v1/account', { cookie })
    expect([status, body.message]).toEqual([
      403,
      'A second factor is required here: add an authenticator app in the console',
    ])
    expect((await ask(world(), 'GET', '/second-factor', { cookie })).status).toBe(200)
    const confirm = await ask(world(), 'POST', '/second-factor/confirm', { cookie, json: {} })
    expect(confirm.status).toBe(400)
    expect((await world().call('GET', '/api/v1/account', { token })).status).toBe(403)
  })

  it('is needed of an operator, except to add it', async () => {
    await world().core.operators.add({ name: 'asha', password: PASSWORD })
    const json = { name: 'asha', password: PASSWORD }
    const { cookie } = await ask(world(), 'POST', '/operator/session', { json })
    const { status, body } = await ask(world(), 'GET', '/operator/overview', { cookie })
    expect([status, body.message]).toEqual([
      403,
      'Operators need a second factor here: add an authenticator app in Settings',
    ])
    expect((await ask(world(), 'GET', '/operator/second-factor', { cookie })).status).toBe(200)
    const path = '/operator/second-factor/confirm'
    expect((await ask(world(), 'POST', path, { cookie, json: {} })).status).toBe(400)
  })
})

describe('the parts of a request that count on their own', () => {
  const world = useWorld()
  const opened: { close(): Promise<unknown> }[] = []
  afterEach(async () => {
    await world().advance(900_000)
    for (const one of opened.splice(0)) await one.close()
  })

  async function open() {
    const app = Fastify()
    opened.push(app)
    const core = decodedOf(world().core)
    const two = { max: 2, ...QUARTER }
    const rates = ratesOf({ auth: two, login_all: two, signup_all: two, bulk_estimate: two })
    const limiter = await createRateLimiter(app, { ...rates, general: two }, core)
    const now = () => world().now().getTime()
    const settings = { secret: JWT_SECRET, now, needs_second_factor: false }
    const authenticator = await createAuthenticator(app, core, settings)
    const bounds = { requests: 1, delay_ms: 1 }
    const gate = createGate(app, {
      ...{ bounds, beyond: new WeakSet(), phase: { now: 'open' } },
      measured: () => QUIET,
    })
    const admission = createAdmission(app, limiter, { authenticator, gate })
    let work: (request: FastifyRequest, reply: FastifyReply) => unknown
    app.get('/', async (request, reply) => `${await work(request, reply)}`)
    app.setErrorHandler((error: Error, _, reply) =>
      reply.code(error instanceof SvcError ? error.status : 500).send(error.message),
    )
    /** The statuses of `times` answers to requests that do this. */
    const ask = async (times: number, next: typeof work) => {
      work = next
      const statuses: number[] = []
      for (let i = 0; i < times; i++) statuses.push((await app.inject({ url: '/' })).statusCode)
      return statuses
    }
    return { admission, authenticator, ask }
  }

  it('are guesses of a code, for each account', async () => {
    const { admission, ask } = await open()
    let tried = 0
    const guess = (path: string | null, more: object = {}) => {
      const { kind, name, code } = { kind: 'member' as const, name: 'a', code: '1', ...more }
      return ask(3, (...of) =>
        admission.tryCode(...of, { login: { kind, name }, code }, async () => {
          tried += 1
          if (path === null) return 'done'
          const details = [
            { path: 'password', message: 'No' },
            { path, message: 'No' },
          ]
          throw new SvcError('validation_error', 'No', { details })
        }),
      )
    }
    expect(await guess(null)).toEqual([200, 200, 200])
    expect(await guess('email')).toEqual([400, 400, 400])
    expect(await guess('otp', { code: undefined })).toEqual([400, 400, 400])
    expect(tried).toBe(9)
    expect(await guess('otp')).toEqual([400, 400, 429])
    expect(await guess('otp', { name: 'A' })).toEqual([429, 429, 429])
    expect(tried).toBe(11)
    expect(await guess('code', { kind: 'operator' })).toEqual([400, 400, 429])
    expect(await guess('code', { name: 'b' })).toEqual([400, 400, 429])
  })

  it('are logins, for each account from unknown networks, and then for all clients', async () => {
    const { admission, ask } = await open()
    const login = (
      name: string,
      network: string | null,
      kind = 'member' as 'member' | 'operator',
    ) => ask(3, (...of) => admission.countLogin(...of, { kind, name }, network))
    expect(await login('a', 'home')).toEqual([200, 200, 429])
    expect(await login('A', 'home')).toEqual([429, 429, 429])
    expect(await login('a', 'office')).toEqual([200, 200, 429])
    expect(await login('a', null)).toEqual([200, 200, 429])
    expect(await login('a', 'home', 'operator')).toEqual([200, 200, 429])
    expect(await login('b', null)).toEqual([429, 429, 429])
  })

  it('are signups of all clients, and requests for an address', async () => {
    const { admission, ask } = await open()
    expect(await ask(3, (...of) => admission.countSignup(...of))).toEqual([200, 200, 429])
    const forgot = (path: string, email: string) =>
      ask(3, (...of) => admission.countFor(...of, { path } as Endpoint, email))
    expect(await forgot('/forgot', 'a@x.example')).toEqual([200, 200, 429])
    expect(await forgot('/forgot', 'A@x.example')).toEqual([429, 429, 429])
    expect(await forgot('/forgot', 'b@x.example')).toEqual([200, 200, 429])
    expect(await forgot('/verify', 'a@x.example')).toEqual([200, 200, 429])
  })

  it('are estimates of bulks, and more requests of a key, each of its identity', async () => {
    const { admission, ask } = await open()
    const by = (identity: object | null, count: 'countMore' | 'countBulkEstimate') =>
      ask(3, (request, reply) => {
        request.svcIdentity = identity as FastifyRequest['svcIdentity']
        return admission[count](request, reply)
      })
    const key = { kind: 'api_key', workspace_id: 'w1', api_key_id: 'k1' }
    for (const count of ['countMore', 'countBulkEstimate'] as const) {
      expect(await by(key, count)).toEqual([200, 200, 429])
      const other = { ...key, workspace_id: 'w2', api_key_id: 'k2' }
      expect(await by(other, count)).toEqual([200, 200, 429])
      expect(await by(null, count)).toEqual([200, 200, 200])
    }
    const session = { kind: 'session', workspace_id: 'w1', user_id: 'w1' }
    expect(await by(session, 'countMore')).toEqual([200, 200, 200])
  })

  it('has a token that names the login, its workspace and its second factor', async () => {
    const { authenticator } = await open()
    const { id } = await world().signup()
    const actor = { type: 'workspace', id, address: null } as unknown as Actor
    const session = {
      ...{ user_id: id, workspace_id: id, token_version: 1, has_second_factor: true },
      session_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
    }
    const claimsOf = async (more: object) => {
      const client = { actor, agent: null }
      const token = await authenticator.issueToken({ ...session, ...more } as NewSession, client)
      return JSON.parse(Buffer.from(`${token.split('.')[1]}`, 'base64url').toString())
    }
    const iat = Math.floor(world().now().getTime() / 1_000)
    const exp = iat + LIMITS.jwt_lifetime_s
    const claims = { sub: id, tv: 1, iat, exp, jti: session.session_id }
    expect(await claimsOf({})).toEqual({ ...claims, sf: true })
    expect(await claimsOf({ has_second_factor: false })).toEqual(claims)
    const other = (await world().signup()).id
    expect(await claimsOf({ workspace_id: other })).toEqual({ ...claims, ws: other, sf: true })
  })
})

describe('a console without operators', () => {
  const world = useWorld({ console: { folder: 'none', operators: false } })

  it('reads no credential for an endpoint that needs none, and none that it does not take', async () => {
    const { key } = await world().key(await world().signup())
    for (const credential of [{ key: 'svc_live_wrong' }, { token: 'wrong' }]) {
      expect((await world().call('GET', '/health', credential)).status).toBe(200)
    }
    const { status, body } = await world().call('GET', '/api/v1/account', { key })
    expect([status, body.message]).toEqual([401, 'Missing Authorization header'])
  })

  it('shows no operator', async () => {
    const { operators } = world().core
    await operators.add({ name: 'asha', password: PASSWORD })
    const { token } = await operators.signIn({ name: 'asha', password: PASSWORD })
    const { body } = await ask(world(), 'GET', '/session', { cookie: `svc_operator=${token}` })
    expect(body.data.operator).toBeNull()
  })

  it('ends the session of the browser with a new sign-in', async () => {
    const { email, password } = await world().signup()
    const signIn = async (cookie?: string) => {
      const made = await ask(world(), 'POST', '/session', { cookie, json: { email, password } })
      return made.cookie
    }
    const account = async (cookie: string) =>
      (await ask(world(), 'GET', '/v1/account', { cookie })).status
    const first = await signIn()
    const second = await signIn()
    expect([await account(first), await account(second)]).toEqual([200, 200])
    const third = await signIn(second)
    expect([await account(first), await account(second), await account(third)]).toEqual([
      200, 401, 200,
    ])
    expect(await account(await signIn(second))).toBe(200)
  })
})

describe('the persons of a host', () => {
  let person: ConsoleUser | ConsoleOperator | null = null
  const world = useWorld({ console: { folder: 'none', authenticate: async () => person } })
  const status = async (path: string, options?: ConsoleRequest) =>
    (await ask(world(), 'GET', path, options)).status
  const own = () => status('/v1/account')
  const overview = () => status('/operator/overview')

  it('are members with an id of a workspace', async () => {
    const { id } = await world().signup()
    person = { workspace_id: id }
    expect([await own(), await overview()]).toEqual([200, 401])
    for (const other of [null, { workspace_id: 'none' }, { operator: 'asha' }]) {
      person = other
      const { status, body } = await ask(world(), 'GET', '/v1/account')
      expect([status, body.message]).toEqual([401, 'Sign in first'])
    }
  })

  it('are operators with a name of at most 100 characters', async () => {
    const { id } = await world().signup()
    person = { operator: 'x'.repeat(100) }
    expect([await own(), await overview()]).toEqual([401, 200])
    for (const other of [
      null,
      { operator: '' },
      { operator: 'x'.repeat(1_000) },
      { workspace_id: id },
    ]) {
      person = other
      const { status, body } = await ask(world(), 'GET', '/operator/overview')
      expect([status, body.message]).toEqual([401, 'Sign in as an operator first'])
    }
  })
})

describe('svc dev, which names a person and has a sign-in', () => {
  let person: ConsoleUser | null = null
  const world = useWorld({
    console: { folder: 'none', dev: true, authenticate: async () => person },
  })

  it('names the person only for a browser without a session', async () => {
    const [named, owner] = [await world().signup(), await world().signup()]
    person = { operator: 'asha', workspace_id: named.id }
    const account = async (cookie?: string) => {
      const { status, body } = await ask(world(), 'GET', '/v1/account', { cookie })
      return status === 200 ? body.data.id : status
    }
    expect(await account()).toBe(named.id)
    expect(await account(`svc_session=${owner.token}`)).toBe(owner.id)
    expect(await account('svc_session=wrong')).toBe(401)
    const overview = async (cookie?: string) =>
      (await ask(world(), 'GET', '/operator/overview', { cookie })).status
    expect(await overview()).toBe(200)
    expect(await overview(`svc_session=${owner.token}`)).toBe(401)
    expect(await overview('svc_operator=wrong')).toBe(401)
  })
})

it('says which credential is missing', () => {
  const textOf = (auth: 'api_key' | 'jwt' | 'jwt_or_api_key' | 'none' | 'operator') =>
    missingCredential({ auth } as Parameters<typeof missingCredential>[0]).message
  expect(textOf('api_key')).toBe('Missing X-API-Key header')
  expect(textOf('jwt')).toBe('Missing Authorization header')
  expect(textOf('jwt_or_api_key')).toBe('Missing Authorization or X-API-Key header')
  expect(textOf('operator')).toBe('Sign in as an operator first')
})

describe('the identity with which a caller sends', () => {
  const session = {
    kind: 'session',
    workspace_id: 'w',
    user_id: 'u',
    role: 'developer',
    session_hash: '',
    token_version: 0,
    ends_at: new Date(0),
  } as const

  it('is a key with the scopes of the role, live by default', () => {
    const { scopes, ...rest } = keyOf(session)
    expect(rest).toEqual({
      workspace_id: 'w',
      api_key_id: 'u',
      mode: 'live',
      daily_credit_limit: null,
    })
    expect(scopes.length).toBeGreaterThan(0)
    expect(keyOf({ ...session, mode: 'test' }).mode).toBe('test')
  })

  it('is the key itself', () => {
    const key = {
      kind: 'api_key',
      workspace_id: 'w',
      api_key_id: 'k',
      scopes: [],
      mode: 'test',
    } as const
    const identity = { ...key, daily_credit_limit: null }
    expect(keyOf(identity)).toBe(identity)
  })

  it('is none for operators and without a credential', () => {
    const operator = { kind: 'operator', workspace_id: '', operator: 'asha' } as const
    expect(() => keyOf(operator)).toThrow('an operator does not send')
    expect(() => keyOf(null)).toThrow('the endpoint takes a credential')
  })
})
