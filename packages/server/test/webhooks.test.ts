import { EVENT_KINDS, EVENTS } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld()

const WEBHOOKS = '/api/v1/webhooks'
const NOT_FOUND = refusal('not_found', 'Webhook not found')
const URL_TEXT = 'URL must be http or https, without user name, password or fragment'
const url = 'https://receiver.example/hook?source=svc'

/** Ids without a webhook, well formed and malformed. */
const UNKNOWN_IDS = ['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'x', '%00', 'a'.repeat(200)]

let owner: Account
beforeAll(async () => {
  owner = await world().signup()
})

const call = (method: string, path: string, json?: object, { token } = owner) =>
  world().call(method, `${WEBHOOKS}${path}`, { token, json })
const create = (json: object, account = owner) => call('POST', '', json, account)

describe(`POST ${WEBHOOKS}`, () => {
  describe('201', () => {
    it('shows the secret once, and subscribes to every event by default', async () => {
      const { status, body } = await create({ url })
      expect(status).toBe(201)
      expect(body).toStrictEqual({
        success: true,
        data: {
          webhook: {
            id: expect.any(String),
            url,
            description: null,
            events: ['*'],
            mode: 'all',
            format: 'svc',
            api_key_id: null,
            is_active: true,
            status: 'active',
            disabled_reason: null,
            secret_prefix: `${body.data.webhook.secret.slice(0, 10)}...`,
            headers: [],
            consecutive_failures: 0,
            last_success_at: null,
            last_failure_at: null,
            created_at: '2026-05-04T09:00:00.000Z',
            updated_at: '2026-05-04T09:00:00.000Z',
            secret: expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/),
          },
          warning:
            'The e-mail address of this workspace is not verified: this webhook is disabled when it is.',
        },
      })
    })

    it('stores headers, and shows only their names', async () => {
      const events = ['message.delivered', 'message.failed']
      const headers = { Authorization: 'Bearer the-receivers-own' }
      const { body, text } = await create({ url, events, headers, description: 'CRM' })
      expect(body.data.webhook).toMatchObject({
        events,
        headers: ['Authorization'],
        description: 'CRM',
      })
      expect(text).not.toContain('the-receivers-own')
    })

    it('has no warning after the address is verified', async () => {
      const verified = await world().signup()
      await world().verify(verified)
      const { token } = verified
      const { body } = await world().call('POST', WEBHOOKS, { token, json: { url } })
      expect(Object.keys(body.data)).toStrictEqual(['webhook'])
    })

    it('is allowed for an API key that manages webhooks', async () => {
      const { key } = await world().key(owner, { scopes: ['manage_webhooks'] })
      const { status } = await world().call('POST', WEBHOOKS, { key, json: { url } })
      expect(status).toBe(201)
    })
  })

  describe('400', () => {
    const SUBSCRIPTIONS = ['*', ...EVENT_KINDS].join(', ')
    it.each([
      ['url', undefined, 'Missing required field: url', 'url'],
      ['url', '', 'Missing required field: url', 'url'],
      ['url', 'receiver.example', URL_TEXT, 'url'],
      ['url', 'ftp://receiver.example/', URL_TEXT, 'url'],
      ['url', 'javascript:alert(1)', URL_TEXT, 'url'],
      ['url', 'https://user:pass@receiver.example/', URL_TEXT, 'url'],
      ['url', 'https://receiver.example/#part', URL_TEXT, 'url'],
      ['url', 'https://receiver.example/\r\nHost: x', URL_TEXT, 'url'],
      [
        'url',
        `https://receiver.example/${'a'.repeat(2048)}`,
        'url must be at most 2048 characters',
        'url',
      ],
      ['url', 7, 'url must be a string', 'url'],
      ['events', [], 'events must have at least 1 item', 'events'],
      ['events', ['message.lost'], `events.0 must be one of: ${SUBSCRIPTIONS}`, 'events.0'],
      ['events', [7], `events.0 must be one of: ${SUBSCRIPTIONS}`, 'events.0'],
      ['description', '', 'description must not be empty', 'description'],
      ['description', 'a'.repeat(501), 'description must be at most 500 characters', 'description'],
      ['headers', [], 'headers must be an object', 'headers'],
      ['headers', { Host: 'x' }, 'Header Host is reserved', 'headers.Host'],
      ['headers', { 'x-svc-event': 'x' }, 'Header x-svc-event is reserved', 'headers.x-svc-event'],
      [
        'headers',
        { 'X-A': 'a\r\nX-B: b' },
        'Header values must be 1 to 1024 printable ASCII characters',
        'headers.X-A',
      ],
      ['headers', { 'X-A': 7 }, 'X-A must be a string', 'headers.X-A'],
      [
        'headers',
        { 'bad name': 'x' },
        'Header names must be 1 to 100 letters, digits, "-" or "_"',
        'headers.bad name',
      ],
    ])('refuses %s %j', async (field, value, message, path) => {
      const answer = await create({ url, [field]: value })
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', message, path))
    })

    it('refuses plain http unless the operator allows it', async () => {
      const strict = await openWorld({ allow_http: false })
      const { token } = await strict.signup()
      const json = { url: 'http://receiver.example/' }
      const answer = await strict.call('POST', WEBHOOKS, { token, json })
      expect(answer.status).toBe(400)
      expect(answer.body).toStrictEqual(refusal('validation_error', 'url must be https', 'url'))
      await strict.close()
    })
  })
})

