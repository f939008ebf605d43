import { describe, expect, test } from 'vitest'
import { decode } from '../endpoints/decode.ts'
import { units } from '../fields/units.ts'
import { type Workspace, workspaces } from './workspaces.ts'

const signup = { email: 'Asha@example.com', password: 'long enough', company_name: 'Example' }
const row = {
  id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d00',
  name: 'Example',
  email: 'Asha@example.com',
  email_verified: false,
  credits_balance: units(99_900_000),
  phone: null,
  country: 'TZ',
  sender_name: null,
  credits_held: units(0),
  low_balance: null,
  verification_daily_credits: null,
  verification_countries: null,
  quiet_hours: null,
  time_zone: null,
  postal_address: null,
  sms_opt_out_text: null,
  webhook_mails: true,
  created_at: new Date('2026-05-04T09:30:00.000Z'),
  updated_at: new Date('2026-05-04T09:30:00.000Z'),
} satisfies Workspace
const stored = { ...row, password_hash: 'secret', token_version: 1, email_key: 'asha@example.com' }

describe('signup', () => {
  test.each([
    [{}],
    [{ phone: '+14155552671', country: 'TZ' }],
    [{ password: '12345678' }],
    [{ password: 'x'.repeat(256) }],
  ])('takes %j', (more) => {
    expect(decode(workspaces.signup.body, { ...signup, ...more })).toEqual({ ...signup, ...more })
  })

  test.each([
    [{ email: 'a@b' }, 'Invalid email address format'],
    [{ email: undefined }, 'Missing required field: email'],
    [{ password: '1234567' }, 'Password must be at least 8 characters'],
    [{ password: 'x'.repeat(257) }, 'Password must be at most 256 characters'],
    [{ password: 12345678 }, 'password must be a string'],
    [{ company_name: 'x'.repeat(201) }, 'company_name must be at most 200 characters'],
    [{ phone: '4155552671' }, 'Phone number must be in E.164 format'],
    [{ country: '' }, 'country must not be empty'],
    [{ country: 'x'.repeat(65) }, 'country must be at most 64 characters'],
  ])('refuses %j', (more, message) => {
    expect(() => decode(workspaces.signup.body, { ...signup, ...more })).toThrow(message)
  })

  test('returns five fields of the workspace', () => {
    const { workspace } = workspaces.signup.data.encode({ workspace: stored, message: 'Sent.' })
    expect(workspace).toEqual({
      id: row.id,
      name: 'Example',
      email: 'Asha@example.com',
      email_verified: false,
      credits_balance: 99.9,
    })
  })
})

describe('login', () => {
  test('does not distinguish a short password from a wrong one', () => {
    const body = { email: 'a@b.co', password: 'x' }
    expect(decode(workspaces.login.body, body)).toEqual(body)
  })
})

describe('account', () => {
  test('is flat and has no hash', () => {
    const wire = workspaces.account.data.encode(stored)
    expect(Object.keys(wire).sort()).toEqual(Object.keys(row).sort())
    expect(workspaces.account.data.decode(wire)).toEqual(row)
  })
})
