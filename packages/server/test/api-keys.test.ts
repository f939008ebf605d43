import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const KEYS = '/api/v1/api-keys'
const ALL_SCOPES = ['send_messages', 'read_messages', 'manage_contacts', 'manage_webhooks']

let owner: Account
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
})

const create = (json: object, { token } = owner) => world().call('POST', KEYS, { token, json })
const list = (query = '', { token } = owner) => world().call('GET', `${KEYS}${query}`, { token })
const deactivate = (id: string, { token } = owner) =>
  world().call('DELETE', `${KEYS}/${id}`, { token })

describe(`POST ${KEYS}`, () => {
  describe('201', () => {
    it('shows the complete key once, with every scope by default', async () => {
      const { status, body } = await create({ name: 'Production' })
      expect(status).toBe(201)
      expect(body).toStrictEqual({
        success: true,
        data: {
          id: expect.any(String),
          name: 'Production',
          key_prefix: `${body.data.key.slice(0, 12)}...`,
          scopes: ALL_SCOPES,
          created_at: '2026-05-04T09:00:00.000Z',
          mode: 'live',
          expires_at: null,
          allowed_ips: null,
          daily_credit_limit: null,
          signs: false,
          key: expect.stringMatching(/^svc_[0-9A-Za-z]{38}$/),
          warning:
            'Store this key now: it is shown only once and cannot be recovered. The e-mail address of this workspace is not verified: this key is revoked when it is. Verify it first for a key that lasts.',
        },
      })
    })

    it('warns only of that after the address is verified', async () => {
      const verified = await world().signup()
      await world().verify(verified)
      const { body } = await create({ name: 'Production' }, verified)
      expect(body.data.warning).toBe(
        'Store this key now: it is shown only once and cannot be recovered.',
      )
    })

    it('accepts every restriction of a key', async () => {
      const limits = {
        scopes: ['read_messages'],
        mode: 'test',
        allowed_ips: ['192.0.2.0/24', '2001:db8::1'],
        daily_credit_limit: 0.5,
      }
      const { body } = await create({
        name: 'Limited',
        ...limits,
        expires_at: '2026-06-01T00:00:00+02:00',
      })
      expect(body.data).toMatchObject({ ...limits, expires_at: '2026-05-31T22:00:00.000Z' })
      expect(body.data.key).toMatch(/^svc_test_[0-9A-Za-z]{38}$/)
    })

    it.each(['live', 'test'])(
      'ends a %s key with the CRC-32 of the text before it',
      async (mode) => {
        const { body } = await create({ name: 'Checked', mode })
        const { key } = body.data
        const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
        const sum = [...key.slice(-6)].reduce((n, digit) => n * 62 + alphabet.indexOf(digit), 0)
        expect(sum).toBe(crc32(key.slice(0, -6)))
      },
    )

    it('keeps a repeated scope once', async () => {
      const { body } = await create({ name: 'Twice', scopes: ['read_messages', 'read_messages'] })
      expect(body.data.scopes).toStrictEqual(['read_messages'])
    })
  })

  describe('400', () => {
    it.each([
      ['name', undefined, 'Missing required field: name', 'name'],
      ['name', '', 'Missing required field: name', 'name'],
      ['name', 'a'.repeat(101), 'name must be at most 100 characters', 'name'],
      ['name', {}, 'name must be a string', 'name'],
      ['scopes', 'send_messages', 'scopes must be an array', 'scopes'],
      ['scopes', [], 'scopes must have at least 1 item', 'scopes'],
      ['scopes', ['admin'], `scopes.0 must be one of: ${ALL_SCOPES.join(', ')}`, 'scopes.0'],
      ['scopes', Array(5).fill('send_messages'), 'scopes must have at most 4 items', 'scopes'],
      ['mode', 'sandbox', 'mode must be one of: live, test', 'mode'],
      ['expires_at', 'tomorrow', 'Invalid date format. Use ISO 8601 format.', 'expires_at'],
      ['expires_at', '2026-02-30', 'Invalid date format. Use ISO 8601 format.', 'expires_at'],
      ['expires_at', '2026-05-04T09:00:00Z', 'expires_at must be in the future', 'expires_at'],
      ['expires_at', '2020-01-01', 'expires_at must be in the future', 'expires_at'],
      [
        'allowed_ips',
        ['10.0.0.0/33'],
        'allowed_ips must hold IP addresses or CIDR networks',
        'allowed_ips.0',
      ],
      [
        'allowed_ips',
        ['localhost'],
        'allowed_ips must hold IP addresses or CIDR networks',
        'allowed_ips.0',
      ],
      ['allowed_ips', [], 'allowed_ips must have at least 1 item', 'allowed_ips'],
      ['daily_credit_limit', 0, 'daily_credit_limit must be above 0', 'daily_credit_limit'],
      ['daily_credit_limit', '5', 'daily_credit_limit must be a number', 'daily_credit_limit'],
      [
        'daily_credit_limit',
        0.0000001,
        'Credits must have at most six decimals and be below 1000000000',
        'daily_credit_limit',
      ],
    ])('refuses %s %j', async (field, value, message, path) => {
      const answer = await create({ name: 'Key', [field]: value })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ error: 'validation_error', message })
      expect(answer.body.details[0]).toStrictEqual({ path, message })
    })
  })

  describe('401', () => {
    it('requires a session, not an API key', async () => {
      const { key } = await world().key(owner)
      const { status, body } = await world().call('POST', KEYS, { key, json: { name: 'Child' } })
      expect(status).toBe(401)
      expect(body).toStrictEqual(refusal('unauthorized', 'Missing Authorization header'))
    })
  })
})

