import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { totpCode } from '../../core/src/second-factor/second-factor.ts'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import type { Account } from './accounts.ts'
import { openWorld, useWorld, type World } from './world.ts'

const SAME = { 'sec-fetch-site': 'same-origin' }
const HOUR_MS = 3_600_000
const STEP_MS = 30_000

interface Options {
  cookie?: string | undefined
  json?: object | undefined
}

/** A request of the browser; `path` below `/console/api`. */
async function ask(world: World, method: string, path: string, { cookie, json }: Options = {}) {
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

/** The bytes of a base32 text. */
function bytesOf(text: string): Buffer {
  const bits = [...text]
    .map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'))
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

const signIn = async (world: World, { email, password }: Account) =>
  (await ask(world, 'POST', '/session', { json: { email, password } })).cookie

/** Adds an authenticator app in the console. */
async function enrol(world: World, account: Account) {
  const before = await signIn(world, account)
  const json = { current_password: account.password }
  const { data } = await ask(world, 'POST', '/second-factor', { cookie: before, json })
  const key = bytesOf(data.secret)
  const codeNow = (steps = 0) => totpCode(key, Math.floor(world.now().getTime() / STEP_MS) + steps)
  const confirm = { cookie: before, json: { code: codeNow() } }
  const confirmed = await ask(world, 'POST', '/second-factor/confirm', confirm)
  expect(confirmed.status).toBe(200)
  await world.advance(HOUR_MS)
  const recovery: string[] = confirmed.data.recovery_codes
  return { uri: data.uri as string, codeNow, recovery, before, cookie: confirmed.cookie }
}

const login = ({ email, password }: Account, world: World, more: object = {}) =>
  world.call('POST', '/api/v1/auth/login', { json: { email, password, ...more } })

const audited = async (world: World, { id }: Account) =>
  (await world.core.audit.ofAll({ workspace_id: id }, { limit: 50, offset: 0 })).map(
    ({ action }) => action,
  )

async function secretsIn({ core }: World): Promise<number> {
  const { plain, keys } = await core.secretsAtRest.status()
  return keys.reduce((sum, { values }) => sum + values, plain)
}

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

describe.each(['sqlite', 'postgres'])('the second factor of a member on %s', (engine) => {
  let world: World
  let account: Account
  let before: number
  let factor: Awaited<ReturnType<typeof enrol>>

  beforeAll(async () => {
    world = await openWorld({
      console: { folder: 'none' },
      ...(engine === 'postgres' && { database_url: database.url }),
    })
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    await world.advance(HOUR_MS)
    account = await world.signup()
    before = await secretsIn(world)
    factor = await enrol(world, account)
  })
  /** The account with a token of the API, for the owner of a verified workspace. */
  async function renewed(): Promise<Account> {
    await world.verify(account)
    const { body } = await login(account, world, { otp: factor.codeNow(-1) })
    return { ...account, token: body.data.token }
  }
  /** The number of secrets that the test added. */
  const secrets = async () => (await secretsIn(world)) - before
  const state = async () =>
    (await ask(world, 'GET', '/second-factor', { cookie: factor.cookie })).data

  it('is asked after the right password by the console and the API, and takes each code once', async () => {
    expect(factor.uri).toMatch(/^otpauth:\/\/totp\/svc%3A.+\?secret=[A-Z2-7]{32}&issuer=svc$/)
    expect(await state()).toMatchObject({ recovery_codes: 10 })
    const wrong = await login({ ...account, password: 'another password' }, world)
    expect([wrong.status, wrong.body.details]).toEqual([401, undefined])
    const missing = await login(account, world)
    expect([missing.status, missing.body.error]).toEqual([400, 'validation_error'])
    expect(missing.body.details).toMatchObject([{ path: 'otp' }])
    const { email, password } = account
    const json = { email, password }
    expect(await ask(world, 'POST', '/session', { json })).toMatchObject({
      status: 400,
      fields: ['otp'],
    })
    const otp = factor.codeNow()
    expect((await login(account, world, { otp })).status).toBe(200)
    expect((await login(account, world, { otp })).status).toBe(400)
    expect((await ask(world, 'POST', '/session', { json: { ...json, otp } })).status).toBe(400)
    const next = { ...json, otp: factor.codeNow(1) }
    expect((await ask(world, 'POST', '/session', { json: next })).status).toBe(200)
  })

  it('lets one of two simultaneous logins use a code', async () => {
    const more = { otp: factor.codeNow() }
    const both = await Promise.all([login(account, world, more), login(account, world, more)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  })

  it('has recovery codes, each for one login', async () => {
    const [first = '', second = ''] = factor.recovery
    expect(new Set(factor.recovery).size).toBe(10)
    expect((await login(account, world, { otp: first.toUpperCase() })).status).toBe(200)
    expect((await login(account, world, { otp: first })).status).toBe(400)
    expect((await login(account, world, { otp: second })).status).toBe(200)
    expect(await state()).toMatchObject({ recovery_codes: 8 })
  })

  it('ends the other sessions when it is added', async () => {
    const get = async (cookie: string) =>
      (await ask(world, 'GET', '/v1/account', { cookie })).status
    expect(await get(factor.before)).toBe(401)
    expect(await get(factor.cookie)).toBe(200)
    const answer = await world.call('GET', '/api/v1/account', { token: account.token })
    expect(answer.status).toBe(401)
    expect(await audited(world, account)).toContain('second_factor.added')
  })

  it('ends with the password and a code, and its secret with it', async () => {
    const { cookie } = factor
    const end = (current_password: string, otp?: string) =>
      ask(world, 'POST', '/second-factor/end', { cookie, json: { current_password, otp } })
    const begin = { cookie, json: { current_password: account.password } }
    expect((await ask(world, 'POST', '/second-factor', begin)).status).toBe(400)
    expect((await end('another password', factor.codeNow())).status).toBe(400)
    expect(await end(account.password)).toMatchObject({ status: 400, fields: ['otp'] })
    expect((await login(account, world)).status).toBe(400)
    expect(await secrets()).toBe(1)
    expect((await end(account.password, factor.codeNow())).status).toBe(200)
    expect(await secrets()).toBe(0)
    expect((await login(account, world)).status).toBe(200)
    expect(await audited(world, account)).toContain('second_factor.removed')
  })

  it('stays after a new password, by change and by mail', async () => {
    const { email, password } = account
    const changed = 'another long password'
    const json = { current_password: password, new_password: changed }
    await ask(world, 'POST', '/v1/auth/change-password', { cookie: factor.cookie, json })
    expect((await login({ ...account, password: changed }, world)).body.details).toMatchObject([
      { path: 'otp' },
    ])
    await world.call('POST', '/api/v1/auth/forgot-password', { json: { email } })
    const token = await world.mailed(email, 'reset_password')
    const again = { token, password: 'the password after a reset' }
    await world.call('POST', '/api/v1/auth/reset-password', { json: again })
    const { body } = await login({ ...account, password: again.password }, world)
    expect(body.details).toMatchObject([{ path: 'otp' }])
  })

  it('is removed by the operator for a person who lost it', async () => {
    const { email } = account
    await world.core.members.resetSecondFactor(email.toUpperCase())
    expect((await ask(world, 'GET', '/v1/account', { cookie: factor.cookie })).status).toBe(401)
    expect((await login(account, world)).status).toBe(200)
    expect(await audited(world, account)).toContain('second_factor.reset')
    expect(await secrets()).toBe(0)
    await expect(world.core.members.resetSecondFactor(email)).rejects.toThrow('no second factor')
    await expect(world.core.members.resetSecondFactor('no@example.com')).rejects.toThrow('No login')
  })

  it('belongs to the person after a change of the owner', async () => {
    const member = await world.member(await renewed(), 'admin')
    const { cookie } = factor
    const json = { current_password: account.password }
    const { body } = await world.call('GET', '/api/v1/members', { token: member.token })
    const { id } = body.data.members.find((one: { email: string }) => one.email === member.email)
    const done = await ask(world, 'POST', `/v1/members/${id}/owner`, { cookie, json })
    expect(done.status).toBe(200)
    expect((await login(member, world)).status).toBe(200)
    expect((await login(account, world)).status).toBe(400)
    expect((await login(account, world, { otp: factor.codeNow() })).status).toBe(200)
  })

  it('is needed to accept an invitation', async () => {
    const host = await world.signup()
    await world.verify(host)
    const { email, password } = account
    const invitation = { email, role: 'viewer' }
    await world.call('POST', '/api/v1/invitations', { token: host.token, json: invitation })
    const token = `${await world.mailed(email, 'invitation')}`
    const accept = (more: object) =>
      world.call('POST', '/api/v1/invitations/accept', { json: { token, password, ...more } })
    const { status, body } = await accept({})
    expect([status, body.details?.[0]?.path]).toEqual([400, 'otp'])
    const page = await world.app.inject({
      method: 'POST',
      url: '/accept-invitation',
      headers: { ...SAME, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ token, password, otp: '' }).toString(),
    })
    expect(page.body).toContain('Enter the code of your authenticator app')
    expect((await accept({ otp: factor.codeNow() })).status).toBe(200)
  })

  it('goes with a user who is removed', async () => {
    const member = await world.member(await renewed(), 'viewer')
    await enrol(world, member)
    expect(await secrets()).toBe(2)
    await world.core.members.remove(account.id, member.id)
    expect(await secrets()).toBe(1)
  })
})

describe('guesses of a code', () => {
  const limited = useWorld({
    console: { folder: 'none' },
    rates: { auth: { max: 8, window_s: 900 } },
  })

  it('are limited for the login, also with the right password', async () => {
    const account = await limited().signup()
    await enrol(limited(), account)
    const statuses: number[] = []
    for (let i = 0; i < 9; i++) {
      const { email, password } = account
      const options = { json: { email, password, otp: '000000' }, from: `203.0.${i}.1` }
      statuses.push((await limited().call('POST', '/api/v1/auth/login', options)).status)
    }
    expect(statuses).toEqual([...Array(8).fill(400), 429])
  })

  it('are not used up by codes without the password', async () => {
    const account = await limited().signup()
    const { codeNow } = await enrol(limited(), account)
    const { email, password } = account
    const tried = async (from: string, json: object) =>
      (await limited().call('POST', '/api/v1/auth/login', { json, from })).status
    const right = { email, password, otp: codeNow() }
    expect(await tried('203.0.113.1', right)).toBe(200)
    await limited().advance(HOUR_MS)
    const wrong = { email, password: 'another password', otp: '000000' }
    for (let i = 1; i <= 10; i++) await tried(`198.51.${i}.1`, wrong)
    expect(await tried('203.0.113.1', { ...right, otp: codeNow() })).toBe(200)
  })
})

describe('a member who needs a second factor', () => {
  const strict = useWorld({ console: { folder: 'none' }, members_second_factor: 'required' })

  it('may only add one, and then works', async () => {
    const account = await strict().signup()
    const cookie = await signIn(strict(), account)
    const session = await ask(strict(), 'GET', '/session', { cookie })
    expect(session.data).toMatchObject({ user: { id: account.id }, lacks_second_factor: true })
    const { token } = account
    for (const path of ['/v1/account', '/history', '/v1/messages']) {
      expect((await ask(strict(), 'GET', path, { cookie })).status).toBe(403)
    }
    expect((await strict().call('GET', '/api/v1/account', { token })).status).toBe(403)
    const factor = await enrol(strict(), account)
    const added = await ask(strict(), 'GET', '/session', { cookie: factor.cookie })
    expect(added.data.lacks_second_factor).toBe(false)
    const now = await ask(strict(), 'GET', '/v1/account', { cookie: factor.cookie })
    expect(now.status).toBe(200)
    const { body } = await login(account, strict(), { otp: factor.codeNow() })
    const { status } = await strict().call('GET', '/api/v1/account', { token: body.data.token })
    expect(status).toBe(200)
  })
})
