import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineProvider } from '@svc/core'
import type { Endpoint } from '@svc/core/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type * as z from 'zod'
import { totpCode } from '../../core/src/second-factor/second-factor.ts'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import type { ConsoleOperator, ConsoleUser } from '../src/console-api/access.ts'
import type {
  OperatorAuditEntry,
  OperatorFinding,
  OperatorProvider,
} from '../src/console-api/operator/answers.ts'
import { operatorEndpoints } from '../src/console-api/operator/endpoints.ts'
import type { OperatorService } from '../src/console-api/operator/service.ts'
import { type Account, bulk, sms } from './accounts.ts'
import { openShop } from './stripe-shop.ts'
import { askConsole, type ConsoleRequest, openWorld, useWorld, type World } from './world.ts'

const NAME = 'Ops@example.com'
const PASSWORD = 'a long password'
const SAME = { 'sec-fetch-site': 'same-origin' }
const HOUR_MS = 3_600_000
const UNKNOWN_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** A request of the browser; `path` below `/console/api`. */
async function ask(...request: Parameters<typeof askConsole>) {
  const answer = await askConsole(...request)
  const isJson = `${answer.headers['content-type']}`.startsWith('application/json')
  return {
    status: answer.statusCode,
    data: isJson ? answer.json().data : null,
    text: answer.body,
    cookie: `${answer.headers['set-cookie']}`,
  }
}

/** Adds the operator of the tests, signs in, and returns the cookie. */
async function operatorOf(world: World): Promise<string> {
  await world.core.operators.add({ name: NAME, password: PASSWORD })
  return signIn(world)
}

async function signIn(world: World): Promise<string> {
  const json = { name: NAME, password: PASSWORD }
  const { status, cookie } = await ask(world, 'POST', '/operator/session', { json })
  expect(status).toBe(200)
  return cookie.split(';', 1)[0] ?? ''
}

async function memberCookie(world: World, { email, password }: Account): Promise<string> {
  const { cookie } = await ask(world, 'POST', '/session', { json: { email, password } })
  return cookie.split(';', 1)[0] ?? ''
}

