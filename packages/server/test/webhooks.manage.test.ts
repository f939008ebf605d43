import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld()

const WEBHOOKS = '/api/v1/webhooks'
const NOT_FOUND = refusal('not_found', 'Webhook not found')
const url = 'https://receiver.example/hook'

/** Ids without a webhook, well formed and malformed. */
const UNKNOWN_IDS = ['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'x', '%00']

let owner: Account
beforeAll(async () => {
  owner = await world().signup()
})

const call = (method: string, path: string, json?: object, { token } = owner) =>
  world().call(method, `${WEBHOOKS}${path}`, { token, json })

/** The record of a webhook, as created and shown. */
async function made(request: object = {}) {
  const { secret: _, ...record } = (await call('POST', '', { url, ...request })).body.data.webhook
  return record
}
const stored = async ({ id }: { id: string }) =>
  (await world().core.webhooks.get(owner.id, id)) as object

describe(`PUT ${WEBHOOKS}/:id`, () => {
  describe('200', () => {
    it.each([
      ['url', 'https://RECEIVER.example:443/other', 'https://RECEIVER.example:443/other'],
      ['description', 'CRM', 'CRM'],
      ['description', null, null],
      ['events', ['message.read'], ['message.read']],
      ['events', null, ['*']],
      ['headers', { 'X-B': 'b', 'X-A': 'a' }, ['X-B', 'X-A']],
      ['headers', null, []],
      ['headers', ['X-One'], ['X-One']],
      ['headers', [], []],
    ])('changes %s to %j, and keeps the other fields', async (field, value, shown) => {
      const record = await made({
        description: 'Before',
        events: ['message.sent'],
        headers: { 'X-One': '1', 'X-Two': '2' },
      })
      await world().advance(1_000)
      const { status, body } = await call('PUT', `/${record.id}`, { [field]: value })
      const updated_at = world().now().toISOString()
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        success: true,
        data: { webhook: { ...record, [field]: shown, updated_at } },
      })
      const read = await call('GET', `/${record.id}`)
      expect(read.body.data.webhook).toStrictEqual(body.data.webhook)
    })

    describe('to another origin', () => {
      const headers = { Authorization: 'Bearer of-the-receiver', 'X-Two': '2' }
      const headersAt = async ({ id }: { id: string }) =>
        (await world().core.webhooks.get(owner.id, id)).headers

      it.each([
        'https://other.example/hook',
        'http://receiver.example/hook',
        'https://receiver.example:8443/hook',
      ])('%s removes the headers, with a warning', async (elsewhere) => {
        const record = await made({ headers })
        const { status, body } = await call('PUT', `/${record.id}`, { url: elsewhere })
        expect([status, body.data.webhook.headers]).toStrictEqual([200, []])
        expect(body.data.warning).toMatch(/^The headers were removed/)
        expect(await headersAt(record)).toStrictEqual([])
      })

      it('keeps headers of the same request, the events and the secret', async () => {
        const record = await made({ headers, events: ['message.sent'] })
        const change = { url: 'https://other.example/', headers: { 'X-Two': '3' } }
        const { body } = await call('PUT', `/${record.id}`, change)
        const updated_at = world().now().toISOString()
        const after = { ...record, url: change.url, headers: ['X-Two'], updated_at }
        expect(body.data).toStrictEqual({ webhook: after })
      })

      it('has no warning without earlier headers, or when null removes them', async () => {
        const [bare, full] = [await made(), await made({ headers })]
        const away = { url: 'https://other.example/' }
        const answers = [
          await call('PUT', `/${bare.id}`, away),
          await call('PUT', `/${full.id}`, { ...away, headers: null }),
        ]
        for (const { body } of answers) expect(body.data.warning).toBeUndefined()
        expect(await headersAt(full)).toStrictEqual([])
      })

      it('400: refuses header names without values, and changes nothing', async () => {
        const record = await made({ headers })
        const change = { ...record, url: 'https://other.example/' }
        const { status, body } = await call('PUT', `/${record.id}`, change)
        expect(status).toBe(400)
        expect(body).toStrictEqual(
          refusal(
            'validation_error',
            'The values of headers do not go to another scheme, host or port: send them again, or null',
            'headers',
          ),
        )
        expect(await stored(record)).toMatchObject({ url, headers: Object.keys(headers) })
      })
    })

    it('ignores read-only fields, so that a record can be sent back', async () => {
      const record = await made({ headers: { 'X-One': 'value' }, description: 'CRM' })
      const { status, body } = await call('PUT', `/${record.id}`, {
        ...record,
        status: 'disabled',
        consecutive_failures: 7,
        secret: 'whsec_bmV3',
        secret_prefix: 'whsec_bmV3...',
      })
      expect(status).toBe(200)
      expect(body.data.webhook).toStrictEqual(record)
    })

    it('changes nothing for an empty body', async () => {
      const record = await made()
      await world().advance(1_000)
      const { status, body } = await call('PUT', `/${record.id}`, {})
      expect([status, body.data.webhook]).toStrictEqual([200, record])
    })

    it('is_active disables and enables', async () => {
      const { id } = await made()
      const off = await call('PUT', `/${id}`, { is_active: false })
      expect(off.body.data.webhook).toMatchObject({
        is_active: false,
        status: 'disabled',
        disabled_reason: 'manual',
      })
      const still = await call('PUT', `/${id}`, { ...off.body.data.webhook, description: 'Off' })
      expect(still.body.data.webhook).toMatchObject({ status: 'disabled', description: 'Off' })
      const on = await call('PUT', `/${id}`, { is_active: true })
      expect(on.body.data.webhook).toMatchObject({
        is_active: true,
        status: 'active',
        disabled_reason: null,
      })
    })

    it('is allowed for an API key that manages webhooks', async () => {
      const { id } = await made()
      const { key } = await world().key(owner, { scopes: ['manage_webhooks'] })
      const json = { description: 'By key' }
      const { status } = await world().call('PUT', `${WEBHOOKS}/${id}`, { key, json })
      expect(status).toBe(200)
    })
  })

  describe('400', () => {
    it.each([
      ['url', null, 'url must be a string', 'url'],
      [
        'url',
        'ftp://receiver.example/',
        'URL must be http or https, without user name, password or fragment',
        'url',
      ],
      ['description', '', 'description must not be empty', 'description'],
      ['events', [], 'events must have at least 1 item', 'events'],
      ['is_active', 'yes', 'is_active must be a boolean', 'is_active'],
      ['is_active', null, 'is_active must be a boolean', 'is_active'],
      ['headers', 'X-One', 'headers must be an object, or an array of names', 'headers'],
      ['headers', { Host: 'x' }, 'Header Host is reserved', 'headers.Host'],
      ['headers', ['X-One', 7], 'Header names must be strings', 'headers.1'],
      ['headers', ['X-One', 'X-Three'], 'There is no header X-Three to keep', 'headers.1'],
      ['headers', ['__proto__'], 'There is no header __proto__ to keep', 'headers.0'],
    ])('refuses %s %j, and changes nothing', async (field, value, message, path) => {
      const record = await made({ headers: { 'X-One': '1' } })
      const before = await stored(record)
      const json = { description: 'After', [field]: value }
      const answer = await call('PUT', `/${record.id}`, json)
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', message, path))
      expect(await stored(record)).toStrictEqual(before)
    })

    it('refuses plain http unless the operator allows it', async () => {
      const strict = await openWorld({ allow_http: false })
      const { token } = await strict.signup()
      const { id } = await strict.webhook({ token })
      const json = { url: 'http://receiver.example/' }
      const { status, body } = await strict.call('PUT', `${WEBHOOKS}/${id}`, { token, json })
      await strict.close()
      expect([status, body.message]).toStrictEqual([400, 'url must be https'])
    })
  })
})

