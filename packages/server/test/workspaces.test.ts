import { describe, expect, it } from 'vitest'
import { useRealHashes, verifiedCosts } from '../../core/test/cheap-hashes.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

// One test compares the cost of two logins.
useRealHashes()

const world = useWorld({ signup_credits: '12.5' })

const SIGNUP = '/api/v1/auth/signup'
const LOGIN = '/api/v1/auth/login'
const ACCOUNT = '/api/v1/account'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let count = 0
const request = (fields: object = {}) => ({
  email: `Asha.${++count}@Example.com`,
  password: 'correct horse',
  company_name: 'Example Ltd',
  ...fields,
})
const signup = (json: object) => world().call('POST', SIGNUP, { json })
const login = (json: object) => world().call('POST', LOGIN, { json })

describe(`POST ${SIGNUP}`, () => {
  describe('201', () => {
    it('creates a workspace with an unverified e-mail address', async () => {
      const json = request()
      const { status, body } = await signup(json)
      expect(status).toBe(201)
      expect(body).toStrictEqual({
        success: true,
        data: {
          workspace: {
            id: expect.stringMatching(UUID),
            name: 'Example Ltd',
            email: json.email,
            email_verified: false,
            credits_balance: 12.5,
          },
          message: 'Verification e-mail sent. You can log in before the address is verified.',
        },
      })
    })

    it('accepts passwords of 8 and of 256 characters', async () => {
      expect((await signup(request({ password: 'a'.repeat(8) }))).status).toBe(201)
      expect((await signup(request({ password: 'é'.repeat(256) }))).status).toBe(201)
    })

    it('ignores unknown fields', async () => {
      const { status } = await signup(request({ newsletter: true, credits_balance: 1_000_000 }))
      expect(status).toBe(201)
    })
  })

  describe('400', () => {
    it.each([
      ['password123', 'Password is one of the most common ones: choose another'],
      ['ｐａｓｓｗｏｒｄ１２３', 'Password is one of the most common ones: choose another'],
      ['QWERTYUIOP', 'Password is one of the most common ones: choose another'],
      ['own@example.com', 'Password must not be the e-mail address or the name of the workspace'],
      ['EXAMPLE ltd', 'Password must not be the e-mail address or the name of the workspace'],
    ])('refuses the password %j, which is easy to guess', async (password, message) => {
      const { status, body } = await signup(request({ email: 'Own@example.com', password }))
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', message, 'password'))
    })

    it.each(['correct horse battery', 'password123!', 'Str0ngPass!23', 'a'.repeat(8)])(
      'accepts %j, which is not in the list',
      async (password) => {
        expect((await signup(request({ password }))).status).toBe(201)
      },
    )

    it.each([
      ['email', undefined, 'Missing required field: email'],
      ['email', '', 'Missing required field: email'],
      ['email', 'asha', 'Invalid email address format'],
      ['email', 'asha@example', 'Invalid email address format'],
      ['email', 'Asha <asha@example.com>', 'Invalid email address format'],
      ['email', 'a@example.com, b@example.com', 'Invalid email address format'],
      ['email', 7, 'email must be a string'],
      ['password', undefined, 'Missing required field: password'],
      ['password', '', 'Missing required field: password'],
      ['password', 'a'.repeat(7), 'Password must be at least 8 characters'],
      ['password', 'a'.repeat(257), 'Password must be at most 256 characters'],
      ['password', ['a'], 'password must be a string'],
      ['company_name', undefined, 'Missing required field: company_name'],
      ['company_name', '', 'Missing required field: company_name'],
      ['company_name', 'a'.repeat(201), 'company_name must be at most 200 characters'],
      ['phone', '0123', 'Phone number must be in E.164 format'],
      ['phone', '', 'Phone number must be in E.164 format'],
      ['phone', '+1 415 555 2671', 'Phone number must be in E.164 format'],
      ['country', '', 'country must not be empty'],
      ['country', 'a'.repeat(65), 'country must be at most 64 characters'],
      ['country', null, 'country must be a string'],
    ])('refuses %s %j', async (path, value, message) => {
      const answer = await signup(request({ [path]: value }))
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', message, path))
    })

    it('refuses an e-mail address in use, in any case, and creates no workspace', async () => {
      const json = request()
      await signup(json)
      const before = (await world().core.workspaces.list({ limit: 1000, offset: 0 })).length
      const again = await signup({ ...json, email: json.email.toUpperCase() })
      expect(again.status).toBe(400)
      expect(again.body).toStrictEqual(refusal('validation_error', 'Email already exists', 'email'))
      expect((await world().core.workspaces.list({ limit: 1000, offset: 0 })).length).toBe(before)
    })

    it('lists every fault; the message is the first one', async () => {
      const { body } = await signup({ email: 'x', password: 'short' })
      expect(body).toStrictEqual({
        success: false,
        error: 'validation_error',
        message: 'Invalid email address format',
        details: [
          { path: 'email', message: 'Invalid email address format' },
          { path: 'password', message: 'Password must be at least 8 characters' },
          { path: 'company_name', message: 'Missing required field: company_name' },
        ],
      })
    })
  })
})