/** The bytes of a base32 text. */
function bytesOf(text: string): Buffer {
  const bits = [...text]
    .map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'))
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

const world = useWorld({ console: { folder: 'none' } })
const tokenIn = (cookie: string) => cookie.slice(cookie.indexOf('=') + 1)
const requests = Object.entries(operatorEndpoints).map(([name, endpoint]) => ({
  name,
  method: endpoint.method,
  path: endpoint.path.replace('/api', '').replace(':name', 'sandbox').replace(':id', UNKNOWN_ID),
}))

afterEach(async () => {
  for (const { name } of await world().core.operators.list())
    await world().core.operators.remove(name)
})

describe('the endpoints of operators', () => {
  let owner: Account
  let key: string
  let member: string
  beforeAll(async () => {
    owner = await world().signup()
    key = (await world().key(owner)).key
    member = await memberCookie(world(), owner)
  })

  it.each(requests)('$name takes no other credential', async ({ method, path }) => {
    const others: [who: string, options: ConsoleRequest][] = [
      ['a client without a credential', {}],
      ['a member', { cookie: member }],
      ['a member in the cookie of operators', { cookie: `svc_operator=${tokenIn(member)}` }],
      ['an API key', { headers: { 'x-api-key': key } }],
      ['a session', { headers: { authorization: `Bearer ${owner.token}` } }],
    ]
    const answers = await Promise.all(
      others.map(async ([who, options]) => [
        who,
        (await ask(world(), method, path, options)).status,
      ]),
    )
    expect(answers).toEqual(others.map(([who]) => [who, 401]))
    const cookie = await operatorOf(world())
    const foreign = { cookie, headers: { 'sec-fetch-site': 'cross-site' } }
    expect((await ask(world(), method, path, foreign)).status).toBe(403)
    expect([401, 403]).not.toContain((await ask(world(), method, path, { cookie })).status)
  })

  it('are not in the public API', async () => {
    const cookie = await operatorOf(world())
    const answer = await world().app.inject({
      url: '/api/operator/overview',
      headers: { ...SAME, cookie },
    })
    expect(answer.statusCode).toBe(404)
  })
})

describe('the answers to operators', () => {
  /** Whether an answer has the fields alone that its schema names. */
  function isClosed(schema: z.core.$ZodType): boolean {
    const { def } = (schema as z.core.$ZodTypes)._zod
    switch (def.type) {
      case 'object':
        return def.catchall === undefined && Object.values(def.shape).every(isClosed)
      case 'array':
        return isClosed(def.element)
      case 'nullable':
      case 'readonly':
        return isClosed(def.innerType)
      case 'union':
        return def.options.every(isClosed)
      case 'pipe':
        return isClosed(def.in)
      default:
        return ['string', 'number', 'boolean', 'enum'].includes(def.type)
    }
  }

  it('have named fields alone, except the options that a browser needs for a passkey', () => {
    const open = Object.entries<Endpoint>(operatorEndpoints).filter(
      ([, { data }]) => !isClosed(data),
    )
    expect(open.map(([name]) => name)).toEqual(['begin_passkey'])
  })

  it('have no other field of a row', async () => {
    const { core } = world()
    const { id } = await world().signup()
    const row = { ...(await core.credits.account(id)), ...(await core.workspaces.account(id)) }
    expect(Object.keys(row)).toEqual(expect.arrayContaining(['seq', 'balance', 'phone']))
    const cookie = await operatorOf(world())
    const { data } = await ask(world(), 'GET', `/operator/workspaces/${id}`, { cookie })
    expect(Object.keys(data.workspace)).toEqual([
      ...['id', 'name', 'email', 'email_verified', 'created_at', 'available', 'held', 'status'],
      ...['frozen_reason', 'credit_limit', 'daily_limit', 'spent_today'],
    ])
    const overview = await ask(world(), 'GET', '/operator/overview', { cookie })
    expect(overview.data).not.toHaveProperty('provider_queues')
  })
})

describe('the session of an operator', () => {
  it('is a cookie of its own, which no endpoint for members takes', async () => {
    const json = { name: NAME.toLowerCase(), password: PASSWORD }
    await world().core.operators.add({ name: NAME, password: PASSWORD })
    const { cookie, text, data } = await ask(world(), 'POST', '/operator/session', { json })
    expect(cookie).toMatch(
      /^svc_operator=svcop_[\w-]{43}; Path=\/console\/api; Max-Age=43200; HttpOnly; SameSite=Lax$/,
    )
    const token = tokenIn(cookie.split(';', 1)[0] ?? '')
    expect(text).not.toContain(token)
    expect(data).toEqual({ operator: NAME })
    for (const options of [
      { cookie: `svc_operator=${token}` },
      { cookie: `svc_session=${token}` },
      { headers: { authorization: `Bearer ${token}` } },
    ]) {
      expect((await ask(world(), 'GET', '/v1/messages', options)).status).toBe(401)
      const { data } = await ask(world(), 'GET', '/session', options)
      expect(data.user).toBeNull()
    }
    expect((await world().call('GET', '/api/v1/messages', { token })).status).toBe(401)
    const session = await ask(world(), 'GET', '/session', { cookie: `svc_operator=${token}` })
    expect(session.data.operator).toBe(NAME)
  })

  it('ends with the sign-out, after 12 hours, with a reset and with the removal', async () => {
    const status = async (cookie: string) =>
      (await ask(world(), 'GET', '/operator/providers', { cookie })).status
    const first = await operatorOf(world())
    expect(await status(first)).toBe(200)
    await ask(world(), 'DELETE', '/operator/session', { cookie: first })
    expect(await status(first)).toBe(401)
    const second = await signIn(world())
    for (let i = 0; i < 3; i++) {
      await world().advance(3 * HOUR_MS)
      expect(await status(second)).toBe(200)
    }
    await world().advance(3 * HOUR_MS - 1_000)
    expect(await status(second)).toBe(200)
    await world().advance(1_000)
    expect(await status(second)).toBe(401)
    const third = await signIn(world())
    await world().core.operators.reset(NAME, PASSWORD)
    expect(await status(third)).toBe(401)
    const fourth = await signIn(world())
    await world().core.operators.remove(NAME)
    expect(await status(fourth)).toBe(401)
  })

  it('ends when it is unused for as long as the setting says', async () => {
    const status = async () => (await ask(world(), 'GET', '/operator/providers', { cookie })).status
    const cookie = await operatorOf(world())
    for (let i = 0; i < 3; i++) {
      await world().advance(2 * HOUR_MS)
      expect(await status()).toBe(200)
    }
    await world().advance(4 * HOUR_MS + 5 * 60_000)
    expect(await status()).toBe(401)
  })

  it('changes the password of its operator, and all sessions end', async () => {
    const cookie = await operatorOf(world())
    const other = await signIn(world())
    const change = (current_password: string, new_password: string) =>
      ask(world(), 'POST', '/operator/password', {
        cookie,
        json: { current_password, new_password },
      })
    for (const [current, next] of [
      ['a wrong one', 'another long password'],
      [PASSWORD, 'short'],
      [PASSWORD, 'password123'],
      [PASSWORD, NAME],
    ] as const) {
      expect((await change(current, next)).status).toBe(400)
    }
    expect((await change(PASSWORD, 'another long password')).status).toBe(200)
    for (const ended of [cookie, other]) {
      expect((await ask(world(), 'GET', '/operator/audit', { cookie: ended })).status).toBe(401)
    }
    const json = { name: NAME, password: 'another long password' }
    expect((await ask(world(), 'POST', '/operator/session', { json })).status).toBe(200)
    const [, changed] = await world().core.audit.ofAll({}, { limit: 2, offset: 0 })
    expect(changed).toMatchObject({
      action: 'operator.password_changed',
      actor: { kind: 'operator', id: NAME },
    })
  })

  it('is ended by a new sign-in of the same browser', async () => {
    const cookie = await operatorOf(world())
    const json = { name: NAME, password: PASSWORD }
    const again = await ask(world(), 'POST', '/operator/session', { json, cookie })
    expect(again.status).toBe(200)
    expect((await ask(world(), 'GET', '/operator/providers', { cookie })).status).toBe(401)
    const next = again.cookie.split(';', 1)[0]
    expect((await ask(world(), 'GET', '/operator/providers', { cookie: next })).status).toBe(200)
  })

  it('does not begin after the end of the access', async () => {
    const expires_at = new Date(world().now().getTime() + HOUR_MS)
    await world().core.operators.add({ name: NAME, password: PASSWORD, expires_at })
    const cookie = await signIn(world())
    await world().advance(HOUR_MS)
    expect((await ask(world(), 'GET', '/operator/providers', { cookie })).status).toBe(401)
    const json = { name: NAME, password: PASSWORD }
    expect((await ask(world(), 'POST', '/operator/session', { json })).status).toBe(401)
  })

  it('is refused with a wrong password, and counted like a login', async () => {
    const limited = await openWorld({
      console: { folder: 'none' },
      rates: { auth: { max: 2, window_s: 900 } },
    })
    try {
      await limited.core.operators.add({ name: NAME, password: PASSWORD })
      const json = { name: NAME, password: 'another password' }
      const tries = [1, 2, 3].map(() => ask(limited, 'POST', '/operator/session', { json }))
      const statuses = (await Promise.all(tries)).map(({ status }) => status)
      expect(statuses.sort()).toEqual([401, 401, 429])
    } finally {
      await limited.close()
    }
  })
})

describe('the logins of an operator', () => {
  const limited = useWorld({
    console: { folder: 'none' },
    rates: { auth: { max: 5, window_s: 900 } },
  })
  const login = async (from: string, name = NAME, password = 'another password') =>
    (await ask(limited(), 'POST', '/operator/session', { json: { name, password }, from })).status

  /** A spelling of the name that finds the same operator: full-width letters of the domain and upper case. */
  const spelling = (n: number) =>
    [...NAME]
      .map((letter, i) => {
        if (letter === '@' || !((n >> (i % 8)) & 1)) return letter
        const isLetter = i > NAME.indexOf('@') && letter !== '.'
        return isLetter ? String.fromCharCode(letter.charCodeAt(0) + 0xfee0) : letter.toUpperCase()
      })
      .join('')

  afterEach(async () => {
    await limited().core.operators.remove(NAME)
    await limited().advance(HOUR_MS)
  })

  it('count in one bucket for all spellings that find the account', async () => {
    await limited().core.operators.add({ name: NAME, password: PASSWORD })
    const statuses: number[] = []
    for (let i = 1; i <= 20; i++) statuses.push(await login(`203.0.${i}.1`, spelling(i)))
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(15).fill(429)])
    expect(await login('198.51.100.1', spelling(255), PASSWORD)).toBe(429)
    await limited().advance(HOUR_MS)
    expect(await login('198.51.100.1', spelling(255), PASSWORD)).toBe(200)
  })

  it('pass from the network of an earlier sign-in, however many failed elsewhere', async () => {
    await limited().core.operators.add({ name: NAME, password: PASSWORD })
    expect(await login('198.51.100.1', NAME, PASSWORD)).toBe(200)
    await limited().advance(HOUR_MS)
    for (let i = 1; i <= 5; i++) expect(await login(`203.0.${i}.1`)).toBe(401)
    expect(await login('203.0.9.1', NAME, PASSWORD)).toBe(429)
    expect(await login('198.51.100.77', NAME, PASSWORD)).toBe(200)
    for (let i = 1; i <= 4; i++) expect(await login(`198.51.100.${i}`)).toBe(401)
    expect(await login('198.51.100.77', NAME, PASSWORD)).toBe(429)
  })

  it('know no network after a reset', async () => {
    await limited().core.operators.add({ name: NAME, password: PASSWORD })
    expect(await login('198.51.100.1', NAME, PASSWORD)).toBe(200)
    await limited().core.operators.reset(NAME, PASSWORD)
    await limited().advance(HOUR_MS)
    for (let i = 1; i <= 5; i++) expect(await login(`203.0.${i}.1`)).toBe(401)
    expect(await login('198.51.100.1', NAME, PASSWORD)).toBe(429)
  })

  it('do not count for a member of the same name', async () => {
    await limited().core.operators.add({ name: NAME, password: PASSWORD })
    for (let i = 1; i <= 6; i++) await login(`203.0.${i}.1`)
    const json = { email: NAME, password: 'another password' }
    const { status } = await ask(limited(), 'POST', '/session', { json, from: '203.0.9.1' })
    expect(status).toBe(401)
  })
})

