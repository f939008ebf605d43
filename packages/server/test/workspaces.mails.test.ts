import { describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const VERIFY = '/api/v1/auth/verify-email'
const RESEND = '/api/v1/auth/resend-verification'
const FORGOT = '/api/v1/auth/forgot-password'
const RESET = '/api/v1/auth/reset-password'

const MINUTE_MS = 60_000
const NEVER_GIVEN = Buffer.alloc(32, 7).toString('base64url')
const BAD_TOKEN = refusal('validation_error', 'Invalid or expired token', 'token')

const post = (path: string, json: object) => world().call('POST', path, { json })
const login = ({ email, password }: Pick<Account, 'email' | 'password'>) =>
  post('/api/v1/auth/login', { email, password })
const account = ({ token }: Account) => world().call('GET', '/api/v1/account', { token })

/** The number of mails so far. */
async function mailCount(): Promise<number> {
  await world().core.mails.idle()
  return world().core.mails.list()[0]?.id ?? 0
}

/** Requests a mail, and returns its token. */
async function requestToken(path: string, email: string): Promise<string> {
  await post(path, { email })
  const kind = path === RESEND ? 'verify_email' : 'reset_password'
  return (await world().mailed(email, kind)) ?? ''
}

describe('the mail of a signup', () => {
  it('goes to the address, with instructions in text and in HTML', async () => {
    const { email } = await world().signup()
    const token = await world().mailed(email, 'verify_email')
    const [mail] = world().core.mails.list()
    const link = `http://127.0.0.1:3000/verify-email?token=${token}`
    expect(mail).toMatchObject({ to: email, subject: 'Verify your e-mail address', link })
    expect(mail?.text).toContain(`\n${link}\n`)
    expect(mail?.html).toContain(`<a href="${link}"`)
    expect(token).toMatch(/^[\w-]{43}$/)
  })

  it('contains no text of the signup', async () => {
    const json = {
      email: 'victim@example.com',
      password: 'long enough',
      company_name: 'You won! https://evil.example <b>',
    }
    await post('/api/v1/auth/signup', json)
    await world().core.mails.idle()
    expect(JSON.stringify(world().core.mails.list()[0])).not.toMatch(/won|evil/)
  })
})

describe(`POST ${VERIFY}`, () => {
  it('200: verifies the address permanently, and confirms it', async () => {
    const owner = await world().signup()
    const token = await world().mailed(owner.email, 'verify_email')
    const { status, body } = await post(VERIFY, { token })
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      success: true,
      data: {
        workspace: {
          id: owner.id,
          name: expect.any(String),
          email: owner.email,
          email_verified: true,
          credits_balance: 0,
        },
        message: 'E-mail address verified',
      },
    })
    expect((await login(owner)).body.data.workspace.email_verified).toBe(true)
    expect((await account(owner)).body.data.email_verified).toBe(true)
  })

  it('200: ends earlier keys and webhooks, but no sessions and nothing that is created later', async () => {
    const owner = await world().signup()
    const before = await world().key(owner)
    const { id } = await world().webhook(owner)
    const token = await world().mailed(owner.email, 'verify_email')
    expect((await post(VERIFY, { token })).body.data.message).toBe(
      'E-mail address verified. 1 API key was revoked and 1 webhook was disabled. Create new keys. Enable the webhooks that are yours.',
    )
    const list = ({ key }: { key: string }) => world().call('GET', '/api/v1/messages', { key })
    expect((await list(before)).status).toBe(401)
    expect((await account(owner)).status).toBe(200)
    expect(await world().core.webhooks.get(owner.id, id)).toMatchObject({
      is_active: false,
      status: 'disabled',
      disabled_reason: 'email_verified',
    })
    const after = await world().key(owner)
    expect((await list(after)).status).toBe(200)
    const { body } = await world().call('GET', '/api/v1/audit?action=credentials.revoked', owner)
    expect(body.data.audit_entries).toMatchObject([
      { details: { api_keys: 1, webhooks: 1, reason: 'email_verified' } },
    ])
  })

  it('400: refuses a used token', async () => {
    const { email } = await world().signup()
    const token = await world().mailed(email, 'verify_email')
    await post(VERIFY, { token })
    const again = await post(VERIFY, { token })
    expect([again.status, again.body]).toStrictEqual([400, BAD_TOKEN])
  })

  it('400: of many concurrent requests with a token, one succeeds', async () => {
    const { email } = await world().signup()
    const token = await world().mailed(email, 'verify_email')
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(VERIFY, { token })))
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
  })

  it('400: refuses a token after 24 hours, and not before', async () => {
    const [early, late] = [await world().signup(), await world().signup()]
    const token = await world().mailed(early.email, 'verify_email')
    const other = await world().mailed(late.email, 'verify_email')
    await world().advance(24 * 60 * MINUTE_MS - 1)
    expect((await post(VERIFY, { token })).status).toBe(200)
    await world().advance(1)
    expect((await post(VERIFY, { token: other })).body).toStrictEqual(BAD_TOKEN)
  })

  it('400: refuses the token of a password reset', async () => {
    const { email } = await world().signup()
    const token = await requestToken(FORGOT, email)
    expect((await post(VERIFY, { token })).body).toStrictEqual(BAD_TOKEN)
    expect((await post(RESET, { token, password: 'long enough' })).status).toBe(200)
  })

  it.each([
    [undefined, 'Missing required field: token'],
    ['', 'Missing required field: token'],
    [7, 'token must be a string'],
    ['a'.repeat(257), 'token must be at most 256 characters'],
    [NEVER_GIVEN, 'Invalid or expired token'],
    ['ё "', 'Invalid or expired token'],
  ])('400: refuses the token %j', async (token, message) => {
    const { status, body } = await post(VERIFY, { token })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, 'token'))
  })
})

