import { api, LIMITS } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const CONTACTS = '/api/v1/contacts'
const NOT_FOUND = refusal('not_found', 'Contact not found')
const UNREACHABLE = 'Missing required field: phone or email'
/** Ids without a contact, well formed and malformed. */
const UNKNOWN_IDS = ['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'x', '%00', 'a'.repeat(200)]

let owner: Account
beforeAll(async () => {
  owner = await world().signup()
})

const call = (method: string, path: string, json?: object, { token } = owner) =>
  world().call(method, `${CONTACTS}${path}`, { token, json })
const create = (json: object, account = owner) => call('POST', '', json, account)
const made = (json: object, account = owner) => world().contact(account, json)
const get = async (id: unknown) => expectStatus(200, await call('GET', `/${id}`)).body.data.contact
const names = async (query: string, account = owner): Promise<string[]> => {
  const { body } = expectStatus(200, await call('GET', query, undefined, account))
  return body.data.contacts.map(({ name }: { name: string }) => name)
}

describe(`POST ${CONTACTS}`, () => {
  describe('201', () => {
    it('accepts a body with a byte order mark', async () => {
      const raw = '\ufeff{"name":"Marked","phone":"+255700000077"}'
      const headers = { 'content-type': 'application/json' }
      const options = { token: owner.token, raw, headers }
      const { body } = expectStatus(201, await world().call('POST', CONTACTS, options))
      expect(body.data.contact.name).toBe('Marked')
    })

    it('returns the complete record', async () => {
      const json = {
        name: 'Żółw 🐢',
        phone: '+255700000001',
        email: 'Asha@Example.com',
        external_id: 'crm-1',
        tags: ['vip', 'vip', 'new'],
        attributes: { city: 'Dar es Salaam', n: 0.1, __proto__x: null },
        subscriptions: { email: 'unsubscribed', sms: 'subscribed' },
      }
      const { status, body } = await create(json)
      expect(status).toBe(201)
      expect(body).toStrictEqual({
        success: true,
        data: {
          contact: {
            id: expect.any(String),
            ...json,
            tags: ['vip', 'new'],
            created_at: '2026-05-04T09:00:00.000Z',
            updated_at: '2026-05-04T09:00:00.000Z',
          },
        },
      })
      expect(await get(body.data.contact.id)).toStrictEqual(body.data.contact)
    })

    it('needs only a phone number or an e-mail address', async () => {
      const { body } = await create({ email: 'bare@example.com' })
      expect(body.data.contact).toMatchObject({
        name: null,
        phone: null,
        email: 'bare@example.com',
        external_id: null,
        tags: [],
        attributes: {},
        subscriptions: {},
      })
      expect((await create({ phone: '+255700000002', email: null })).status).toBe(201)
    })

    it('keeps attributes unchanged, __proto__ included', async () => {
      const raw = '{"phone":"+255700000003","attributes":{"__proto__":{"a":1},"z":1,"a":[{}]}}'
      const { text } = await world().call('POST', CONTACTS, { token: owner.token, raw })
      expect(text).toContain('"attributes":{"__proto__":{"a":1},"z":1,"a":[{}]}')
    })

    it('is allowed for an API key that manages contacts', async () => {
      const { key } = await world().key(owner, { scopes: ['manage_contacts'] })
      const json = { phone: '+255700000004' }
      expect((await world().call('POST', CONTACTS, { key, json })).status).toBe(201)
    })

    it('allows the same person in two workspaces', async () => {
      const other = await world().signup()
      const json = { phone: '+255700000005', email: 'both@example.com', external_id: 'both' }
      expect((await create(json)).status).toBe(201)
      expect((await create(json, other)).status).toBe(201)
    })
  })

  describe('400', () => {
    const long = (n: number) => 'a'.repeat(n)
    const many = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`)
    it.each([
      [{}, UNREACHABLE, ''],
      [{ name: 'Asha' }, UNREACHABLE, ''],
      [{ phone: null, email: null }, UNREACHABLE, ''],
      [{ phone: '255700000001' }, 'Phone number must be in E.164 format', 'phone'],
      [{ phone: '+255 700' }, 'Phone number must be in E.164 format', 'phone'],
      [
        { phone: '\u202a+255700000001\u202c' },
        'Phone number must be in E.164 format, without the invisible character U+202A',
        'phone',
      ],
      [{ email: 'asha' }, 'Invalid email address format', 'email'],
      [{ email: 'Asha <asha@example.com>' }, 'Invalid email address format', 'email'],
      [{ name: '' }, 'name must not be empty', 'name'],
      [{ name: long(201) }, 'name must be at most 200 characters', 'name'],
      [{ name: 'a\nb' }, 'Text must be one line', 'name'],
      [{ name: 7 }, 'name must be a string', 'name'],
      [{ external_id: long(256) }, 'external_id must be at most 255 characters', 'external_id'],
      [{ tags: 'vip' }, 'tags must be an array', 'tags'],
      [{ tags: many(51) }, 'tags must have at most 50 items', 'tags'],
      [{ tags: [long(51)] }, 'tags.0 must be at most 50 characters', 'tags.0'],
      [{ tags: ['ok', ''] }, 'Missing required field: tags.1', 'tags.1'],
      [{ tags: ['a,b'] }, 'Tags must not contain commas or semicolons', 'tags.0'],
      [{ tags: [' a'] }, 'Tags must not begin or end with a space', 'tags.0'],
      [{ attributes: [] }, 'attributes must be an object', 'attributes'],
      [
        { attributes: Object.fromEntries(many(51).map((name) => [name, 1])) },
        'Attributes must have at most 50 keys',
        'attributes',
      ],
      [
        { attributes: { a: long(8192) } },
        'Attributes must be at most 8192 bytes of JSON, 12 levels deep',
        'attributes',
      ],
      [
        { attributes: JSON.parse(`${'{"a":'.repeat(13)}1${'}'.repeat(13)}`) },
        'Attributes must be at most 8192 bytes of JSON, 12 levels deep',
        'attributes',
      ],
      [
        { subscriptions: { sms: true } },
        'subscriptions.sms must be one of: subscribed, unsubscribed',
        'subscriptions.sms',
      ],
      [
        { subscriptions: { fax: 'subscribed' } },
        'Unknown field: subscriptions.fax',
        'subscriptions',
      ],
    ])('refuses %j', async (json, message, path) => {
      const reachable = 'phone' in json || message === UNREACHABLE ? {} : { phone: '+255799999999' }
      const answer = await create({ ...reachable, ...json })
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', message, path))
    })

    it.each([
      [
        'phone',
        '+255710000001',
        '+255710000001',
        'A contact with this phone number already exists',
      ],
      [
        'email',
        'Once@Example.com',
        'oNCE@example.COM',
        'A contact with this email address already exists',
      ],
      ['external_id', 'once', 'once', 'A contact with this external_id already exists'],
    ])('names the key that another contact has: %s', async (field, first, second, message) => {
      await made({ [field]: first })
      const answer = await create({ phone: '+255719999999', [field]: second })
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', message, field))
    })

    it('creates one of many concurrent contacts with the same number', async () => {
      const json = { phone: '+255710000009' }
      const answers = await Promise.all(Array.from({ length: 20 }, () => create(json)))
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    })
  })
})

describe(`GET ${CONTACTS}`, () => {
  let reader: Account
  const NAMES = ['Ålesund Ørsted', 'STRASSE', 'straße', 'ΟΔΟΣ', 'İstanbul', '100%', 'a_b', 'axb']
  beforeAll(async () => {
    reader = await world().signup()
    for (const [i, name] of NAMES.entries()) {
      const tags = i < 2 ? ['vip', 'Ünder'] : ['other']
      await made({ name, tags, email: `Mail${i}@Example.com`, external_id: `CRM-${i}` }, reader)
    }
  })

  it('lists newest first, in pages', async () => {
    expect(await names('', reader)).toStrictEqual(NAMES.toReversed())
    const { body } = await call('GET', '?limit=3&page=2', undefined, reader)
    expect(body.data.pagination).toStrictEqual({ total: 8, page: 2, pages: 3, limit: 3 })
    expect(body.data.contacts.map(({ name }: { name: string }) => name)).toStrictEqual(
      NAMES.toReversed().slice(3, 6),
    )
  })

  it.each([
    ['ålesund', ['Ålesund Ørsted']],
    ['ØRSTED', ['Ålesund Ørsted']],
    ['A\u030alesund', ['Ålesund Ørsted']],
    ['Straße', ['straße', 'STRASSE']],
    ['strass', ['straße', 'STRASSE']],
    ['οδος', ['ΟΔΟΣ']],
    ['οδοσ', ['ΟΔΟΣ']],
    ['%', ['100%']],
    ['_', ['a_b']],
    ['mail7@EXAMPLE', ['axb']],
    ['crm-0', ['Ålesund Ørsted']],
    ['\\', []],
    ['!', []],
  ])('finds a part of a text, in any case: %s', async (search, found) => {
    expect(await names(`?search=${encodeURIComponent(search)}`, reader)).toStrictEqual(found)
  })

  it('finds a phone number', async () => {
    const account = await world().signup()
    await made({ name: 'one', phone: '+255700000001' }, account)
    await made({ name: 'two', phone: '+15005550002' }, account)
    expect(await names('?search=%2B2557', account)).toStrictEqual(['one'])
    expect(await names('?search=0000', account)).toStrictEqual(['one'])
    // A plus that is not percent-encoded.
    expect(await names('?search=+2557', account)).toStrictEqual(['one'])
    expect(await names('?search=+2558', account)).toStrictEqual([])
  })

  it('finds exact tags, one or two', async () => {
    expect(await names('?tag=vip', reader)).toStrictEqual(['STRASSE', 'Ålesund Ørsted'])
    expect(await names(`?tag=${encodeURIComponent('Ünder')}&search=stra`, reader)).toStrictEqual([
      'STRASSE',
    ])
    expect(await names('?tag=VIP', reader)).toStrictEqual([])
  })

  it.each([
    ['limit=0', 'Limit must be between 1 and 100', 'limit'],
    ['limit=101', 'Limit must be between 1 and 100', 'limit'],
    ['page=0', 'Page must be a positive integer', 'page'],
    ['search=', 'search must not be empty', 'search'],
    ['search=a%0Ab', 'Text must be one line', 'search'],
    [`search=${'a'.repeat(256)}`, 'search must be at most 255 characters', 'search'],
    ['tag=', 'tag must not be empty', 'tag'],
  ])('returns 400 for %s', async (query, message, path) => {
    const { status, body } = await call('GET', `?${query}`)
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, path)])
  })
})

describe(`GET ${CONTACTS}/:id`, () => {
  it.each(UNKNOWN_IDS)('returns 404 for %s', async (id) => {
    const { status, body } = await call('GET', `/${id}`)
    expect([status, body]).toStrictEqual([404, NOT_FOUND])
  })
})

describe(`PUT ${CONTACTS}/:id`, () => {
  it('changes the fields in the body and keeps the others', async () => {
    const before = await made({
      name: 'Asha',
      tags: ['a'],
      attributes: { a: 1 },
      external_id: 'x1',
    })
    await world().advance(1_000)
    const { body } = await call('PUT', `/${before.id}`, { name: 'Neema' })
    const updated_at = world().now().toISOString()
    expect(body.data.contact).toStrictEqual({ ...before, name: 'Neema', updated_at })
    expect(await get(before.id)).toStrictEqual(body.data.contact)
  })

  it('clears fields with null', async () => {
    const { id } = await made({
      name: 'Asha',
      email: 'clear@example.com',
      external_id: 'x2',
      tags: ['cleared'],
      attributes: { a: 1 },
    })
    const cleared = { name: null, email: null, external_id: null, tags: null, attributes: null }
    const { body } = await call('PUT', `/${id}`, cleared)
    expect(body.data.contact).toMatchObject({ ...cleared, tags: [], attributes: {} })
    expect(await names('?tag=cleared')).toStrictEqual([])
    expect(await names('?search=clear@')).toStrictEqual([])
  })

  it('accepts the body of a GET, and ignores its read-only fields', async () => {
    const before = await made({ name: 'Asha', email: 'echo@example.com' })
    const { status, body } = await call('PUT', `/${before.id}`, {
      ...before,
      id: UNKNOWN_IDS[0],
      workspace_id: UNKNOWN_IDS[0],
      created_at: '2020-01-01T00:00:00Z',
    })
    expect(status).toBe(200)
    expect(body.data.contact).toStrictEqual({
      ...before,
      updated_at: world().now().toISOString(),
    })
  })

  it('finds the contact by its new values, and no longer by its old ones', async () => {
    const { id } = await made({ name: 'Before', tags: ['was'] })
    await call('PUT', `/${id}`, { name: 'After', tags: ['is'] })
    expect(await names('?search=before')).toStrictEqual([])
    expect(await names('?tag=was')).toStrictEqual([])
    expect(await names('?search=after&tag=is')).toStrictEqual(['After'])
  })

  it('returns 400 when the contact would have no address', async () => {
    const { id } = await made({ phone: '+255720000001' })
    const { status, body } = await call('PUT', `/${id}`, { phone: null })
    expect([status, body]).toStrictEqual([400, refusal('validation_error', UNREACHABLE, '')])
    expect(await get(id)).toMatchObject({ phone: '+255720000001' })
  })

  it("returns 400 for another contact's number, but not for its own", async () => {
    await made({ phone: '+255720000002' })
    const { id } = await made({ phone: '+255720000003' })
    const { status, body } = await call('PUT', `/${id}`, { phone: '+255720000002' })
    const message = 'A contact with this phone number already exists'
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, 'phone')])
    expect((await call('PUT', `/${id}`, { phone: '+255720000003' })).status).toBe(200)
  })

  it.each(UNKNOWN_IDS)('returns 404 for %s', async (id) => {
    const { status, body } = await call('PUT', `/${id}`, { name: 'x' })
    expect([status, body]).toStrictEqual([404, NOT_FOUND])
  })
})

describe(`DELETE ${CONTACTS}/:id`, () => {
  it('returns a message, and leaves only suppressions', async () => {
    const contact = await made({ tags: ['gone'], subscriptions: { sms: 'unsubscribed' } })
    const { status, body } = await call('DELETE', `/${contact.id}`)
    expect([status, body.data]).toStrictEqual([200, { message: 'Contact deleted' }])
    expect((await call('GET', `/${contact.id}`)).status).toBe(404)
    expect((await call('DELETE', `/${contact.id}`)).body).toStrictEqual(NOT_FOUND)
    expect(await names('?tag=gone')).toStrictEqual([])
    const again = await made({ phone: contact.phone })
    expect(again.subscriptions).toStrictEqual({ sms: 'unsubscribed' })
  })
})

describe('core.contacts.forSending', () => {
  it('returns the contacts of the workspace among the ids', async () => {
    const { id } = await made({
      name: 'Asha',
      external_id: 'for-sending',
      attributes: { city: 'Dodoma' },
    })
    const foreign = await made({}, await world().signup())
    const found = await world().core.contacts.forSending(owner.id, [id, foreign.id, 'x', id])
    const { phone } = await get(id)
    expect([...found]).toStrictEqual([
      [
        id,
        {
          id,
          name: 'Asha',
          phone,
          email: null,
          external_id: 'for-sending',
          attributes: { city: 'Dodoma' },
        },
      ],
    ])
  })
})

it('limits the size of one contact', () => {
  expect(LIMITS.contact_tags * LIMITS.contact_tag_length).toBeLessThan(LIMITS.body_bytes)
  expect(api.contacts.import.body_limit).toBe(4 * 1024 * 1024)
})