describe('the second factor of an operator', () => {
  const limited = useWorld({
    console: { folder: 'none' },
    rates: { auth: { max: 5, window_s: 900 } },
  })
  const STEP_MS = 30_000
  const path = '/operator/second-factor'
  let cookie: string
  let key: Buffer
  let recovery: string[]

  const codeNow = (steps = 0) =>
    totpCode(key, Math.floor(limited().now().getTime() / STEP_MS) + steps)
  const login = (code?: string, password = PASSWORD) =>
    ask(limited(), 'POST', '/operator/session', { json: { name: NAME, password, code } })
  const post = (to: string, json: object) =>
    ask(limited(), 'POST', `${path}${to}`, { cookie, json })
  const secrets = async () => {
    const { plain, keys } = await limited().core.secretsAtRest.status()
    return keys.reduce((sum, { values }) => sum + values, plain)
  }
  const state = async () => (await ask(limited(), 'GET', path, { cookie })).data

  beforeEach(async () => {
    cookie = await operatorOf(limited())
    const { data } = await post('', { current_password: PASSWORD })
    key = bytesOf(data.secret)
    const confirmed = await post('/confirm', { code: codeNow() })
    expect(confirmed.status).toBe(200)
    recovery = confirmed.data.recovery_codes
    await limited().advance(HOUR_MS)
  })
  afterEach(async () => {
    await limited().core.operators.remove(NAME)
    await limited().advance(HOUR_MS)
  })

  it('is asked only after the right password, and takes each code once', async () => {
    expect(await state()).toMatchObject({ recovery_codes: 10 })
    const wrong = await login(undefined, 'another password')
    expect([wrong.status, wrong.text.includes('"path":"code"')]).toEqual([401, false])
    const missing = await login()
    expect([missing.status, missing.text.includes('"path":"code"')]).toEqual([400, true])
    const code = codeNow()
    expect((await login(code)).status).toBe(200)
    expect((await login(code)).status).toBe(400)
    await limited().advance(HOUR_MS)
    expect((await login(codeNow(-2))).status).toBe(400)
    expect((await login(codeNow(-1))).status).toBe(200)
    expect((await login(codeNow(1))).status).toBe(200)
    expect((await login(codeNow())).status).toBe(400)
  })

  it('lets one of two simultaneous sign-ins use a code', async () => {
    const code = codeNow()
    const statuses = (await Promise.all([login(code), login(code)])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 400])
  })

  it('ends the other sessions when it is added', async () => {
    const credentials = { name: NAME, password: PASSWORD, code: codeNow() }
    const { token } = await limited().core.operators.signIn(credentials)
    const other = `svc_operator=${token}`
    const status = async (one: string) =>
      (await ask(limited(), 'GET', path, { cookie: one })).status
    await post('/end', { current_password: PASSWORD, code: recovery[0] })
    expect([await status(cookie), await status(other)]).toEqual([200, 200])
    const begun = await post('', { current_password: PASSWORD })
    key = bytesOf(begun.data.secret)
    expect((await post('/confirm', { code: codeNow() })).status).toBe(200)
    expect([await status(cookie), await status(other)]).toEqual([200, 401])
  })

  it('has recovery codes, each for one sign-in', async () => {
    const [first = '', second = ''] = recovery
    expect(new Set(recovery).size).toBe(10)
    expect((await login(first.toUpperCase())).status).toBe(200)
    expect((await login(first)).status).toBe(400)
    expect((await login(second)).status).toBe(200)
    expect(await state()).toMatchObject({ recovery_codes: 8 })
    const stored = JSON.stringify(await limited().core.operators.list())
    for (const one of recovery) expect(stored).not.toContain(one)
  })

  it('limits guesses in a bucket of its own, also from a known network', async () => {
    expect((await login(codeNow())).status).toBe(200)
    await limited().advance(HOUR_MS)
    const guesses: number[] = []
    for (let i = 0; i < 6; i++) guesses.push((await post('/confirm', { code: '000000' })).status)
    expect(guesses).toEqual([400, 400, 400, 400, 400, 429])
    expect((await login(codeNow())).status).toBe(429)
  })

  it('is not used up by codes without the password', async () => {
    expect((await login(codeNow())).status).toBe(200)
    await limited().advance(HOUR_MS)
    const json = { name: NAME, password: 'another password', code: '000000' }
    for (let i = 1; i <= 5; i++) {
      const guess = await ask(limited(), 'POST', '/operator/session', {
        json,
        from: `203.0.${i}.1`,
      })
      expect(guess.status).toBe(401)
    }
    expect((await login(codeNow())).status).toBe(200)
  })

  it('can be removed while strangers guess the password; guesses at an open browser are limited', async () => {
    const json = { name: NAME, password: 'another password' }
    for (let i = 1; i <= 6; i++) {
      await ask(limited(), 'POST', '/operator/session', { json, from: `203.0.${i}.1` })
    }
    const guesses: number[] = []
    for (let i = 0; i < 5; i++) {
      guesses.push((await post('/end', { current_password: `${i} wrong password` })).status)
    }
    expect(guesses).toEqual([400, 400, 400, 400, 400])
    const answer = await post('/end', { current_password: PASSWORD, code: recovery[0] })
    expect(answer.status).toBe(429)
    await limited().advance(HOUR_MS)
    for (let i = 1; i <= 6; i++) {
      await ask(limited(), 'POST', '/operator/session', { json, from: `203.0.${i}.1` })
    }
    expect((await post('/end', { current_password: PASSWORD, code: recovery[0] })).status).toBe(200)
  })

  it('ends with the password and a code', async () => {
    expect((await post('', { current_password: PASSWORD })).status).toBe(400)
    expect((await post('/end', { current_password: 'another password' })).status).toBe(400)
    expect((await login()).status).toBe(400)
    expect((await post('/end', { current_password: PASSWORD })).status).toBe(400)
    expect((await post('/end', { current_password: PASSWORD, code: '000000' })).status).toBe(400)
    const code = codeNow()
    expect((await post('/end', { current_password: PASSWORD, code })).status).toBe(200)
    expect((await login()).status).toBe(200)
    const actions = (await limited().core.audit.ofAll({}, { limit: 20, offset: 0 })).map(
      ({ action }) => action,
    )
    expect(actions).toContain('operator.second_factor_added')
    expect(actions).toContain('operator.second_factor_removed')
  })

  it('is removed by a reset of the command line', async () => {
    const before = await secrets()
    await limited().core.operators.reset(NAME, PASSWORD)
    expect(await secrets()).toBe(before - 1)
    expect((await login()).status).toBe(200)
  })

  it('leaves no secret after the removal of the operator', async () => {
    const before = await secrets()
    await post('', { current_password: PASSWORD })
    await limited().core.operators.remove(NAME)
    expect(await secrets()).toBe(before - 1)
    await operatorOf(limited())
  })
})