describe(`POST ${RESEND}`, () => {
  const ANSWER = {
    success: true,
    data: {
      message: 'If the address belongs to a workspace and is not verified yet, an e-mail is sent.',
    },
  }

  it('200: sends a new token, and ends the earlier one', async () => {
    const { email } = await world().signup()
    const first = await world().mailed(email, 'verify_email')
    const { status, body } = await post(RESEND, { email: email.toUpperCase() })
    expect([status, body]).toStrictEqual([200, ANSWER])
    const second = await world().mailed(email, 'verify_email')
    expect(second).not.toBe(first)
    expect((await post(VERIFY, { token: first })).body).toStrictEqual(BAD_TOKEN)
    expect((await post(VERIFY, { token: second })).status).toBe(200)
  })

  it('200: gives the same answer for an unknown and for a verified address, without a mail', async () => {
    const { email } = await world().signup()
    await post(VERIFY, { token: await world().mailed(email, 'verify_email') })
    const before = await mailCount()
    for (const address of [email, 'nobody@example.com']) {
      const { status, body } = await post(RESEND, { email: address })
      expect([status, body]).toStrictEqual([200, ANSWER])
    }
    expect(await mailCount()).toBe(before)
  })

  it('400: requires an address', async () => {
    const { status, body } = await post(RESEND, { email: 'asha' })
    const refused = refusal('validation_error', 'Invalid email address format', 'email')
    expect([status, body]).toStrictEqual([400, refused])
  })
})

describe(`POST ${FORGOT}`, () => {
  const ANSWER = {
    success: true,
    data: {
      message: 'If the address belongs to a workspace, an e-mail to reset its password is sent.',
    },
  }

  it('200: sends a link to a known address, in any case', async () => {
    const { email } = await world().signup()
    const { status, body } = await post(FORGOT, { email: email.toUpperCase() })
    expect([status, body]).toStrictEqual([200, ANSWER])
    const token = await world().mailed(email, 'reset_password')
    const link = `http://127.0.0.1:3000/reset-password?token=${token}`
    const [mail] = world().core.mails.list()
    expect(mail).toMatchObject({ to: email, subject: 'Reset your password', link })
  })

  it('200: gives the same answer for an unknown address, without a mail', async () => {
    const before = await mailCount()
    const { status, body } = await post(FORGOT, { email: 'nobody@example.com' })
    expect([status, body]).toStrictEqual([200, ANSWER])
    expect(await mailCount()).toBe(before)
  })

  it.each([undefined, '', 'asha', 7])('400: refuses the address %j', async (email) => {
    const { status, body } = await post(FORGOT, { email })
    expect(status).toBe(400)
    expect(body.details[0].path).toBe('email')
  })
})

