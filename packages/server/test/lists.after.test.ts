import { Svc } from '@svc/client'
import { api, type Endpoint } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true, listen: true })

/** The rejected recipients of a bulk, to which none is ever added: `messages.bulks.test.ts` tests their pages. */
const FIXED = '/api/v1/bulks/:id/rejected'

/** Every other list of the API: its path. An export has a file for an answer, and `exports.test.ts` reads its pages. */
const LISTS = Object.values<Record<string, Endpoint>>(api)
  .flatMap((endpoints) => Object.values(endpoints))
  .filter(({ query }) => query && 'limit' in query.shape)
  .map(({ path }) => path)
  .filter((path) => path !== FIXED && !path.endsWith('/export'))

const ITEMS = 5
const MINUTE_MS = 60_000

let owner: Account
let stranger: Account
let key: string
let webhookId: string
let template: string

/** Makes an item more in every list. */
async function makeMore(n: number): Promise<void> {
  const { call, send, advance, dispatcher, contact } = world()
  const { token } = owner
  // Only for the lists that need them, so that a page of 100 holds each list.
  const isFor = (path: string) => n < ITEMS || LISTS[n - ITEMS] === path
  const variants = [{ channel: 'sms', locale: 'en', content: { text: `Version ${n}` } }]
  if (isFor('/api/v1/templates')) {
    await call('POST', '/api/v1/templates', { token, json: { name: `list-${n}`, variants } })
  }
  if (isFor('/api/v1/templates/:name/versions')) {
    await call('PUT', `/api/v1/templates/${template}`, { token, json: { variants } })
    await call('POST', `/api/v1/templates/${template}/publish`, { token })
  }
  if (isFor('/api/v1/broadcasts')) await world().broadcast(owner)
  if (n >= ITEMS && /\/(?:templates|broadcasts)/.test(LISTS[n - ITEMS] ?? '')) return
  // Equal times too: the order must not depend on them.
  if (n % 2 === 0 || n >= ITEMS) await advance(MINUTE_MS)
  await send(key, { to: '+15005550008' })
  const started = { to: `+25572000000${n}`, channel: 'sms' }
  await call('POST', '/api/v1/verifications', { key, json: started })
  await dispatcher.idle()
  await contact(owner, { phone: `+25570000000${n}` })
  await world().key(owner)
  await world().domain(owner)
  await call('POST', '/api/v1/webhooks', { token, json: { url: `http://127.0.0.1:9/${n}` } })
  await call('POST', `/api/v1/webhooks/${webhookId}/test`, { token })
  for (const [channel, address] of [
    ['sms', `+25571000000${n}`],
    ['voice', `+25571000000${n}`],
    ['email', `a+${n}@x.example`],
  ]) {
    const json = { channel, address }
    await call('POST', '/api/v1/contacts/suppressions', { token, json })
  }
}

beforeAll(async () => {
  owner = await world().signup({ credits: 100 })
  stranger = await world().signup({ credits: 100 })
  key = (await world().key(owner)).key
  const json = { url: 'http://127.0.0.1:9/' }
  const { body } = await world().call('POST', '/api/v1/webhooks', { token: owner.token, json })
  webhookId = body.data.webhook.id
  template = await world().template(owner)
  for (let n = 0; n < ITEMS; n++) await makeMore(n)
})

const list = (path: string, query: string, { token } = owner) => {
  const auth = path.startsWith('/api/v1/messages') ? { key } : { token }
  return world().call(
    'GET',
    `${path.replace(':id', webhookId).replace(':name', template)}${query}`,
    auth,
  )
}

interface Item {
  id?: string
  channel?: string | null
  address?: string | null
  version?: number | null
}

/** The name of an item; its other fields may change meanwhile. */
const nameOf = ({ id, channel, address, version }: Item) =>
  id ?? version?.toString() ?? `${channel} ${address}`

/** The names of the items of a page, and the rest of the answer. */
async function page(path: string, query: string) {
  const { status, body } = await list(path, query)
  expect(status, JSON.stringify(body)).toBe(200)
  const { next_after, next_cursor: _, pagination, ...items } = body.data
  const found = Object.values(items)[0] as Item[]
  return { items: found.map(nameOf), next_after, pagination }
}

it('knows the lists of the API', () => {
  expect(LISTS.toSorted()).toEqual([
    '/api/v1/api-keys',
    '/api/v1/audit',
    '/api/v1/billing/transactions',
    '/api/v1/broadcasts',
    '/api/v1/contacts',
    '/api/v1/contacts/suppressions',
    '/api/v1/domains',
    '/api/v1/messages',
    '/api/v1/messages/received',
    '/api/v1/templates',
    '/api/v1/templates/:name/versions',
    '/api/v1/verifications',
    '/api/v1/webhooks',
    '/api/v1/webhooks/:id/deliveries',
  ])
})