describe(`POST ${LOGIN}`, () => {
  describe('200', () => {
    it('returns a token for 30 days, for an address in any case, before it is verified', async () => {
      const json = request()
      const made = await signup(json)
      const { status, body } = await login({
        email: json.email.toLowerCase(),
        password: json.password,
      })
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        success: true,
        data: { workspace: made.body.data.workspace, token: expect.any(String) },
      })
      const [header, claims] = body.data.token
        .split('.')
        .slice(0, 2)
        .map((part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()))
      expect(header).toStrictEqual({ alg: 'HS256', typ: 'JWT' })
      expect(claims).toStrictEqual({
        sub: made.body.data.workspace.id,
        tv: 1,
        iat: expect.any(Number),
        exp: claims.iat + 30 * 24 * 60 * 60,
        jti: expect.stringMatching(/^[\w-]{22}$/),
      })
    })
  })

  describe('400', () => {
    it.each([
      ['email', undefined, 'Missing required field: email'],
      ['email', 'asha', 'Invalid email address format'],
      ['password', undefined, 'Missing required field: password'],
      ['password', '', 'Missing required field: password'],
      ['password', 12345678, 'password must be a string'],
      ['password', 'a'.repeat(257), 'password must be at most 256 characters'],
    ])('refuses %s %j', async (path, value, message) => {
      const answer = await login({
        email: 'a@example.com',
        password: 'correct horse',
        [path]: value,
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', message, path))
    })
  })

  describe('401', () => {
    const WRONG = {
      success: false,
      error: 'unauthorized',
      message: 'Invalid email or password',
    }

    it('gives the same answer for a wrong password and an unknown address', async () => {
      const json = request()
      await signup(json)
      const wrong = await login({ email: json.email, password: 'incorrect horse' })
      const unknown = await login({ email: 'nobody@example.com', password: json.password })
      expect([wrong.status, wrong.body]).toStrictEqual([401, WRONG])
      expect([unknown.status, unknown.body]).toStrictEqual([401, WRONG])
    })

    it('compares one hash of the same cost for an unknown address and for a wrong password', async () => {
      const json = request()
      await signup(json)
      const costsOf = async (email: string) => {
        const before = verifiedCosts().length
        await login({ email, password: 'incorrect horse' })
        return verifiedCosts().slice(before)
      }
      // A hash takes tens of milliseconds, all other work one or two.
      expect(await costsOf(json.email)).toEqual(['m=19456,t=2,p=1'])
      expect(await costsOf('unknown.else@example.com')).toEqual(['m=19456,t=2,p=1'])
    })
  })
})

describe(`GET ${ACCOUNT}`, () => {
  describe('200', () => {
    it('returns the workspace of the token, without nesting', async () => {
      const json = request({ phone: '+255700000001', country: 'TZ' })
      const made = await signup(json)
      const { token } = (await login({ email: json.email, password: json.password })).body.data
      const { status, body } = await world().call('GET', ACCOUNT, { token })
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        success: true,
        data: {
          id: made.body.data.workspace.id,
          name: 'Example Ltd',
          email: json.email,
          email_verified: false,
          credits_balance: 12.5,
          phone: '+255700000001',
          country: 'TZ',
          sender_name: null,
          credits_held: 0,
          low_balance: null,
          verification_daily_credits: null,
          verification_countries: null,
          quiet_hours: null,
          time_zone: null,
          postal_address: null,
          sms_opt_out_text: null,
          webhook_mails: true,
          created_at: '2026-05-04T09:00:00.000Z',
          updated_at: '2026-05-04T09:00:00.000Z',
        },
      })
    })

    it('has null for fields that were missing at signup', async () => {
      const { token } = await world().signup()
      const { body } = await world().call('GET', ACCOUNT, { token })
      expect(body.data).toMatchObject({ phone: null, country: null })
    })
  })

  describe('401', () => {
    it('requires a token', async () => {
      const { status, body } = await world().call('GET', ACCOUNT)
      expect(status).toBe(401)
      expect(body).toStrictEqual(refusal('unauthorized', 'Missing Authorization header'))
    })
  })
})