describe(`POST ${WEBHOOKS}/:id/rotate-secret`, () => {
  it('200 shows the new secret once, and the time until which the old one is valid', async () => {
    const record = await made()
    await world().advance(1_000)
    const { status, body } = await call('POST', `/${record.id}/rotate-secret`)
    expect(status).toBe(200)
    const { secret, previous_secret_ends_at, ...after } = body.data.webhook
    expect(secret).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/)
    expect(after).toStrictEqual({
      ...record,
      secret_prefix: `${secret.slice(0, 10)}...`,
      updated_at: world().now().toISOString(),
    })
    expect(Date.parse(previous_secret_ends_at) - world().now().getTime()).toBe(86_400_000)
    const read = await call('GET', `/${record.id}`)
    expect(read.body.data.webhook).toStrictEqual(after)
  })
})

describe(`POST ${WEBHOOKS}/:id/enable`, () => {
  it('200 keeps an enabled webhook unchanged', async () => {
    const record = await made()
    await world().advance(1_000)
    const { status, body } = await call('POST', `/${record.id}/enable`)
    expect([status, body.data.webhook]).toStrictEqual([200, record])
  })
})

describe('the next attempt of a webhook that gets no deliveries now', () => {
  it('is null without a delivery, and for one that is due', async () => {
    const { id } = await made()
    const next = () => world().core.webhooks.nextAttemptAt(owner.id, id)
    expect(await next()).toBeNull()
    expect((await call('POST', `/${id}/test`)).status).toBe(201)
    expect(await next()).toBeNull()
    await world().advance(60_000)
    expect(await next()).toBeNull()
  })
})