describe('an operator who needs a second factor', () => {
  const strict = useWorld({ console: { folder: 'none', second_factor: true } })

  it('may only add one, and then operates', async () => {
    const cookie = await operatorOf(strict())
    const get = async (path: string) => (await ask(strict(), 'GET', path, { cookie })).status
    expect((await ask(strict(), 'GET', '/session', { cookie })).data.operator).toBe(NAME)
    for (const { method, path } of requests) {
      if (path.startsWith('/operator/second-factor')) continue
      expect((await ask(strict(), method, path, { cookie })).status).toBe(403)
    }
    expect(await get('/operator/second-factor')).toBe(200)
    await strict().core.operators.beginTotp(NAME, { current_password: PASSWORD })
    expect(await get('/operator/overview')).toBe(403)
    await strict().core.operators.endTotp(NAME, { current_password: PASSWORD })
    const { data } = await ask(strict(), 'POST', '/operator/second-factor', {
      cookie,
      json: { current_password: PASSWORD },
    })
    const step = Math.floor(strict().now().getTime() / 30_000)
    const code = totpCode(bytesOf(data.secret), step)
    await strict().core.operators.confirmTotp(NAME, code, undefined, tokenIn(cookie))
    expect(await get('/operator/overview')).toBe(200)
    await strict().core.operators.remove(NAME)
  })
})