describe(`POST ${RESET}`, () => {
  it('200: changes the password, and ends every session', async () => {
    const owner = await world().signup()
    const { token: other } = (await login(owner)).body.data
    const token = await requestToken(FORGOT, owner.email)
    const { status, body } = await post(RESET, { token, password: 'a new password' })
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      success: true,
      data: {
        message: 'Password changed. Every session has ended: log in with the new password.',
      },
    })
    for (const session of [owner.token, other]) {
      const { status, body } = await account({ ...owner, token: session })
      expect([status, body]).toStrictEqual([
        401,
        refusal('token_expired', 'Invalid or expired token'),
      ])
    }
    expect((await login(owner)).status).toBe(401)
    const fresh = await login({ ...owner, password: 'a new password' })
    expect((await account({ ...owner, token: fresh.body.data.token })).status).toBe(200)
  })

  it('200: keeps API keys and webhooks of a verified address, unless the request ends them', async () => {
    const owner = await world().signup()
    await world().verify(owner)
    const { key } = await world().key(owner)
    const { id } = await world().webhook(owner)
    const isActive = async () => (await world().core.webhooks.get(owner.id, id)).is_active
    const token = await requestToken(FORGOT, owner.email)
    await post(RESET, { token, password: 'a new password' })
    expect((await world().call('GET', '/api/v1/messages', { key })).status).toBe(200)
    expect(await isActive()).toBe(true)

    const request = { password: 'a newer password', revoke_api_keys: true }
    const again = { token: await requestToken(FORGOT, owner.email), ...request }
    expect((await post(RESET, again)).body.data.message).toBe(
      'Password changed. Every session has ended: log in with the new password. 1 API key was revoked and 1 webhook was disabled. Create new keys. Enable the webhooks that are yours.',
    )
    expect((await world().call('GET', '/api/v1/messages', { key })).status).toBe(401)
    expect(await isActive()).toBe(false)
  })

  it('200: verifies the address, and ends keys and webhooks from before', async () => {
    const stranger = await world().signup()
    const verification = await world().mailed(stranger.email, 'verify_email')
    const keys = [await world().key(stranger), await world().key(stranger, { mode: 'test' })]
    const { id } = await world().webhook(stranger)
    const token = await requestToken(FORGOT, stranger.email)
    const { status, body } = await post(RESET, { token, password: 'of the owner' })
    expect(status).toBe(200)
    expect(body.data.message).toMatch(/ 2 API keys were revoked and 1 webhook was disabled\. /)
    expect((await account(stranger)).status).toBe(401)
    for (const { key } of keys) {
      const refused = await world().call('GET', '/api/v1/messages', { key })
      expect([refused.status, refused.body]).toStrictEqual([
        401,
        refusal('unauthorized', 'API key has been deactivated'),
      ])
    }
    expect(await world().core.webhooks.get(stranger.id, id)).toMatchObject({
      is_active: false,
      status: 'disabled',
      disabled_reason: 'password_reset',
    })
    const owner = await login({ ...stranger, password: 'of the owner' })
    expect(owner.body.data.workspace.email_verified).toBe(true)
    expect((await post(VERIFY, { token: verification })).body).toStrictEqual(BAD_TOKEN)
  })

  it.each([['yes'], [1], ['true']])('400: refuses revoke_api_keys %j', async (revoke_api_keys) => {
    const { email } = await world().signup()
    const json = {
      token: await requestToken(FORGOT, email),
      password: 'a new password',
      revoke_api_keys,
    }
    expect((await post(RESET, json)).body).toStrictEqual(
      refusal('validation_error', 'revoke_api_keys must be a boolean', 'revoke_api_keys'),
    )
  })

  it('400: refuses a password that is easy to guess, and the token stays valid', async () => {
    const { email } = await world().signup()
    const token = await requestToken(FORGOT, email)
    for (const [password, message] of [
      ['Password123', 'Password is one of the most common ones: choose another'],
      [email.toUpperCase(), 'Password must not be the e-mail address or the name of the workspace'],
    ]) {
      expect((await post(RESET, { token, password })).body).toStrictEqual(
        refusal('validation_error', message ?? '', 'password'),
      )
    }
    expect((await post(RESET, { token, password: 'a new password' })).status).toBe(200)
  })

  it('400: refuses a used token, one after 30 minutes, and one before a newer one', async () => {
    const owner = await world().signup()
    const first = await requestToken(FORGOT, owner.email)
    const second = await requestToken(FORGOT, owner.email)
    const reset = (token: string) => post(RESET, { token, password: 'a new password' })
    expect((await reset(first)).body).toStrictEqual(BAD_TOKEN)
    await world().advance(30 * MINUTE_MS)
    expect((await reset(second)).body).toStrictEqual(BAD_TOKEN)
    const third = await requestToken(FORGOT, owner.email)
    await world().advance(30 * MINUTE_MS - 1)
    expect((await reset(third)).status).toBe(200)
    expect((await reset(third)).body).toStrictEqual(BAD_TOKEN)
  })

  it('400: of many concurrent requests with a token, one changes the password', async () => {
    const owner = await world().signup()
    const token = await requestToken(FORGOT, owner.email)
    const passwords = Array.from({ length: 5 }, (_, i) => `password number ${i}`)
    const answers = await Promise.all(passwords.map((password) => post(RESET, { token, password })))
    const winners = passwords.filter((_, i) => answers[i]?.status === 200)
    expect(winners).toHaveLength(1)
    expect((await login({ ...owner, password: winners[0] ?? '' })).status).toBe(200)
  })

  it.each([
    ['password', undefined, 'Missing required field: password'],
    ['password', 'short', 'Password must be at least 8 characters'],
    ['password', 'a'.repeat(257), 'Password must be at most 256 characters'],
    ['token', undefined, 'Missing required field: token'],
    ['token', NEVER_GIVEN, 'Invalid or expired token'],
  ])('400: refuses the %s %j, and does not use up the token', async (path, value, message) => {
    const { email } = await world().signup()
    const good = { token: await requestToken(FORGOT, email), password: 'a new password' }
    const { status, body } = await post(RESET, { ...good, [path]: value })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
    expect((await post(RESET, good)).status).toBe(200)
  })
})