describe(`POST ${WEBHOOKS}/:id/recover`, () => {
  const until = '2026-05-04T09:00:00Z'
  it.each([
    [{}, 'Missing required field: since', 'since'],
    [{ since: 'yesterday' }, 'Invalid date format. Use ISO 8601 format.', 'since'],
    [{ since: '2026-05-04', until: 7 }, 'until must be a string', 'until'],
    [{ since: '2026-05-05', until }, 'since must not be later than until', 'since'],
    [{ since: '2026-04-03', until }, 'since must be within the last 30 days', 'since'],
  ])('400 refuses %j', async (json, message, path) => {
    const { id } = await made()
    const { status, body } = await call('POST', `/${id}/recover`, json)
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, path)])
  })

  it('400 while the webhook is disabled', async () => {
    const { id } = await made()
    await call('PUT', `/${id}`, { is_active: false })
    const { status, body } = await call('POST', `/${id}/recover`, { since: '2026-05-04' })
    const message = 'Webhook is disabled. Enable it first.'
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, 'id')])
  })
})

describe('404', () => {
  const since = '2026-05-04'
  it.each(
    [
      ['PUT', '', { description: 'A' }],
      ['POST', '/test', undefined],
      ['POST', '/rotate-secret', undefined],
      ['POST', '/enable', undefined],
      ['POST', '/recover', { since }],
    ].flatMap(([method, path, json]) => UNKNOWN_IDS.map((id) => [method, id, path, json] as const)),
  )('%s for webhook %s%s', async (method, id, path, json) => {
    const { status, body } = await call(method as string, `/${id}${path}`, json as object)
    expect([status, body]).toStrictEqual([404, NOT_FOUND])
  })

  it.each(
    UNKNOWN_IDS.flatMap((id) => [
      ['GET', id, ''],
      ['POST', id, '/retry'],
    ]),
  )('%s for delivery %s%s', async (method, deliveryId, path) => {
    const { id } = await made()
    for (const webhook of [id, ...UNKNOWN_IDS]) {
      const { status, body } = await call(method, `/${webhook}/deliveries/${deliveryId}${path}`)
      expect([status, body]).toStrictEqual([404, refusal('not_found', 'Delivery not found')])
    }
  })
})