describe('a purchase under review', () => {
  it('is checked again or refunded, with a reason in the audit log', async () => {
    const shop = await openShop({}, { console: { folder: 'none' } })
    try {
      const { stripe } = shop
      const cookie = await operatorOf(shop.world)
      const { id: workspace_id, ...owner } = await shop.world.signup()
      const other = await shop.world.signup()
      const { session_id, purchase_id } = await shop.checkout({ id: workspace_id, ...owner })
      const session = stripe.sessions.get(session_id) ?? {}
      Object.assign(session, { currency: 'eur' })
      stripe.pay(session_id)
      await shop.notifyAll()
      expect(shop.world.takeFaults()).toHaveLength(1)
      const get = async (path: string) =>
        (await ask(shop.world, 'GET', `/operator${path}`, { cookie })).data
      const act = async (verb: string, json: object) => {
        const path = `/operator/purchases/${purchase_id}/${verb}`
        const { status, data } = await ask(shop.world, 'POST', path, { cookie, json })
        return [status, data?.purchase?.status, data?.purchase?.review_reason]
      }
      expect(await get('/purchases')).toMatchObject({
        purchases: [
          {
            ...{ id: purchase_id, workspace_id, review_reason: 'currency_mismatch' },
            workspace_name: (await shop.world.core.workspaces.account(workspace_id)).name,
          },
        ],
      })
      const { purchase_id: foreign } = await shop.checkout(other)
      const { name: other_name } = await shop.world.core.workspaces.account(other.id)
      for (const [search, ids] of [
        [purchase_id, [purchase_id]],
        [session_id, [purchase_id]],
        [` ${owner.email} `, [purchase_id]],
        [workspace_id, [purchase_id]],
        [other.id, [foreign]],
        [other.id.toUpperCase(), [foreign]],
        [other_name.toUpperCase(), [foreign]],
        ['other@example.com', []],
        [UNKNOWN_ID, []],
      ] as const) {
        const { purchases } = await get(`/purchases?search=${encodeURIComponent(search)}`)
        expect(purchases.map(({ id }: { id: string }) => id)).toEqual(ids)
      }
      expect((await act('check', { workspace_id }))[0]).toBe(400)
      for (const verb of ['check', 'refund']) {
        const foreign = { workspace_id: other.id, reason: 'x' }
        expect((await act(verb, foreign))[0]).toBe(404)
      }
      const json = { workspace_id, reason: 'Corrected' }
      expect(await act('check', json)).toEqual([200, 'pending', 'currency_mismatch'])
      Object.assign(session, { currency: 'usd' })
      expect(await act('check', json)).toEqual([200, 'paid', ''])
      expect(await act('refund', { workspace_id, reason: 'Wrong card' })).toEqual([
        200,
        'refunded',
        '',
      ])
      expect((await shop.world.core.credits.account(workspace_id)).available).toBe(0)
      const { audit } = await get(`/workspaces/${workspace_id}`)
      const entries = (audit as OperatorAuditEntry[]).slice(0, 3)
      expect(entries.map((one) => [one.action, one.actor.id, one.details])).toEqual([
        ['purchase.refunded', NAME, 'reason: Wrong card'],
        ['purchase.checked', NAME, 'reason: Corrected'],
        ['purchase.checked', NAME, 'reason: Corrected'],
      ])
    } finally {
      await shop.world.close()
    }
  })
})

describe('a host of the console', () => {
  let person: ConsoleUser | ConsoleOperator | null = null
  const hosted = useWorld({ console: { folder: 'none', authenticate: async () => person } })

  it('names operators', async () => {
    const overview = async () => (await ask(hosted(), 'GET', '/operator/overview')).status
    const { id } = await hosted().signup()
    person = { workspace_id: id }
    expect(await overview()).toBe(401)
    person = { operator: 'asha' }
    expect(await overview()).toBe(200)
    expect((await ask(hosted(), 'GET', '/session')).data).toMatchObject({
      user: null,
      operator: 'asha',
    })
    expect((await ask(hosted(), 'GET', '/v1/messages')).status).toBe(401)
    const json = { name: 'asha', password: PASSWORD }
    expect((await ask(hosted(), 'POST', '/operator/session', { json })).status).toBe(403)
  })
})