describe(`GET ${KEYS}`, () => {
  describe('200', () => {
    it('lists records without their keys, newest first', async () => {
      const account = await world().signup()
      const first = await create({ name: 'First' }, account)
      const second = await create({ name: 'Second', scopes: ['read_messages'] }, account)
      const { key: _, warning: __, ...record } = second.body.data
      const { status, body, text } = await list('', account)
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        success: true,
        data: {
          api_keys: [
            { ...record, is_active: true, last_used_at: null },
            expect.objectContaining({ id: first.body.data.id, name: 'First' }),
          ],
          pagination: { total: 2, page: 1, pages: 1, limit: 50 },
          next_after: null,
        },
      })
      expect(text).not.toContain(first.body.data.key)
      expect(text).not.toContain('hash')
    })

    it('is empty in a new workspace', async () => {
      const { body } = await list('', await world().signup())
      expect(body.data).toStrictEqual({
        api_keys: [],
        pagination: { total: 0, page: 1, pages: 0, limit: 50 },
        next_after: null,
      })
    })

    it('returns pages', async () => {
      const account = await world().signup()
      for (const name of ['a', 'b', 'c']) await world().key(account, { name })
      const names = async (query: string) => {
        const { api_keys, pagination } = (await list(query, account)).body.data
        return [api_keys.map(({ name }: { name: string }) => name), pagination]
      }
      expect(await names('?limit=2')).toStrictEqual([
        ['c', 'b'],
        { total: 3, page: 1, pages: 2, limit: 2 },
      ])
      expect(await names('?limit=2&page=2')).toStrictEqual([
        ['a'],
        { total: 3, page: 2, pages: 2, limit: 2 },
      ])
      expect(await names('?page=999999999999&limit=100')).toStrictEqual([
        [],
        { total: 3, page: 999999999999, pages: 1, limit: 100 },
      ])
    })

    it('shows the time of the last use, and null before', async () => {
      const account = await world().signup()
      const { key } = await world().key(account)
      await world().call('GET', '/api/v1/messages', { key })
      await world().core.apiKeys.flush()
      const { body } = await list('', account)
      expect(body.data.api_keys[0].last_used_at).toBe('2026-05-04T09:00:00.000Z')
    })
  })

  describe('400', () => {
    it.each([
      ['limit=0', 'limit', 'Limit must be between 1 and 100'],
      ['limit=101', 'limit', 'Limit must be between 1 and 100'],
      ['limit=-1', 'limit', 'Limit must be between 1 and 100'],
      ['limit=1.5', 'limit', 'Limit must be between 1 and 100'],
      ['limit=ten', 'limit', 'Limit must be between 1 and 100'],
      ['limit=', 'limit', 'Limit must be between 1 and 100'],
      ['limit=1&limit=1', 'limit', 'Limit must be between 1 and 100'],
      ['page=0', 'page', 'Page must be a positive integer'],
      ['page=-1', 'page', 'Page must be a positive integer'],
      ['page=1e3', 'page', 'Page must be a positive integer'],
      ['page=9999999999999', 'page', 'Page must be a positive integer'],
    ])('refuses %s', async (query, path, message) => {
      const { status, body } = await list(`?${query}`)
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', message, path))
    })
  })
})

describe(`DELETE ${KEYS}/:id`, () => {
  describe('200', () => {
    it('deactivates a key at once and permanently, and keeps it in the list', async () => {
      const account = await world().signup({ credits: 5 })
      const { id, key } = await world().key(account)
      expect((await world().send(key)).status).toBe(201)
      const { status, body } = await deactivate(id, account)
      expect(status).toBe(200)
      expect(body).toStrictEqual({ success: true, data: { message: 'API key deactivated' } })
      const after = await world().send(key)
      expect(after.status).toBe(401)
      expect(after.body).toStrictEqual(refusal('unauthorized', 'API key has been deactivated'))
      const listed = await list('', account)
      expect(listed.body.data.api_keys).toMatchObject([{ id, is_active: false }])
    })

    it('may be repeated', async () => {
      const { id } = await world().key(owner)
      await deactivate(id)
      expect((await deactivate(id)).status).toBe(200)
    })
  })

  describe('404', () => {
    it.each(['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'x', '%00', '1'.repeat(200), "'--"])(
      'returns not_found for id %s',
      async (id) => {
        const { status, body } = await deactivate(id)
        expect(status).toBe(404)
        expect(body).toStrictEqual(refusal('not_found', 'API key not found'))
      },
    )
  })
})
