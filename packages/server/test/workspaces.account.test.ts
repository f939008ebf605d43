import { beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { claimsOf, forgeToken } from './tokens.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const ACCOUNT = '/api/v1/account'
const CHANGE = '/api/v1/auth/change-password'
const LOGOUT = '/api/v1/auth/logout'

let owner: Account
beforeEach(async () => {
  owner = await world().signup({ credits: 3 })
})

const get = async () => (await world().call('GET', ACCOUNT, { token: owner.token })).body.data
const put = (json: object) => world().call('PUT', ACCOUNT, { token: owner.token, json })
const change = (json: object) => world().call('POST', CHANGE, { token: owner.token, json })
const login = (password: string) =>
  world().call('POST', '/api/v1/auth/login', { json: { email: owner.email, password } })

describe('GET /api/v1/balance', () => {
  it('200: an API key reads the available and the held credits of its own workspace', async () => {
    const { key } = await world().key(owner, { scopes: ['read_messages'] })
    const read = (options: object) => world().call('GET', '/api/v1/balance', options)
    const data = { credits_balance: 3, credits_held: 0 }
    expect((await read({ key })).body).toStrictEqual({ success: true, data })
    expect((await read({ token: owner.token })).body.data).toStrictEqual(data)
  })
})

describe(`PUT ${ACCOUNT}`, () => {
  const all = {
    name: 'Żółw & Söhne 🐢',
    phone: '+255700000001',
    country: 'TZ',
    sender_name: 'Żółw',
    low_balance: 2.5,
  }

  it('200: changes the fields in the body, returns the complete account, and keeps the others', async () => {
    const before = await get()
    await world().advance(5_000)
    const { status, body } = await put(all)
    expect(status).toBe(200)
    const updated_at = world().now().toISOString()
    expect(body).toStrictEqual({ success: true, data: { ...before, ...all, updated_at } })
    expect(await get()).toStrictEqual(body.data)
    expect((await put({ country: 'KE' })).body.data).toStrictEqual({ ...body.data, country: 'KE' })
  })

  it.each(['phone', 'country', 'sender_name', 'low_balance'])(
    '200: null clears %s',
    async (field) => {
      await put(all)
      expect((await put({ [field]: null })).body.data).toMatchObject({ ...all, [field]: null })
    },
  )

  it('200: accepts the body of a GET, and ignores read-only fields', async () => {
    const before = await get()
    const changes = {
      ...before,
      id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
      email: 'other@example.com',
      email_verified: true,
      credits_balance: 1_000,
      credits_held: 5,
      created_at: '2020-01-01T00:00:00.000Z',
      token_version: 9,
      name: 'Renamed',
    }
    const { status, body } = await put(changes)
    expect(status).toBe(200)
    expect(body.data).toStrictEqual({ ...before, name: 'Renamed' })
  })

  it('200: changes nothing for an empty body', async () => {
    const before = await get()
    await world().advance(5_000)
    expect((await put({})).body.data).toStrictEqual(before)
  })

  it.each([
    ['name', null, 'name must be a string'],
    ['name', '', 'name must not be empty'],
    ['name', 'a'.repeat(201), 'name must be at most 200 characters'],
    ['phone', '0700', 'Phone number must be in E.164 format'],
    ['phone', '', 'Phone number must be in E.164 format'],
    ['country', '', 'country must not be empty'],
    ['country', 'a'.repeat(65), 'country must be at most 64 characters'],
    [
      'sender_name',
      'a@b.example',
      'Sender name must be one line without "<", ">", "@" or direction marks',
    ],
    ['postal_address', 'a'.repeat(501), 'postal_address must be at most 500 characters'],
    ['sms_opt_out_text', 'Reply {{word}}', 'The text must not contain "{{"'],
    ['sender_name', 7, 'sender_name must be a string'],
    ['low_balance', -1, 'low_balance must be at least 0'],
    ['low_balance', '5', 'low_balance must be a number'],
    ['low_balance', 0.0000001, 'Credits must have at most six decimals and be below 1000000000'],
  ])('400: refuses %s %j, and changes nothing', async (path, value, message) => {
    const before = await get()
    const { status, body } = await put({ ...all, [path]: value })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
    expect(await get()).toStrictEqual(before)
  })

  it('401: requires a token', async () => {
    const { status, body } = await world().call('PUT', ACCOUNT, { json: all })
    expect([status, body]).toStrictEqual([
      401,
      refusal('unauthorized', 'Missing Authorization header'),
    ])
  })
})

describe(`POST ${CHANGE}`, () => {
  const new_password = 'another password'

  it('200: changes the password, and ends every session, its own too', async () => {
    const { status, body } = await change({ current_password: owner.password, new_password })
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      success: true,
      data: {
        message:
          'Password changed. Every session has ended, this one too: log in with the new password.',
      },
    })
    const after = await world().call('GET', ACCOUNT, { token: owner.token })
    expect([after.status, after.body]).toStrictEqual([
      401,
      refusal('token_expired', 'Invalid or expired token'),
    ])
    expect((await login(owner.password)).status).toBe(401)
    expect((await login(new_password)).status).toBe(200)
  })

  it('200: ends a pending reset', async () => {
    const { email } = owner
    await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
    const token = await world().mailed(email, 'reset_password')
    await change({ current_password: owner.password, new_password })
    const json = { token, password: 'of a stranger' }
    const reset = await world().call('POST', '/api/v1/auth/reset-password', { json })
    expect(reset.body).toStrictEqual(
      refusal('validation_error', 'Invalid or expired token', 'token'),
    )
  })

  it('of two concurrent changes, one succeeds', async () => {
    const passwords = ['the first password', 'the second password']
    const answers = await Promise.all(
      passwords.map((password) =>
        change({ current_password: owner.password, new_password: password }),
      ),
    )
    const winners = passwords.filter((_, i) => answers[i]?.status === 200)
    expect(winners).toHaveLength(1)
    expect((await login(winners[0] ?? '')).status).toBe(200)
  })

  it.each([
    ['current_password', 'wrong', 'Current password is wrong'],
    ['current_password', '', 'Missing required field: current_password'],
    ['current_password', 7, 'current_password must be a string'],
    ['new_password', undefined, 'Missing required field: new_password'],
    ['new_password', 'Password123', 'Password is one of the most common ones: choose another'],
    ['new_password', 'a'.repeat(7), 'Password must be at least 8 characters'],
    ['new_password', 'a'.repeat(257), 'Password must be at most 256 characters'],
  ])('400: refuses the %s %j, and changes nothing', async (path, value, message) => {
    const good = { current_password: owner.password, new_password }
    const { status, body } = await change({ ...good, [path]: value })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
    expect((await login(owner.password)).status).toBe(200)
    expect((await world().call('GET', ACCOUNT, { token: owner.token })).status).toBe(200)
  })

  it('401: requires a token', async () => {
    const json = { current_password: owner.password, new_password }
    const { status, body } = await world().call('POST', CHANGE, { json })
    expect([status, body]).toStrictEqual([
      401,
      refusal('unauthorized', 'Missing Authorization header'),
    ])
  })
})