describe('credits that wait for the verification', () => {
  const giving = useWorld({ signup_credits: '10', signup_credits_on: 'verification' })
  const postGiving = (path: string, json: object) => giving().call('POST', path, { json })
  const entries = ({ id }: Account) => giving().core.credits.entries(id, { limit: 9, offset: 0 })

  it('are added after it, once', async () => {
    const owner = await giving().signup()
    expect(await giving().balance(owner)).toBe(0)
    const token = await giving().mailed(owner.email, 'verify_email')
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => postGiving(VERIFY, { token })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const { email } = owner
    for (let i = 0; i < 2; i++) {
      await postGiving(FORGOT, { email })
      const reset = {
        token: await giving().mailed(email, 'reset_password'),
        password: 'long enough',
      }
      expect((await postGiving(RESET, reset)).status).toBe(200)
    }
    expect(await entries(owner)).toMatchObject([{ kind: 'grant', amount: 10_000_000 }])
  })

  it('are added after the reset that verifies the address, once', async () => {
    const owner = await giving().signup()
    const { email } = owner
    await postGiving(FORGOT, { email })
    const reset = { token: await giving().mailed(email, 'reset_password'), password: 'long enough' }
    expect((await postGiving(RESET, reset)).status).toBe(200)
    expect(await entries(owner)).toMatchObject([{ kind: 'grant', amount: 10_000_000 }])
  })

  it('are added at once when an operator creates the workspace', async () => {
    const request = { email: 'ops@example.com', password: 'long enough', company_name: 'Ops' }
    const made = await giving().core.workspaces.create(request)
    expect(made).toMatchObject({ email_verified: true, credits_balance: 10_000_000 })
    expect(await giving().mailed(request.email, 'verify_email')).toBeNull()
  })
})
