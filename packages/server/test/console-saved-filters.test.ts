import { LIMITS, type Role } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const ASHA = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const JUMA = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02'

const world = useWorld({
  console: {
    authenticate: async ({ headers }) => {
      const [id, user_id, role] = `${headers['x-person']}`.split(' ')
      return id ? { workspace_id: id, user_id, role: role as Role } : null
    },
  },
})

let owner: Account
let other: Account
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
  other = await world().signup({ credits: 10 })
})

async function ask(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  {
    json,
    user = ASHA,
    account = owner,
    role = 'developer',
  }: {
    json?: object
    user?: string
    account?: Account
    role?: string
  } = {},
) {
  const answer = await world().app.inject({
    method,
    url: `/console/api${path}`,
    headers: { 'sec-fetch-site': 'same-origin', 'x-person': `${account.id} ${user} ${role}` },
    ...(json && { payload: json }),
  })
  return { status: answer.statusCode, body: JSON.parse(answer.body) }
}

const FILTERS = '/saved-filters'
const add = async (name: string, filter: object = { status: 'failed' }, options: object = {}) =>
  ask('POST', FILTERS, { ...options, json: { name, filter } })
const names = async (options: object = {}) =>
  (await ask('GET', FILTERS, options)).body.data.saved_filters.map(
    (one: { name: string }) => one.name,
  )

describe('saved filters', () => {
  it('are stored for one person in one workspace', async () => {
    const filter = { status: 'failed', channel: 'sms', period: '720', error_code: 'unroutable' }
    const { status, body } = await add('Failed SMS', filter)
    expect(status).toBe(200)
    expect(body.data.saved_filter).toEqual({ id: expect.any(String), name: 'Failed SMS', filter })
    const { body: list } = await ask('GET', FILTERS)
    expect(list.data.saved_filters).toEqual([body.data.saved_filter])
    expect(await names({ user: JUMA })).toEqual([])
    expect(await names({ account: other })).toEqual([])
    expect(await names({ role: 'viewer' })).toEqual(['Failed SMS'])
    const path = `${FILTERS}/${body.data.saved_filter.id}`
    for (const stranger of [{ user: JUMA }, { account: other }]) {
      const json = { name: 'Mine', filter: {} }
      expect((await ask('PUT', path, { ...stranger, json })).status).toBe(404)
      expect((await ask('DELETE', path, stranger)).status).toBe(404)
    }
    expect(await names()).toEqual(['Failed SMS'])
  })

  it('are renamed and deleted, and no two have one name', async () => {
    const { id } = (await add('B', {}, { user: JUMA })).body.data.saved_filter
    await add('C', {}, { user: JUMA })
    const taken = await add('C', {}, { user: JUMA })
    expect([taken.status, taken.body.message]).toEqual([400, 'A saved filter has this name'])
    const change = (name: string) =>
      ask('PUT', `${FILTERS}/${id}`, { user: JUMA, json: { name, filter: { tag: 'may' } } })
    expect((await change('C')).status).toBe(400)
    expect((await change('A')).body.data.saved_filter).toEqual({
      ...{ id, name: 'A', filter: { tag: 'may' } },
    })
    expect(await names({ user: JUMA })).toEqual(['A', 'C'])
    expect((await ask('DELETE', `${FILTERS}/${id}`, { user: JUMA })).status).toBe(200)
    expect((await ask('DELETE', `${FILTERS}/${id}`, { user: JUMA })).status).toBe(404)
    expect(await names({ user: JUMA })).toEqual(['C'])
  })

  it('are bounded, and name no recipient', async () => {
    const refused = [
      { name: '', filter: {} },
      { name: 'x'.repeat(LIMITS.saved_filter_name_length + 1), filter: {} },
      { name: 'x', filter: { search: '+255700000001' } },
      { name: 'x', filter: { contact_id: ASHA } },
      { name: 'x', filter: { status: 'lost' } },
      { name: 'x', filter: { period: 'always' } },
      { name: 'x', filter: { tag: 'x'.repeat(1_000) } },
    ]
    for (const json of refused) expect((await ask('POST', FILTERS, { json })).status).toBe(400)
    const user = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d03'
    for (let i = 0; i < LIMITS.saved_filters; i++) {
      expect((await add(`F${i}`, {}, { user })).status).toBe(200)
    }
    const { status, body } = await add('one more', {}, { user })
    expect([status, body.message]).toEqual([400, 'At most 50 filters can be saved: delete one'])
  })
})

describe('the preview of a bulk', () => {
  const preview = (json: object, options: object = {}) =>
    ask('POST', '/bulks/preview', { json: { channel: 'sms', ...json }, ...options })

  it('shows the text of one recipient, and charges nothing', async () => {
    const content = { text: 'Hi {{name|you}}, {{city}}' }
    const recipients = [{ to: '+255700000001', variables: { name: 'Asha', city: 'Arusha' } }]
    expect((await preview({ content, recipients })).body.data).toEqual({
      ...{ to: '+255700000001', content: { text: 'Hi Asha, Arusha' }, message: null },
    })
    const missing = (await preview({ content, recipients: ['+255700000001'] })).body.data
    expect(missing).toMatchObject({ to: '+255700000001', content: null })
    expect(missing.message).toContain('city')
    expect((await preview({ content, recipients: ['nonsense'] })).body.data).toMatchObject({
      ...{ to: 'nonsense', content: null },
    })
    const { credits_balance } = await world().core.workspaces.account(owner.id)
    expect(credits_balance).toBe(10_000_000)
  })

  it('is refused for several recipients, and to people who may not send', async () => {
    const content = { text: 'x' }
    const two = ['+255700000001', '+255700000002']
    expect((await preview({ content, recipients: two })).status).toBe(400)
    const one = { content, recipients: two.slice(1) }
    expect((await preview(one, { role: 'viewer' })).status).toBe(403)
    expect((await preview(one)).status).toBe(200)
  })
})