describe(`POST ${LOGOUT}`, () => {
  const logout = (token: string) => world().call('POST', LOGOUT, { token })
  const statusOf = async (token: string) => (await world().call('GET', ACCOUNT, { token })).status
  const ended = [401, refusal('token_expired', 'Invalid or expired token')]
  const tokenOf = async (): Promise<string> => (await login(owner.password)).body.data.token

  it('200: ends the session of its token, and no other one of the same second', async () => {
    const other = await tokenOf()
    const { status, body } = await logout(owner.token)
    expect([status, body]).toStrictEqual([
      200,
      { success: true, data: { message: 'Logged out. This token is no longer valid.' } },
    ])
    for (const request of [world().call('GET', ACCOUNT, owner), logout(owner.token)]) {
      const after = await request
      expect([after.status, after.body]).toStrictEqual(ended)
    }
    expect(await statusOf(other)).toBe(200)
    const log = await world().call('GET', '/api/v1/audit?action=session.ended', { token: other })
    expect(log.body.data.audit_entries).toHaveLength(1)
    expect((await login(owner.password)).status).toBe(200)
  })

  it('200: ends the token in every spelling of its signature', async () => {
    const [input, signature] = owner.token.split(/\.(?=[^.]*$)/) as [string, string]
    const bytes = Buffer.from(signature, 'base64url')
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const spellings = [...alphabet]
      .map((last) => signature.slice(0, -1) + last)
      .filter((text) => Buffer.from(text, 'base64url').equals(bytes))
      .map((text) => `${input}.${text}`)
    expect(spellings).toHaveLength(4)
    expect((await logout(spellings.find((one) => one !== owner.token) ?? '')).status).toBe(200)
    for (const spelling of spellings) expect(await statusOf(spelling)).toBe(401)
  })

  it('200: ends a token without an id, as earlier releases issued', async () => {
    const token = forgeToken({ claims: claimsOf(owner.id) })
    expect(await statusOf(token)).toBe(200)
    expect((await logout(token)).status).toBe(200)
    expect(await statusOf(token)).toBe(401)
    expect(await statusOf(owner.token)).toBe(200)
  })

  it('of many concurrent logouts, each ends its session', async () => {
    const tokens = [owner.token, owner.token, await tokenOf(), await tokenOf()]
    const answers = await Promise.all(tokens.map(logout))
    // The second logout with the same token may find the session ended.
    for (const { status } of answers) expect([200, 401]).toContain(status)
    for (const token of tokens) expect(await statusOf(token)).toBe(401)
  })

  it('keeps API keys and the sessions of other workspaces', async () => {
    const { key } = await world().key(owner)
    const other = await world().signup()
    await logout(owner.token)
    expect((await world().call('GET', '/api/v1/messages', { key })).status).toBe(200)
    expect(await statusOf(other.token)).toBe(200)
  })
})

describe('a session', () => {
  const DAY_MS = 24 * 60 * 60_000

  it('ends 30 days after the login, by the clock of the service', async () => {
    await world().advance(30 * DAY_MS)
    expect((await world().call('GET', ACCOUNT, { token: owner.token })).status).toBe(200)
    await world().advance(1)
    const { status, body } = await world().call('GET', ACCOUNT, { token: owner.token })
    expect([status, body]).toStrictEqual([
      401,
      refusal('token_expired', 'Your session has expired. Please login again.'),
    ])
  })
})