describe(`GET ${WEBHOOKS}`, () => {
  it('200 lists records without secrets, newest first, in pages', async () => {
    const account = await world().signup()
    const made = []
    for (const path of ['a', 'b', 'c']) {
      made.unshift((await create({ url: `https://receiver.example/${path}` }, account)).body)
    }
    const records = made.map(({ data: { webhook } }) => {
      const { secret: _, ...record } = webhook
      return record
    })
    const { status, body, text } = await call('GET', '?limit=2', undefined, account)
    expect(status).toBe(200)
    expect(body.data).toStrictEqual({
      webhooks: records.slice(0, 2),
      pagination: { total: 3, page: 1, pages: 2, limit: 2 },
      next_after: expect.any(String),
    })
    for (const { data } of made) expect(text).not.toContain(data.webhook.secret)
    const second = await call('GET', '?limit=2&page=2', undefined, account)
    expect(second.body.data.webhooks).toStrictEqual(records.slice(2))
  })

  it.each([
    ['limit=0', 'Limit must be between 1 and 100'],
    ['page=x', 'Page must be a positive integer'],
  ])('400 refuses %s', async (query, message) => {
    const { status, body } = await call('GET', `?${query}`)
    expect([status, body.message]).toStrictEqual([400, message])
  })
})

it(`GET ${WEBHOOKS}/events lists every event kind with an example of its body`, async () => {
  const { status, body } = await call('GET', '/events')
  expect(status).toBe(200)
  expect(body.data).toStrictEqual({
    events: [
      'message.sent',
      'message.delivered',
      'message.failed',
      'message.recipients_failed',
      'message.read',
      'message.received',
      'credits.low',
      'verification.approved',
      'verification.failed',
      'verification.expired',
      'verification.paused',
      'broadcast.paused',
      'broadcast.finished',
      'webhook.test',
    ].map((name) => ({
      name,
      description: EVENTS[name as 'message.sent'].description,
      example: { event: name, data: EVENTS[name as 'message.sent'].example },
    })),
  })
})

describe(`GET ${WEBHOOKS}/:id`, () => {
  it('200 returns the record, without its secret', async () => {
    const made = await create({ url })
    const { secret, ...record } = made.body.data.webhook
    const { status, body, text } = await call('GET', `/${record.id}`)
    expect(status).toBe(200)
    expect(body).toStrictEqual({ success: true, data: { webhook: record } })
    expect(text).not.toContain(secret)
  })

  it.each(UNKNOWN_IDS)('404 for id %s', async (id) => {
    const { status, body } = await call('GET', `/${id}`)
    expect([status, body]).toStrictEqual([404, NOT_FOUND])
  })
})

describe(`DELETE ${WEBHOOKS}/:id`, () => {
  it('200 deletes the webhook and its deliveries', async () => {
    const { id } = (await create({ url })).body.data.webhook
    const { status, body } = await call('DELETE', `/${id}`)
    expect(status).toBe(200)
    expect(body).toStrictEqual({ success: true, data: { message: 'Webhook deleted' } })
    for (const [method, path] of [
      ['GET', `/${id}`],
      ['GET', `/${id}/deliveries`],
      ['DELETE', `/${id}`],
    ] as const) {
      const after = await call(method, path)
      expect([after.status, after.body]).toStrictEqual([404, NOT_FOUND])
    }
  })

  it.each(UNKNOWN_IDS)('404 for id %s', async (id) => {
    const { status, body } = await call('DELETE', `/${id}`)
    expect([status, body]).toStrictEqual([404, NOT_FOUND])
  })
})

describe(`GET ${WEBHOOKS}/:id/deliveries`, () => {
  it('200 is empty before any event', async () => {
    const { id } = (await create({ url })).body.data.webhook
    const { status, body } = await call('GET', `/${id}/deliveries`)
    expect(status).toBe(200)
    expect(body.data).toStrictEqual({
      deliveries: [],
      pagination: { total: 0, page: 1, pages: 0, limit: 50 },
      next_after: null,
    })
  })

  it('400 refuses an invalid page', async () => {
    const { id } = (await create({ url })).body.data.webhook
    const { status, body } = await call('GET', `/${id}/deliveries?limit=1000`)
    expect([status, body.message]).toStrictEqual([400, 'Limit must be between 1 and 100'])
  })

  it.each(UNKNOWN_IDS)('404 for id %s', async (id) => {
    const { status, body } = await call('GET', `/${id}/deliveries`)
    expect([status, body]).toStrictEqual([404, NOT_FOUND])
  })
})