describe('SVC_CONSOLE_OPERATORS=off', () => {
  const without = useWorld({ console: { folder: 'none', operators: false } })

  it('serves no endpoint for operators', async () => {
    expect((await ask(without(), 'GET', '/operator/overview')).status).toBe(404)
    const json = { name: NAME, password: PASSWORD }
    expect((await ask(without(), 'POST', '/operator/session', { json })).status).toBe(404)
  })

  it('names no operator, also for a session from before', async () => {
    const { core } = without()
    await core.operators.add({ name: NAME, password: PASSWORD })
    const { token } = await core.operators.signIn({ name: NAME, password: PASSWORD })
    const shown = await ask(without(), 'GET', '/session', { cookie: `svc_operator=${token}` })
    expect([shown.status, shown.data.operator]).toEqual([200, null])
  })
})

describe.each(['sqlite', 'postgres'] as const)('operating on %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-operators-'))
  let database: TestDatabase | null = null
  let opened: World
  let cookie = ''
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })

  /** A gateway that hangs until the end of the test. */
  const gateway = defineProvider({
    name: 'gateway',
    traits: { channels: ['sms'] },
    send: (jobs) =>
      jobs.map(async () => {
        await released
        return { type: 'rejected', error_code: 'E_LATE', error_message: 'Too late' } as const
      }),
  })

  beforeAll(async () => {
    database = engine === 'postgres' ? await createDatabase() : null
    const database_url = database?.url ?? `file:${join(folder, 'svc.db')}`
    const service: OperatorService = {
      database_url,
      backups: engine === 'sqlite' ? { dir: join(folder, 'backups'), every_ms: null } : null,
      made_by: 'the tests',
      settings: [],
      checks: async () => [{ check: 'node', level: 'ok', message: 'Node', advice: null }],
    }
    opened = await openWorld({
      database_url,
      providers: [gateway],
      dispatch: true,
      console: { folder: 'none', service },
    })
    // PostgreSQL takes the times of claims from its own clock.
    if (engine === 'postgres') opened.step(Date.now() - opened.now().getTime())
    cookie = await operatorOf(opened)
  })
  afterAll(async () => {
    await opened.close()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  const get = async (path: string) =>
    (await ask(opened, 'GET', `/operator${path}`, { cookie })).data
  const post = (path: string, json: object) =>
    ask(opened, 'POST', `/operator${path}`, { cookie, json })
  const audit = async (): Promise<OperatorAuditEntry[]> => (await get('/audit')).audit_entries

  it('finds a provider whose gateway hangs, and pauses it', async () => {
    const owner = await opened.signup({ credits: 10 })
    const { body } = await opened.call('POST', '/api/v1/api-keys', {
      token: owner.token,
      json: { name: 'key' },
    })
    const { key } = body.data
    const send = () => opened.call('POST', '/api/v1/messages/send', { key, json: sms })
    for (let i = 0; i < 3; i++) expect((await send()).status).toBe(201)
    const provider = async (): Promise<OperatorProvider> => {
      const { providers } = await get('/providers')
      return providers.find(({ name }: OperatorProvider) => name === 'gateway')
    }
    await expect.poll(async () => (await provider()).queue.calls, { timeout: 10_000 }).toBe(3)
    expect((await provider()).state).toBe('active')
    opened.step(16_000)
    await expect.poll(async () => (await provider()).state, { timeout: 10_000 }).toBe('silent')
    const { findings } = await get('/overview')
    const texts = findings.map(({ code, text }: OperatorFinding) => `${code}: ${text}`)
    expect(texts).toContainEqual(
      expect.stringMatching(
        /^provider_silent: provider gateway does not answer: 3 calls are open, the oldest for \d+ s$/,
      ),
    )
    const reason = 'Their status page says so'
    expect((await post('/providers/gateway/pause', { reason })).status).toBe(200)
    // At once: the page shows it beside "is paused".
    expect((await provider()).state).toBe('paused')
    expect((await audit())[0]).toMatchObject({
      action: 'provider.paused',
      actor: { kind: 'operator', id: NAME },
      target: 'provider gateway',
      details: `reason: ${reason}`,
    })
    release()
    const rejected = async () => (await provider()).recent.rejected
    await expect.poll(rejected, { timeout: 10_000 }).toBe(3)
    expect((await provider()).recent.last_error).toMatchObject({ code: 'E_LATE' })
    const resumed = await post('/providers/gateway/resume', { reason: 'It answers again' })
    expect(resumed.data).toEqual({ was_paused: true })
    expect((await post('/providers/other/pause', { reason })).status).toBe(404)
    expect((await post('/providers/gateway/pause', {})).status).toBe(400)
  })

  it('grants credits once, freezes and limits a workspace, with reasons in the audit log', async () => {
    const { id, email } = await opened.signup()
    const found = await get(`/workspaces?search=${encodeURIComponent(email.toUpperCase())}`)
    expect(found.workspaces).toMatchObject([{ id, email, available: 0, status: 'active' }])
    expect((await get('/workspaces?search=%25%25_')).workspaces).toEqual([])
    const grant = { credits: 12.5, reason: 'Invoice 7', id: UNKNOWN_ID }
    for (const repeated of [false, true]) {
      const { data } = await post(`/workspaces/${id}/grant`, grant)
      expect(data).toMatchObject({ repeated, workspace: { available: 12.5 } })
    }
    await post(`/workspaces/${id}/freeze`, { reason: 'Disputed payment' })
    const { workspace } = await get(`/workspaces/${id}`)
    expect(workspace).toMatchObject({ status: 'frozen', frozen_reason: 'Disputed payment' })
    await post(`/workspaces/${id}/unfreeze`, { reason: 'Paid' })
    await post(`/workspaces/${id}/terms`, { daily_limit: 5, credit_limit: 1, reason: 'Trial' })
    const after = await get(`/workspaces/${id}`)
    expect(after.workspace).toMatchObject({ status: 'active', daily_limit: 5, credit_limit: 1 })
    const entries = after.audit as OperatorAuditEntry[]
    expect(
      entries.slice(0, 4).map(({ action, actor, details }) => [action, actor.id, details]),
    ).toEqual([
      ['terms.updated', NAME, 'changed: credit_limit, daily_limit, reason: Trial'],
      ['workspace.unfrozen', NAME, 'reason: Paid'],
      ['workspace.frozen', NAME, 'reason: Disputed payment'],
      ['credits.granted', NAME, 'credits: 12.5, reason: Invoice 7'],
    ])
    for (const body of [
      { credits: -1, reason: 'x', id: UNKNOWN_ID },
      { credits: 1, id: UNKNOWN_ID },
    ]) {
      expect((await post(`/workspaces/${id}/grant`, body)).status).toBe(400)
    }
  })

  it('names the workspace and the bulk of failures, and the workspace of a finding', async () => {
    const owner = await opened.signup({ credits: 100 })
    const { name } = await opened.core.workspaces.account(owner.id)
    const ofWorkspace = { workspace_id: owner.id, workspace_name: name }
    const test = await opened.key(owner, { mode: 'test' })
    const json = { ...bulk, recipients: ['+15005550001'], metadata: { campaign: 'May sale' } }
    const sent = await opened.call('POST', '/api/v1/messages/bulk', { key: test.key, json })
    const { bulk_id } = sent.body.data
    const failures = async () => (await get('/overview')).failures
    const failed = expect.objectContaining({ ...ofWorkspace, bulk_id, bulk_name: 'May sale' })
    await expect.poll(failures, { timeout: 10_000 }).toContainEqual(failed)
    const { key } = await opened.key(owner)
    // Messages that a provider refuses do not count.
    await opened.core.dispatch.stop({ reason: 'No provider' })
    for (let n = 0; n <= 50; n++) {
      const to = `+2557${String(n).padStart(8, '0')}`
      await opened.call('POST', '/api/v1/verifications', { key, json: { to, channel: 'sms' } })
    }
    const findings = async () => (await get('/overview')).findings
    const paused = expect.objectContaining({ ...ofWorkspace, code: 'codes_paused' })
    await expect.poll(findings, { timeout: 10_000 }).toContainEqual(paused)
    await opened.core.dispatch.resume(null)
    await opened.dispatcher.idle()
    const { token } = owner
    const url = 'https://hooks.example.com/in?token=secret'
    const { id } = await opened.webhook(owner, { url })
    await opened.call('PUT', `/api/v1/webhooks/${id}`, { token, json: { is_active: false } })
    const webhooks = async () => (await get('/overview')).troubled_webhooks
    const disabled = { ...ofWorkspace, id, host: 'hooks.example.com', status: 'disabled' }
    await expect
      .poll(webhooks, { timeout: 10_000 })
      .toContainEqual(expect.objectContaining(disabled))
    expect(JSON.stringify(await webhooks())).not.toContain('secret')
  })

  it('counts the messages of a bulk as its member, canceled and rejected ones apart', async () => {
    const owner = await opened.signup({ credits: 10 })
    const { key } = await opened.key(owner)
    const later = new Date(opened.now().getTime() + 3_600_000).toISOString()
    const recipients = [...bulk.recipients, 'no number']
    const json = { ...bulk, recipients, validation: 'permissive', scheduled_at: later }
    const { body } = await opened.call('POST', '/api/v1/messages/bulk', { key, json })
    await opened.call('POST', `/api/v1/messages/bulk/${body.data.bulk_id}/cancel`, { key })
    const { bulks } = await get(`/workspaces/${owner.id}`)
    expect(bulks).toMatchObject([
      { accepted: 2, rejected: 1, queued: 0, failed: 0, canceled: 2, failures: [] },
    ])
  })

  it('names workspaces, people and keys in the audit log, and filters it', async () => {
    const owner = await opened.signup()
    const { body } = await opened.call('POST', '/api/v1/api-keys', {
      token: owner.token,
      json: { name: 'Shop', scopes: ['manage_webhooks'] },
    })
    const { id: keyId, key } = body.data
    const json = { url: 'https://shop.example/hooks', events: ['*'] }
    expect((await opened.call('POST', '/api/v1/webhooks', { key, json })).status).toBe(201)
    await post(`/workspaces/${owner.id}/freeze`, { reason: 'Disputed payment' })
    const list = async (query: string) => {
      const { audit_entries, actions } = await get(`/audit?${query}`)
      expect(actions).toContain('workspace.frozen')
      return (audit_entries as OperatorAuditEntry[]).map(
        ({ action, workspace_id, workspace_name, actor }) => {
          expect(workspace_id).toBe(owner.id)
          expect(workspace_name).toMatch(/^Company \d+$/)
          return [action, actor.kind, actor.id, actor.name]
        },
      )
    }
    const own = `workspace_id=${owner.id}`
    const all = [
      ['workspace.frozen', 'operator', NAME, null],
      ['webhook.created', 'api_key', keyId, 'Shop'],
      ['api_key.created', 'session', null, owner.email],
      ['session.created', 'session', null, owner.email],
      ['workspace.created', 'client', null, null],
    ]
    expect(await list(own)).toEqual(all)
    expect(await list(`${own}&action=webhook.created`)).toEqual([all[1]])
    const before = new Date(opened.now().getTime() - HOUR_MS).toISOString()
    expect(await list(`${own}&startDate=${before}&action=workspace.frozen`)).toEqual([all[0]])
    expect(await list(`${own}&endDate=${before}`)).toEqual([])
    const { audit_entries: everywhere } = await get('/audit?action=workspace.frozen')
    const actions = new Set(everywhere.map(({ action }: OperatorAuditEntry) => action))
    expect([...actions]).toEqual(['workspace.frozen'])
    expect(everywhere[0].workspace_id).toBe(owner.id)
    const unknown = await ask(opened, 'GET', '/operator/audit?action=none', { cookie })
    expect(unknown.status).toBe(400)
  })

  it('ends the pause of a country with a reason in the audit log', async () => {
    const owner = await opened.signup({ credits: 100 })
    const { body } = await opened.call('POST', '/api/v1/api-keys', {
      token: owner.token,
      json: { name: 'key' },
    })
    const start = async (n: number) => {
      const json = { to: `+2557${String(n).padStart(8, '0')}`, channel: 'sms' }
      const answer = await opened.call('POST', '/api/v1/verifications', {
        key: body.data.key,
        json,
      })
      return answer.status
    }
    // Messages that a provider refuses do not count.
    await opened.core.dispatch.stop({ reason: 'No provider' })
    for (let n = 0; n < 50; n++) expect(await start(n)).toBe(201)
    expect(await start(50)).toBe(403)
    const { paused_countries } = await get(`/workspaces/${owner.id}`)
    expect(paused_countries).toMatchObject([
      { country: 'TZ', is_active: true, sent: 50, approved: 0 },
    ])
    const allow = (workspaceId: string, body: object) =>
      post(`/workspaces/${workspaceId}/allow-codes`, body)
    const right = { country: 'TZ', hours: 24, reason: 'Their campaign' }
    for (const wrong of [{ hours: 0 }, { hours: 721 }, { country: 'tz' }, { reason: undefined }]) {
      expect((await allow(owner.id, { ...right, ...wrong })).status).toBe(400)
    }
    expect((await allow(UNKNOWN_ID, right)).status).toBe(404)
    expect(await start(50)).toBe(403)
    expect((await allow(owner.id, right)).status).toBe(200)
    expect(await start(50)).toBe(201)
    await opened.core.dispatch.resume(null)
    await opened.dispatcher.idle()
    const after = await get(`/workspaces/${owner.id}`)
    expect(after.paused_countries).toEqual([])
    expect(after.audit[0]).toMatchObject({
      action: 'verification.allowed',
      actor: { kind: 'operator', id: NAME },
      details: 'hours: 24, reason: Their campaign',
    })
  })

  it('pauses all sending, and shows the queues', async () => {
    expect((await post('/dispatch/pause', { reason: 'Moving' })).status).toBe(200)
    const { pause, messages, unknown, doubtful } = await get('/queues')
    expect(pause).toMatchObject({ cause: 'operator', reason: 'Moving' })
    expect(messages).toMatchObject({ leased: 0, due: 0, later: 0, first_due_at: null })
    expect([unknown, doubtful]).toEqual([[], []])
    const { data } = await post('/dispatch/resume', { choice: null })
    expect(data).toMatchObject({ was_paused: true })
    expect((await audit())[0]?.action).toBe('dispatch.resumed')
  })

  it('verifies the ledger in a thread, and lists purchases, checks and settings', async () => {
    expect(await get('/ledger')).toMatchObject({ is_offered: true, state: 'none' })
    expect((await post('/ledger', { fast: true })).data.state).toBe('running')
    const state = async () => (await get('/ledger')).state
    await expect.poll(state, { timeout: 20_000 }).toBe('done')
    expect((await get('/ledger')).report).toMatchObject({ ok: true, differences: [] })
    expect((await audit())[0]).toMatchObject({ action: 'ledger.verified', actor: { id: NAME } })
    expect(await get('/purchases')).toEqual({ purchases: [] })
    expect((await post('/checks', {})).data.checks).toHaveLength(1)
    expect(await get('/settings')).toEqual({ settings: [] })
  })

  it('begins one backup of SQLite at a time', async () => {
    const { is_offered } = await get('/backups')
    expect(is_offered).toBe(engine === 'sqlite')
    if (engine !== 'sqlite') return
    // Its process has a low priority, so the test does not wait for its end; the end of the server ends it.
    for (let i = 0; i < 2; i++) {
      expect((await post('/backups', {})).data.state).toBe('running')
    }
    const made = (await audit()).filter(({ action }) => action === 'backup.made')
    expect(made).toMatchObject([{ actor: { kind: 'operator', id: NAME } }])
  })
})
