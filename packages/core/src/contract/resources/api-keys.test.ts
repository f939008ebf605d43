import { describe, expect, test } from 'vitest'
import { decode } from '../endpoints/decode.ts'
import { SCOPES } from '../endpoints/endpoint.ts'
import { units } from '../fields/units.ts'
import { apiKeys, DEFAULT_SCOPES } from './api-keys.ts'

const row = {
  id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d05',
  name: 'Production',
  key_prefix: 'svc_9fQ2xLmK...',
  scopes: ['send_messages' as const],
  is_active: true,
  last_used_at: null,
  created_at: new Date('2026-05-04T09:30:00.000Z'),
  mode: 'live' as const,
  expires_at: null,
  allowed_ips: null,
  daily_credit_limit: units(5_000_000),
  signs: false,
}

describe('creation', () => {
  test('has the mode live by default; the scopes follow from the mode', () => {
    expect(decode(apiKeys.create.body, { name: 'x' })).toEqual({ name: 'x', mode: 'live' })
    expect(DEFAULT_SCOPES).toEqual({
      live: [...SCOPES],
      test: ['send_messages', 'read_messages'],
    })
  })

  test('accepts every restriction', () => {
    const body = {
      name: 'x',
      scopes: ['read_messages'],
      mode: 'test',
      expires_at: '2027-01-01T00:00:00Z',
      allowed_ips: ['192.0.2.0/24', '198.51.100.7', '2001:db8::/32', '::1', '0.0.0.0/0'],
      daily_credit_limit: 2.5,
    }
    expect(decode(apiKeys.create.body, body)).toEqual({
      ...body,
      expires_at: new Date('2027-01-01T00:00:00.000Z'),
      daily_credit_limit: 2_500_000,
    })
  })

  test.each([
    [{ name: '' }, 'Missing required field: name'],
    [{ name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
    [{ scopes: [] }, 'scopes must have at least 1 item'],
    [{ scopes: ['send_messages', 'admin'] }, 'scopes.1 must be one of: send_messages'],
    [{ scopes: 'send_messages' }, 'scopes must be an array'],
    [{ scopes: null }, 'scopes must be an array'],
    [{ mode: 'prod' }, 'mode must be one of: live, test'],
    [{ expires_at: '2026-02-30' }, 'Invalid date format. Use ISO 8601 format.'],
    [{ allowed_ips: [] }, 'allowed_ips must have at least 1 item'],
    [{ daily_credit_limit: 0 }, 'daily_credit_limit must be above 0'],
    [{ daily_credit_limit: '5' }, 'daily_credit_limit must be a number'],
  ])('refuses %j', (more, message) => {
    expect(() => decode(apiKeys.create.body, { name: 'x', ...more })).toThrow(message)
  })

  test.each([
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '10.0.0.0/',
    'example.com',
  ])('refuses the network %j', (network) => {
    expect(() => decode(apiKeys.create.body, { name: 'x', allowed_ips: [network] })).toThrow(
      /allowed_ips/,
    )
  })

  test('answers with a flat record and the key', () => {
    const wire = apiKeys.create.data.encode({ ...row, key: 'svc_secret', warning: 'Shown once.' })
    expect(wire).toMatchObject({ id: row.id, key: 'svc_secret', daily_credit_limit: 5 })
    expect(wire).not.toHaveProperty('is_active')
  })
})

test('a list has neither keys nor hashes', () => {
  const pagination = { total: 1, page: 1, pages: 1, limit: 50 }
  const stored = { ...row, key: 'svc_secret', key_hash: 'hash', workspace_id: 'w' }
  const wire = apiKeys.list.data.encode({ api_keys: [stored], pagination, next_after: null })
  expect(Object.keys(wire.api_keys[0] ?? {}).sort()).toEqual(Object.keys(row).sort())
})
