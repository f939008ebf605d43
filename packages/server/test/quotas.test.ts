import { beforeEach, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({
  quotas: {
    api_keys: 3,
    webhooks: 4,
    webhooks_per_host: 2,
    contacts: 4,
    test_messages_per_day: 5,
    test_bytes_per_day: 1_000,
  },
})

const DAY_S = 86_400
const REQUESTS_AT_ONCE = 12

let owner: Account
beforeEach(async () => {
  owner = await world().signup({ credits: 100 })
})

const manage = (method: string, path: string, json?: object) =>
  world().call(method, `/api/v1/${path}`, { token: owner.token, json })

describe('API keys of a workspace', () => {
  const create = (json: object = {}) => manage('POST', 'api-keys', { name: 'A', ...json })

  it('have a maximum, and the error names the remedy', async () => {
    const [first] = [await create(), await create(), await create()]
    const refused = await create()
    expect(refused.status).toBe(400)
    const text =
      'A workspace may have at most 3 active API keys. Deactivate one that is not used any more: DELETE /api/v1/api-keys/:id'
    expect(refused.body).toStrictEqual(refusal('validation_error', text, ''))
    await manage('DELETE', `api-keys/${first?.body.data.id}`)
    expect((await create()).status).toBe(201)
    const other = await world().signup()
    expect((await world().key(other)).key).toMatch(/^svc_/)
  })

  it('do not count after they expire', async () => {
    const expires_at = new Date(world().now().getTime() + 60_000).toISOString()
    for (let i = 0; i < 3; i++) expect((await create({ expires_at })).status).toBe(201)
    expect((await create()).status).toBe(400)
    await world().advance(60_000)
    expect((await create()).status).toBe(201)
  })

  it('do not exceed the maximum when many are created concurrently', async () => {
    const made = await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, () => create()))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(3)
  })
})

describe('webhooks of a workspace', () => {
  const create = (url: string) => manage('POST', 'webhooks', { url })
  const PER_HOST =
    'At most 2 webhooks of a workspace may go to one host, and 2 go to a.example:443 already. Delete one of them (DELETE /api/v1/webhooks/:id), or let one take several kinds of events.'

  it('have a maximum', async () => {
    for (const host of ['a', 'b', 'c', 'd']) {
      expect((await create(`https://${host}.example/`)).status).toBe(201)
    }
    const refused = await create('https://e.example/')
    const text =
      'A workspace may have at most 4 webhooks. Delete one that is not used any more: DELETE /api/v1/webhooks/:id'
    expect(refused.status).toBe(400)
    expect(refused.body).toStrictEqual(refusal('validation_error', text, ''))
  })

  it.each([
    ['the same', 'https://a.example/other'],
    ['another case', 'https://A.Example/other'],
    ['the port named', 'https://a.example:443/other'],
    ['a final dot', 'https://a.example./other'],
    ['http on that port', 'http://a.example:443/other'],
  ])('have a maximum for one host: %s', async (_, url) => {
    for (const path of ['1', '2']) await create(`https://a.example/${path}`)
    const refused = await create(url)
    expect(refused.status).toBe(400)
    expect(refused.body).toStrictEqual(refusal('validation_error', PER_HOST, 'url'))
    for (const other of ['https://a.example:8443/', 'http://a.example/']) {
      expect((await create(other)).status).toBe(201)
    }
  })

  it('cannot move to a host that has its maximum, but can change on the same host', async () => {
    const { body } = await create('https://a.example/1')
    await create('https://a.example/2')
    const { id } = (await create('https://b.example/1')).body.data.webhook
    const moved = await manage('PUT', `webhooks/${id}`, { url: 'https://a.example/3' })
    expect(moved.status).toBe(400)
    expect(moved.body.message).toBe(PER_HOST)
    expect((await world().core.webhooks.get(owner.id, id)).url).toBe('https://b.example/1')
    const first = body.data.webhook.id
    const stays = await manage('PUT', `webhooks/${first}`, { url: 'https://a.example/4' })
    expect(stays.status).toBe(200)
    await manage('PUT', `webhooks/${first}`, { url: 'https://c.example/' })
    const again = await manage('PUT', `webhooks/${id}`, { url: 'https://a.example/3' })
    expect(again.status).toBe(200)
  })

  it('do not exceed the maximum when many are added or moved concurrently', async () => {
    const made = await Promise.all(
      Array.from({ length: REQUESTS_AT_ONCE }, (_, i) => create(`https://a.example/${i}`)),
    )
    expect(made.filter(({ status }) => status === 201)).toHaveLength(2)
    const others = await Promise.all([create('https://b.example/'), create('https://c.example/')])
    const removed = made.find(({ status }) => status === 201)?.body.data.webhook.id
    await manage('DELETE', `webhooks/${removed}`)
    const moved = await Promise.all(
      others.map(({ body }) =>
        manage('PUT', `webhooks/${body.data.webhook.id}`, { url: 'https://a.example/x' }),
      ),
    )
    expect(moved.map(({ status }) => status).sort()).toEqual([200, 400])
  })
})

