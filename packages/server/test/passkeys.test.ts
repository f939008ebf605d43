import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import type { Account } from './accounts.ts'
import { softwareAuthenticator } from './software-authenticator.ts'
import { openWorld, type World } from './world.ts'

const SAME = { 'sec-fetch-site': 'same-origin' }
const HOUR_MS = 3_600_000
const OPERATOR = { name: 'Ops@example.com', password: 'a long password' }
/** The public URL of the world. */
const ORIGIN = 'http://127.0.0.1:3000'
const UNKNOWN_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

type Authenticator = ReturnType<typeof softwareAuthenticator>

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

describe.each(['sqlite', 'postgres'])('a passkey on %s', (engine) => {
  let world: World
  let account: Account
  let origin: string

  beforeAll(async () => {
    world = await openWorld({
      console: { folder: 'none' },
      ...(engine === 'postgres' && { database_url: database.url }),
    })
  })
  afterAll(() => world.close())

  /** A request of the browser; `path` below `/console/api`. */
  async function ask(method: string, path: string, json?: object, cookie?: string) {
    const answer = await world.app.inject({
      method: method as 'GET',
      url: `/console/api${path}`,
      headers: { ...SAME, ...(cookie && { cookie }) },
      ...(json && { payload: json }),
    })
    const body = answer.json()
    return {
      status: answer.statusCode,
      data: body.data,
      fields: (body.details ?? []).map((one: { path: string }) => one.path),
      cookie: `${answer.headers['set-cookie']}`.split(';', 1)[0] ?? '',
    }
  }

  const signIn = async ({ email, password }: Account) =>
    (await ask('POST', '/session', { email, password })).cookie

  async function optionsFor(cookie: string, current_password: string, base = '/second-factor') {
    const begun = await ask('POST', `${base}/passkeys/begin`, { current_password }, cookie)
    expect(begun.status).toBe(200)
    return begun.data.options
  }

  const challenge = async (known = {}) =>
    (await ask('POST', '/session/challenge', known)).data.options

  /** Signs in with a passkey. */
  async function use(device: Authenticator, more: { verifies?: boolean; password?: string } = {}) {
    const { password, ...how } = more
    const passkey = device.get(await challenge(), how)
    return ask('POST', '/session/passkey', { passkey, ...(password && { password }) })
  }

  let device: Authenticator
  let cookie: string
  let recovery: string[]

  beforeEach(async () => {
    await world.advance(HOUR_MS)
    origin = ORIGIN
    account = await world.signup()
    device = softwareAuthenticator(origin)
    const before = await signIn(account)
    const options = await optionsFor(before, account.password)
    expect(options).toMatchObject({
      rp: { name: 'svc', id: new URL(origin).hostname },
      user: { name: account.email },
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
    })
    const json = { passkey: device.create(options), name: 'Laptop' }
    const added = await ask('POST', '/second-factor/passkeys', json, before)
    expect(added.status).toBe(200)
    recovery = added.data.recovery_codes
    expect(recovery).toHaveLength(10)
    cookie = added.cookie
    expect((await ask('GET', '/v1/account', undefined, before)).status).toBe(401)
    expect((await ask('GET', '/v1/account', undefined, cookie)).status).toBe(200)
  })

  it('signs in without the password if the device verified the person', async () => {
    const signed = await use(device)
    expect(signed).toMatchObject({ status: 200, data: { user: { email: account.email } } })
    expect((await ask('GET', '/v1/account', undefined, signed.cookie)).status).toBe(200)
    const { data } = await ask('GET', '/second-factor/passkeys', undefined, cookie)
    expect(data.passkeys).toMatchObject([{ name: 'Laptop', last_used_at: expect.any(String) }])
  })

  it('is the second factor beside the password if the device did not verify the person', async () => {
    expect(await use(device, { verifies: false })).toMatchObject({
      status: 400,
      fields: ['password'],
    })
    const wrong = { verifies: false, password: 'another password' }
    expect((await use(device, wrong)).status).toBe(401)
    const right = { verifies: false, password: account.password }
    expect((await use(device, right)).status).toBe(200)
  })

  it('is named to a person with the right password, whose device cannot verify a person', async () => {
    const { email, password } = account
    expect(await challenge()).toMatchObject({ allowCredentials: [] })
    expect(await challenge({ email })).toMatchObject({ allowCredentials: [] })
    const wrong = { email, password: 'another password' }
    expect((await ask('POST', '/session/challenge', wrong)).status).toBe(401)
    const options = await challenge({ email, password })
    expect(options.allowCredentials).toMatchObject([{ id: device.id, type: 'public-key' }])
    const passkey = device.get(options, { verifies: false })
    expect((await ask('POST', '/session/passkey', { passkey, password })).status).toBe(200)
  })

  it('makes the password alone too little; a recovery code does', async () => {
    const { email, password } = account
    const login = (more = {}) =>
      world.call('POST', '/api/v1/auth/login', { json: { email, password, ...more } })
    const missing = await login()
    expect([missing.status, missing.body.details?.[0]?.path]).toEqual([400, 'otp'])
    expect((await login({ otp: recovery[0] })).status).toBe(200)
    expect((await login({ otp: recovery[0] })).status).toBe(400)
  })

  it('refuses a challenge that was used, is too old, or is for another purpose', async () => {
    const options = await challenge()
    const first = device.get(options)
    expect((await ask('POST', '/session/passkey', { passkey: first })).status).toBe(200)
    expect((await ask('POST', '/session/passkey', { passkey: first })).status).toBe(400)
    const again = device.get(options)
    expect((await ask('POST', '/session/passkey', { passkey: again })).status).toBe(400)
    const late = await challenge()
    await world.advance(300_000)
    const tooLate = { passkey: device.get(late) }
    expect((await ask('POST', '/session/passkey', tooLate)).status).toBe(400)
    const registration = await optionsFor(cookie, account.password)
    const rpId = registration.rp.id
    const foreign = { passkey: device.get({ challenge: registration.challenge, rpId }) }
    expect((await ask('POST', '/session/passkey', foreign)).status).toBe(400)
    const made = device.get({ challenge: 'x'.repeat(43), rpId })
    expect((await ask('POST', '/session/passkey', { passkey: made })).status).toBe(400)
  })

  it('refuses another origin, another site, another key and a wrong signature', async () => {
    const refused = async (passkey: object) =>
      expect(await ask('POST', '/session/passkey', { passkey })).toMatchObject({
        status: 400,
        fields: ['passkey'],
      })
    await refused(device.get(await challenge(), { from: 'https://evil.example' }))
    await refused(device.get({ ...(await challenge()), rpId: 'evil.example' }))
    await refused(softwareAuthenticator(origin).get(await challenge()))
    const other = softwareAuthenticator(origin).get(await challenge())
    await refused({ ...other, id: device.id, rawId: device.id })
    const cut = device.get(await challenge())
    await refused({ ...cut, response: { ...cut.response, signature: 'AAAA' } })
    await refused({ ...cut, response: { ...cut.response, authenticatorData: 'AAAA' } })
    await refused({ ...cut, response: { ...cut.response, clientDataJSON: 'AAAA' } })
    expect((await use(device)).status).toBe(200)
  })

  it('refuses a counter that does not rise, as a copy of the key has it', async () => {
    device.setCounter(7)
    expect((await use(device)).status).toBe(200)
    device.setCounter(5)
    expect((await use(device)).status).toBe(400)
    device.setCounter(8)
    expect((await use(device)).status).toBe(200)
  })

  it('is added only with the password, a right answer and a free name', async () => {
    const wrong = { current_password: 'another password' }
    const begin = '/second-factor/passkeys/begin'
    expect((await ask('POST', begin, wrong, cookie)).status).toBe(400)
    const second = softwareAuthenticator(origin)
    const add = (passkey: object) =>
      ask('POST', '/second-factor/passkeys', { passkey, name: 'Phone' }, cookie)
    const foreign = second.create(
      await optionsFor(cookie, account.password),
      'https://evil.example',
    )
    expect((await add(foreign)).status).toBe(400)
    const stranger = await world.signup()
    const theirs = await optionsFor(await signIn(stranger), stranger.password)
    expect((await add(second.create(theirs))).status).toBe(400)
    const twice = device.create(await optionsFor(cookie, account.password))
    expect((await add(twice)).status).toBe(400)
    const done = await add(second.create(await optionsFor(cookie, account.password)))
    expect([done.status, done.data.recovery_codes]).toEqual([200, []])
    expect((await use(second)).status).toBe(200)
  })

  it('is renamed and removed by its person', async () => {
    const list = async () => (await ask('GET', '/second-factor/passkeys', undefined, cookie)).data
    const [{ id }] = (await list()).passkeys
    const one = `/second-factor/passkeys/${id}`
    const stranger = await signIn(await world.signup())
    expect((await ask('PUT', one, { name: 'Mine' }, stranger)).status).toBe(404)
    expect((await ask('PUT', one, { name: 'Work laptop' }, cookie)).status).toBe(200)
    expect((await list()).passkeys[0].name).toBe('Work laptop')
    const end = (current_password: string) =>
      ask('POST', `${one}/end`, { current_password }, cookie)
    expect((await end('another password')).status).toBe(400)
    expect((await end(account.password)).status).toBe(200)
    expect((await end(account.password)).status).toBe(404)
    expect((await use(device)).status).toBe(400)
    const { email, password } = account
    expect((await ask('POST', '/session', { email, password })).status).toBe(200)
    const state = await ask('GET', '/second-factor', undefined, cookie)
    expect(state.data).toEqual({ since: null, recovery_codes: 0 })
    const entries = await world.core.audit.ofAll(
      { workspace_id: account.id },
      { limit: 20, offset: 0 },
    )
    const actions = entries.map(({ action }) => action)
    expect(actions).toContain('passkey.added')
    expect(actions).toContain('passkey.removed')
  })

  it('needs the new password once after a change or a reset of it', async () => {
    const { email, password } = account
    await world.call('POST', '/api/v1/auth/forgot-password', { json: { email } })
    const token = await world.mailed(email, 'reset_password')
    const next = 'the password after a reset'
    await world.call('POST', '/api/v1/auth/reset-password', { json: { token, password: next } })
    expect(await use(device)).toMatchObject({ status: 400, fields: ['password'] })
    expect((await use(device, { password })).status).toBe(401)
    const signed = await use(device, { password: next })
    expect(signed.status).toBe(200)
    expect((await use(device)).status).toBe(200)
    const json = { current_password: next, new_password: 'yet another password' }
    await ask('POST', '/v1/auth/change-password', json, signed.cookie)
    expect((await use(device)).status).toBe(400)
  })

  it('is removed with a lost second factor by the operator', async () => {
    await world.core.members.resetSecondFactor(account.email)
    const { email, password } = account
    expect((await ask('POST', '/session', { email, password })).status).toBe(200)
    expect((await use(device)).status).toBe(400)
  })

  it('is no passkey of an operator, and those of operators sign in to their pages only', async () => {
    await world.core.operators.add(OPERATOR)
    const session = await ask('POST', '/operator/session', OPERATOR)
    const base = '/operator/second-factor'
    const theirs = softwareAuthenticator(origin)
    const passkey = theirs.create(await optionsFor(session.cookie, OPERATOR.password, base))
    const add = { passkey, name: 'Key' }
    const added = await ask('POST', `${base}/passkeys`, add, session.cookie)
    expect(added.data.recovery_codes).toHaveLength(10)
    const operate = async (one: Authenticator, more: object = {}, how = {}) => {
      const json = { passkey: one.get(await challenge(), how), ...more }
      return ask('POST', '/operator/session/passkey', json)
    }
    expect((await operate(device)).status).toBe(400)
    expect((await use(theirs)).status).toBe(400)
    expect(await operate(theirs)).toMatchObject({ status: 200, data: { operator: OPERATOR.name } })
    const unverified = { verifies: false }
    expect(await operate(theirs, {}, unverified)).toMatchObject({ fields: ['password'] })
    const { password } = OPERATOR
    expect((await operate(theirs, { password: 'another one' }, unverified)).status).toBe(401)
    expect((await operate(theirs, { password }, unverified)).status).toBe(200)
    const named = await ask('POST', '/operator/session/challenge', OPERATOR)
    expect(named.data.options.allowCredentials).toMatchObject([{ id: theirs.id }])
    const bad = { ...OPERATOR, password: 'another one' }
    expect((await ask('POST', '/operator/session/challenge', bad)).status).toBe(401)
    const missing = await ask('POST', '/operator/session', OPERATOR)
    expect([missing.status, missing.fields]).toEqual([400, ['code']])
    const code = added.data.recovery_codes[0]
    expect((await ask('POST', '/operator/session', { ...OPERATOR, code })).status).toBe(200)
    const { data } = await ask('GET', `${base}/passkeys`, undefined, session.cookie)
    const [{ id }] = data.passkeys
    const other = await ask('PUT', `${base}/passkeys/${UNKNOWN_ID}`, { name: 'x' }, session.cookie)
    expect(other.status).toBe(404)
    const end = { current_password: password }
    await ask('POST', `${base}/passkeys/${id}/end`, end, session.cookie)
    expect((await operate(theirs)).status).toBe(400)
    expect((await ask('POST', '/operator/session', OPERATOR)).status).toBe(200)
    await world.core.operators.remove(OPERATOR.name)
  })
})