describe.each(LISTS)('GET %s', (path) => {
  it('with after, gives every item once, in the order of the pages', async () => {
    const all = await page(path, '?limit=100')
    expect(all.items.length).toBeGreaterThanOrEqual(ITEMS)
    expect(all.next_after).toBeNull()
    const found: string[] = []
    let query = '?limit=2'
    for (let pages = 0; pages <= all.items.length; pages++) {
      const { items, next_after, pagination } = await page(path, query)
      found.push(...items)
      expect(pagination).toMatchObject({ total: all.items.length, page: 1, limit: 2 })
      if (next_after === null) break
      query = `?limit=2&after=${encodeURIComponent(next_after)}`
    }
    expect(found).toEqual(all.items)
  })

  it('gives next_after with pages too, and null on the last', async () => {
    const all = await page(path, '?limit=100')
    const second = await page(path, '?page=2&limit=2')
    const rest = await page(path, `?limit=100&after=${encodeURIComponent(second.next_after)}`)
    expect(rest.items).toEqual(all.items.slice(4))
    expect((await page(path, `?limit=${all.items.length}`)).next_after).toBeNull()
  })

  it('with after, neither repeats nor skips when items are added', async () => {
    const before = await page(path, '?limit=100')
    const first = await page(path, '?limit=2')
    await makeMore(ITEMS + LISTS.indexOf(path))
    const next = await page(path, `?limit=2&after=${encodeURIComponent(first.next_after)}`)
    expect(next.items).toEqual(before.items.slice(2, 4))
  })

  it('refuses after with page, and an after that no page gave', async () => {
    const { next_after } = await page(path, '?limit=2')
    const both = await list(path, `?page=1&after=${encodeURIComponent(next_after)}`)
    expect([both.status, both.body]).toEqual([
      400,
      refusal('validation_error', 'Give page or after, not both', 'after'),
    ])
    for (const after of ['', 'x', '0', '-1', 'a'.repeat(600)]) {
      const { status, body } = await list(path, `?after=${after}`)
      expect([status, body.error, body.details[0].path], after).toEqual([
        400,
        'validation_error',
        'after',
      ])
    }
  })

  it('gives no item of another workspace for its position', async () => {
    if (path.startsWith('/api/v1/messages') || path.includes(':')) return
    const { next_after } = await page(path, '?limit=2')
    const { status, body } = await list(path, `?after=${encodeURIComponent(next_after)}`, stranger)
    expect(status).toBe(200)
    const own = await list(path, '?limit=100', stranger)
    const [name = ''] = Object.keys(own.body.data)
    const ids = (own.body.data[name] as Item[]).map(nameOf)
    for (const item of body.data[name]) expect(ids).toContain(nameOf(item))
  })
})

it('GET /api/v1/messages refuses after with cursor', async () => {
  const { body } = await list('/api/v1/messages', '?limit=2')
  const { next_cursor, next_after } = body.data
  const both = await list('/api/v1/messages', `?cursor=${next_cursor}&after=${next_after}`)
  expect(both.body).toMatchObject({ message: 'Give cursor or after, not both' })
})

it('GET /api/v1/contacts continues after a contact that was removed', async () => {
  const first = await page('/api/v1/contacts', '?limit=2')
  const all = await page('/api/v1/contacts', '?limit=100')
  const { token } = owner
  await world().call('DELETE', `/api/v1/contacts/${first.next_after}`, { token })
  const next = await page('/api/v1/contacts', `?limit=2&after=${first.next_after}`)
  expect(next.items).toEqual(all.items.slice(2, 4))
})

describe('the client', () => {
  it('iterates over every list', async () => {
    const svc = new Svc({ baseUrl: world().url, apiKey: key, token: owner.token, maxRetries: 0 })
    const lists: [string, AsyncIterable<Item>][] = [
      ['/api/v1/api-keys', svc.apiKeys.list({ limit: 2 })],
      ['/api/v1/audit', svc.audit.list({ limit: 2 })],
      ['/api/v1/billing/transactions', svc.billing.transactions({ limit: 2 })],
      ['/api/v1/broadcasts', svc.broadcasts.list({ limit: 2 })],
      ['/api/v1/contacts', svc.contacts.list({ limit: 2 })],
      ['/api/v1/contacts/suppressions', svc.suppressions.list({ limit: 2 })],
      ['/api/v1/domains', svc.domains.list({ limit: 2 })],
      ['/api/v1/messages', svc.messages.list({ limit: 2 })],
      ['/api/v1/messages/received', svc.received.list({ limit: 2 })],
      ['/api/v1/templates', svc.templates.list({ limit: 2 })],
      ['/api/v1/templates/:name/versions', svc.templates.versions(template, { limit: 2 })],
      ['/api/v1/verifications', svc.verifications.list({ limit: 2 })],
      ['/api/v1/webhooks', svc.webhooks.list({ limit: 2 })],
      ['/api/v1/webhooks/:id/deliveries', svc.webhooks.deliveries(webhookId, { limit: 2 })],
    ]
    expect(lists.map(([path]) => path).toSorted()).toEqual(LISTS.toSorted())
    for (const [path, items] of lists) {
      const found: string[] = []
      for await (const item of items) found.push(nameOf(item))
      const { items: all } = await page(path, '?limit=100')
      expect(found, path).toEqual(all)
    }
  })
})