describe('contacts of a workspace', () => {
  const phones = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ phone: `+25570000${1000 + from + i}` }))
  const add = (contacts: object[]) => manage('POST', 'contacts/import', { contacts })

  it('have a maximum for single creates and imports, also concurrently', async () => {
    const imports = await Promise.all([add(phones(0, 3)), add(phones(10, 3))])
    const reports = imports.map(({ body }) => body.data)
    expect(reports.map(({ created, rejected }) => created + rejected)).toEqual([3, 3])
    expect(reports[0].created + reports[1].created).toBe(4)
    const { errors } = reports.find(({ rejected }) => rejected > 0)
    expect(errors[0]).toEqual({
      index: expect.any(Number),
      path: '',
      message:
        'A workspace may have at most 4 contacts. Delete some that are not used any more: DELETE /api/v1/contacts/:id',
    })
    const refused = await manage('POST', 'contacts', { phone: '+255700009999' })
    expect([refused.status, refused.body.message]).toEqual([400, errors[0].message])
    const changed = await add([{ ...phones(0, 1)[0], name: 'Asha' }])
    expect(changed.body.data).toMatchObject({ updated: 1, rejected: 0 })
    const { body } = await manage('GET', 'contacts')
    expect((await manage('DELETE', `contacts/${body.data.contacts[0].id}`)).status).toBe(200)
    expect((await manage('POST', 'contacts', { phone: '+255700009999' })).status).toBe(201)
  })
})

describe('the messages of test keys', () => {
  const send = (key: string, json: object = sms) =>
    world().call('POST', '/api/v1/messages/send', { key, json })
  const bulk = (key: string, count: number, text = 'Hello', path = 'bulk') =>
    world().call('POST', `/api/v1/messages/${path}`, {
      key,
      json: {
        channel: 'sms',
        content: { text },
        recipients: Array.from({ length: count }, (_, i) => `+25570000000${i}`),
      },
    })
  const testKey = async () => (await world().key(owner, { mode: 'test' })).key
  const secondsLeft = () => DAY_S - ((world().now().getTime() / 1000) % DAY_S)

  it('have a daily maximum for all keys together, which does not limit live keys', async () => {
    const [key, sibling] = [await testKey(), await testKey()]
    const { key: live } = await world().key(owner)
    expect((await bulk(key, 3)).status).toBe(201)
    expect((await send(sibling)).status).toBe(201)
    // All or none.
    const refused = await bulk(key, 2)
    const seconds = secondsLeft()
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe(String(seconds))
    expect(refused.body).toStrictEqual(
      refusal(
        'rate_limit_exceeded',
        `Rate limit exceeded. Try again in ${seconds} seconds. The test keys of a workspace may send 5 messages a day (UTC): 4 are used, and this request needs 2.`,
      ),
    )
    expect((await bulk(key, 2, 'Hello', 'estimate')).body.data).toMatchObject({
      can_send: false,
      block_reason: 'daily_limit',
    })
    expect((await bulk(key, 1, 'Hello', 'estimate')).body.data).toMatchObject({ can_send: true })
    expect((await send(sibling)).status).toBe(201)
    expect((await send(key)).status).toBe(429)
    expect((await bulk(live, 6)).status).toBe(201)
    expect(await world().written(owner)).toMatchObject({ messages: 11 })
    await world().advance(seconds * 1_000)
    expect((await send(key)).status).toBe(201)
  })

  it('have a daily maximum of stored bytes, metadata included', async () => {
    const key = await testKey()
    const metadata = { note: 'x'.repeat(500) }
    expect((await send(key, { ...sms, metadata })).status).toBe(201)
    const refused = await send(key, { ...sms, metadata })
    expect(refused.status).toBe(429)
    expect(refused.body.message).toMatch(/may come to 1000 bytes a day \(UTC\): \d+ are used/)
    expect((await send(key)).status).toBe(201)
  })

  it('count the rejected recipients of bulks, because they are stored', async () => {
    const key = await testKey()
    const json = { channel: 'sms', content: { text: 'x' }, validation: 'permissive' }
    const recipients = (count: number) => ['+255700000001', ...Array(count).fill('x'.repeat(50))]
    const post = (path: string, count: number) =>
      world().call('POST', path, { key, json: { ...json, recipients: recipients(count) } })
    const large = await post('/api/v1/messages/estimate', 12)
    expect(large.body.data.block_reason).toBe('daily_limit')
    expect((await post('/api/v1/messages/bulk', 12)).status).toBe(400)
    expect((await post('/api/v1/messages/estimate', 6)).body.data.block_reason).toBeNull()
    expect((await post('/api/v1/messages/bulk', 6)).status).toBe(201)
    expect((await post('/api/v1/messages/bulk', 6)).status).toBe(429)
  })

  it('fail permanently if one request exceeds the daily maximum', async () => {
    const key = await testKey()
    const refused = await bulk(key, 6)
    expect(refused.status).toBe(400)
    expect(refused.body.message).toBe(
      'The test keys of a workspace may send 5 messages a day (UTC), and this request comes to 6 by itself',
    )
    const large = await bulk(key, 1, 'x'.repeat(1_500))
    expect(large.status).toBe(400)
    expect(large.body.error).toBe('validation_error')
    expect((await bulk(key, 5)).status).toBe(201)
  })

  it('count once in a repeated request', async () => {
    const key = await testKey()
    const headers = { 'idempotency-key': 'once' }
    const repeat = () => world().call('POST', '/api/v1/messages/send', { key, json: sms, headers })
    for (let i = 0; i < 8; i++) expect((await repeat()).status).toBe(201)
    expect((await bulk(key, 4)).status).toBe(201)
    expect((await send(key)).status).toBe(429)
  })
})
