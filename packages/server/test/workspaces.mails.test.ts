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

/** How many mails there are by now. */
async function mailCount(): Promise<number> {
  await world().core.mails.idle()
  return world().core.mails.list()[0]?.id ?? 0
}

/** Asks for a mail, and gives its token. */
async function ask(path: string, email: string): Promise<string> {
  await post(path, { email })
  const kind = path === RESEND ? 'verify_email' : 'reset_password'
  return (await world().mailed(email, kind)) ?? ''
}

describe('the mail of a signup', () => {
  it('goes to the address, and says what to do in text and in HTML', async () => {
    const { email } = await world().signup()
    const token = await world().mailed(email, 'verify_email')
    const [mail] = world().core.mails.list()
    const link = `http://127.0.0.1:3000/verify-email?token=${token}`
    expect(mail).toMatchObject({ to: email, subject: 'Verify your e-mail address', link })
    expect(mail?.text).toContain(`\n${link}\n`)
    expect(mail?.html).toContain(`<a href="${link}">`)
    expect(token).toMatch(/^[\w-]{43}$/)
  })

  it('has nothing in it that a stranger typed in', async () => {
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
  it('200: verifies the address, and says so ever after', async () => {
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

  it('400: refuses a token the second time', async () => {
    const { email } = await world().signup()
    const token = await world().mailed(email, 'verify_email')
    await post(VERIFY, { token })
    const again = await post(VERIFY, { token })
    expect([again.status, again.body]).toStrictEqual([400, BAD_TOKEN])
  })

  it('400: of many that bring a token at once, one is let in', async () => {
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
    const token = await ask(FORGOT, email)
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

  it('200: sends a new token, and ends the one before', async () => {
    const { email } = await world().signup()
    const first = await world().mailed(email, 'verify_email')
    const { status, body } = await post(RESEND, { email: email.toUpperCase() })
    expect([status, body]).toStrictEqual([200, ANSWER])
    const second = await world().mailed(email, 'verify_email')
    expect(second).not.toBe(first)
    expect((await post(VERIFY, { token: first })).body).toStrictEqual(BAD_TOKEN)
    expect((await post(VERIFY, { token: second })).status).toBe(200)
  })

  it('200: says the same of an unknown address and of one that is verified, and sends nothing', async () => {
    const { email } = await world().signup()
    await post(VERIFY, { token: await world().mailed(email, 'verify_email') })
    const before = await mailCount()
    for (const address of [email, 'nobody@example.com']) {
      const { status, body } = await post(RESEND, { email: address })
      expect([status, body]).toStrictEqual([200, ANSWER])
    }
    expect(await mailCount()).toBe(before)
  })

  it('400: asks for an address', async () => {
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

  it('200: sends a link to a known address, whatever its case', async () => {
    const { email } = await world().signup()
    const { status, body } = await post(FORGOT, { email: email.toUpperCase() })
    expect([status, body]).toStrictEqual([200, ANSWER])
    const token = await world().mailed(email, 'reset_password')
    const link = `http://127.0.0.1:3000/reset-password?token=${token}`
    const [mail] = world().core.mails.list()
    expect(mail).toMatchObject({ to: email, subject: 'Reset your password', link })
  })

  it('200: says the same of an unknown address, and sends nothing', async () => {
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
  it('200: changes the password, and ends every session that was', async () => {
    const owner = await world().signup()
    const { token: other } = (await login(owner)).body.data
    const token = await ask(FORGOT, owner.email)
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

  it('200: leaves API keys alone', async () => {
    const owner = await world().signup()
    const { key } = await world().key(owner)
    const token = await ask(FORGOT, owner.email)
    await post(RESET, { token, password: 'a new password' })
    expect((await world().call('GET', '/api/v1/messages', { key })).status).toBe(200)
  })

  it('400: refuses a token the second time, after 30 minutes, and once a newer one was sent', async () => {
    const owner = await world().signup()
    const first = await ask(FORGOT, owner.email)
    const second = await ask(FORGOT, owner.email)
    const reset = (token: string) => post(RESET, { token, password: 'a new password' })
    expect((await reset(first)).body).toStrictEqual(BAD_TOKEN)
    await world().advance(30 * MINUTE_MS)
    expect((await reset(second)).body).toStrictEqual(BAD_TOKEN)
    const third = await ask(FORGOT, owner.email)
    await world().advance(30 * MINUTE_MS - 1)
    expect((await reset(third)).status).toBe(200)
    expect((await reset(third)).body).toStrictEqual(BAD_TOKEN)
  })

  it('400: of many that bring a token at once, one changes the password', async () => {
    const owner = await world().signup()
    const token = await ask(FORGOT, owner.email)
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
  ])('400: refuses the %s %j, and uses no token up', async (path, value, message) => {
    const { email } = await world().signup()
    const good = { token: await ask(FORGOT, email), password: 'a new password' }
    const { status, body } = await post(RESET, { ...good, [path]: value })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
    expect((await post(RESET, good)).status).toBe(200)
  })
})
