import { Resend } from 'resend'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { seededChance } from '../postgres/seeded-chance.ts'
import { useWorld } from '../world.ts'

// Ids follow the clock of the test, as they do in a service.
const world = useWorld({
  listen: true,
  chance: (now) => seededChance('resend', now).core,
})

const AUDIENCE = '78261eea-8f8b-4381-83c6-79fa7120f1cf'

let owner: Account
let resend: Resend
beforeAll(async () => {
  owner = await world().signup()
  const { key } = await world().key(owner)
  resend = new Resend(key, { baseUrl: `${world().url}/compat/resend` })
})

const contactOf = async (id: string) =>
  (await world().call('GET', `/api/v1/contacts/${id}`, { token: owner.token })).body.data.contact

describe('contacts', () => {
  it('are created, read by id and by address, changed and removed', async () => {
    const email = 'steve@example.com'
    const { data } = await resend.contacts.create({
      email,
      firstName: 'Steve',
      lastName: 'Wozniak',
      unsubscribed: false,
      properties: { city: 'Cupertino', visits: 3 },
    })
    const id = data?.id ?? ''
    expect(data).toStrictEqual({ object: 'contact', id })
    expect(await contactOf(id)).toMatchObject({
      name: 'Steve Wozniak',
      email,
      attributes: { first_name: 'Steve', last_name: 'Wozniak', city: 'Cupertino', visits: 3 },
    })
    const record = {
      object: 'contact',
      id,
      email,
      first_name: 'Steve',
      last_name: 'Wozniak',
      created_at: world().now().toISOString(),
      unsubscribed: false,
      properties: {
        city: { type: 'string', value: 'Cupertino' },
        visits: { type: 'number', value: 3 },
      },
    }
    expect((await resend.contacts.get(id)).data).toStrictEqual(record)
    expect((await resend.contacts.get({ email: 'Steve@Example.com' })).data).toStrictEqual(record)

    const updated = await resend.contacts.update({
      email,
      firstName: null,
      unsubscribed: true,
      properties: { city: null },
    })
    expect(updated.data).toStrictEqual({ object: 'contact', id })
    expect((await resend.contacts.get(id)).data).toMatchObject({
      first_name: null,
      last_name: 'Wozniak',
      unsubscribed: true,
      properties: { visits: { type: 'number', value: 3 } },
    })

    const removed = await resend.contacts.remove(id)
    expect(removed.data).toStrictEqual({ object: 'contact', contact: id, deleted: true })
    expect((await resend.contacts.get(id)).error).toMatchObject({
      statusCode: 404,
      name: 'not_found',
    })
  })

  it('that exist are changed by another creation', async () => {
    const email = 'twice@example.com'
    const first = await resend.contacts.create({ email, firstName: 'One' })
    const again = await resend.contacts.create({ email, firstName: 'Two' })
    expect(again.data).toEqual(first.data)
    expect((await resend.contacts.get({ email })).data?.first_name).toBe('Two')
  })

  it('belong to audiences and segments by their tags', async () => {
    const email = 'in@example.com'
    const { data } = await resend.contacts.create({ audienceId: AUDIENCE, email })
    const id = data?.id ?? ''
    await resend.contacts.create({ email: 'out@example.com' })
    expect((await contactOf(id)).tags).toEqual([AUDIENCE])
    const ids = async () =>
      (await resend.contacts.list({ audienceId: AUDIENCE })).data?.data.map((one) => one.id)
    expect(await ids()).toEqual([id])
    const segmented = await resend.contacts.create({
      email: 'segment@example.com',
      segments: [{ id: AUDIENCE }],
    })
    expect(await ids()).toEqual([segmented.data?.id, id])
    const one = { audienceId: AUDIENCE, email }
    expect((await resend.contacts.get(one)).data).toMatchObject({ id })
    expect((await resend.contacts.update({ ...one, firstName: 'Asha' })).data?.id).toBe(id)
    const outside = { audienceId: AUDIENCE, email: 'out@example.com' }
    expect((await resend.contacts.get(outside)).error).toMatchObject({ statusCode: 404 })
    expect((await resend.contacts.remove(one)).data).toMatchObject({ deleted: true })
    expect(await ids()).toEqual([segmented.data?.id])
    expect((await resend.contacts.get(id)).data).toMatchObject({ id })
  })

  it('may repeat the ids of the path in the body, as old versions of the package do', async () => {
    const { key } = await world().key(owner)
    const path = `${world().url}/compat/resend/audiences/${AUDIENCE}/contacts`
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const call = async (method: string, url: string, json: object) => {
      const answer = await fetch(url, { method, headers, body: JSON.stringify(json) })
      return { status: answer.status, id: ((await answer.json()) as { id: string }).id }
    }
    const names = { audience_id: AUDIENCE, first_name: 'Old' }
    const made = await call('POST', path, { ...names, email: 'old@example.com' })
    expect(made.status).toBe(200)
    const { id } = made
    expect(await call('PATCH', `${path}/${id}`, { ...names, id })).toEqual({ status: 200, id })
  })

  it('are listed in pages in both directions', async () => {
    const { key } = await world().key(await world().signup())
    const client = new Resend(key, { baseUrl: `${world().url}/compat/resend` })
    const ids: string[] = []
    for (const n of [1, 2, 3, 4, 5]) {
      const { data } = await client.contacts.create({ email: `c${n}@example.com` })
      ids.unshift(data?.id ?? '')
    }
    const page = async (options: object) => {
      const { data } = await client.contacts.list(options)
      return [data?.has_more, ...(data?.data ?? []).map(({ id }) => ids.indexOf(id))]
    }
    expect(await page({})).toEqual([false, 0, 1, 2, 3, 4])
    expect(await page({ limit: 2 })).toEqual([true, 0, 1])
    expect(await page({ limit: 100 })).toEqual([false, 0, 1, 2, 3, 4])
    expect(await page({ limit: 2, after: ids[1] })).toEqual([true, 2, 3])
    expect(await page({ limit: 2, before: ids[4] })).toEqual([true, 2, 3])
    expect(await page({ limit: 2, before: ids[2] })).toEqual([false, 0, 1])
  })

  it('are refused without an address, and hidden without the scope', async () => {
    const missing = await resend.contacts.create({} as { email: string })
    expect(missing.error).toStrictEqual({
      statusCode: 422,
      name: 'missing_required_field',
      message: 'Missing `email` field.',
    })
    expect((await resend.contacts.create({ email: 'asha' })).error).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
    })
    const { key } = await world().key(owner, { scopes: ['send_messages'] })
    const narrow = new Resend(key, { baseUrl: `${world().url}/compat/resend` })
    expect((await narrow.contacts.list()).error).toMatchObject({
      statusCode: 401,
      name: 'restricted_api_key',
    })
    const other = await world().key(await world().signup())
    const stranger = new Resend(other.key, { baseUrl: `${world().url}/compat/resend` })
    expect((await stranger.contacts.get({ email: 'twice@example.com' })).error).toMatchObject({
      statusCode: 404,
    })
  })
})

describe('audiences and segments', () => {
  it('are listed by their ids, in pages, for this workspace only', async () => {
    const account = await world().signup()
    const own = new Resend((await world().key(account)).key, {
      baseUrl: `${world().url}/compat/resend`,
    })
    expect((await own.segments.list()).data).toStrictEqual({
      object: 'list',
      has_more: false,
      data: [],
    })
    const created_at = world().now().toISOString()
    const names = ['alpha', 'beta', AUDIENCE].sort()
    for (const name of names) {
      await own.contacts.create({ email: `${name}@example.com`, segments: [{ id: name }] })
      await own.contacts.create({ email: `second-${name}@example.com`, segments: [{ id: name }] })
    }
    const records = names.map((name) => ({ id: name, name, created_at }))
    for (const list of [own.segments, own.audiences]) {
      expect((await list.list()).data?.data).toStrictEqual(records)
    }
    const first = await own.segments.list({ limit: 2 })
    expect(first.data).toMatchObject({ has_more: true, data: records.slice(0, 2) })
    const rest = await own.segments.list({ limit: 2, after: records[1]?.id ?? '' })
    expect(rest.data).toMatchObject({ has_more: false, data: records.slice(2) })
    const back = await own.segments.list({ limit: 1, before: records[2]?.id ?? '' })
    expect(back.data).toMatchObject({ has_more: true, data: records.slice(1, 2) })
    const old = await fetch(`${world().url}/compat/resend/audiences`, {
      headers: { authorization: `Bearer ${(await world().key(account)).key}` },
    })
    expect([old.status, await old.json()]).toMatchObject([200, { data: records }])
    expect((await resend.segments.list({ limit: 101 })).error).toMatchObject({ statusCode: 422 })
    const { key } = await world().key(account, { scopes: ['send_messages'] })
    const narrow = new Resend(key, { baseUrl: `${world().url}/compat/resend` })
    expect((await narrow.segments.list()).error).toMatchObject({ name: 'restricted_api_key' })
  })
})

describe('API keys', () => {
  it('are listed for a live key with all scopes: the active ones, newest first, in pages', async () => {
    const account = await world().signup()
    const clientOf = (key: string) => new Resend(key, { baseUrl: `${world().url}/compat/resend` })
    const made = []
    for (const name of ['one', 'two', 'three']) {
      made.unshift(await world().key(account, { name }))
      await world().advance(1_000)
    }
    const [three, two, one] = made
    const gone = await world().key(account, { name: 'gone' })
    await world().core.apiKeys.deactivate(account.id, gone.id)
    const own = clientOf(one?.key ?? '')
    const { data } = await own.apiKeys.list()
    expect(data?.data.map(({ id, name }) => [id, name])).toEqual([
      [three?.id, 'three'],
      [two?.id, 'two'],
      [one?.id, 'one'],
    ])
    expect(JSON.stringify(data)).not.toContain('svc_')
    const first = await own.apiKeys.list({ limit: 2 })
    expect(first.data).toMatchObject({ has_more: true, data: [{ name: 'three' }, { name: 'two' }] })
    const rest = await own.apiKeys.list({ limit: 2, after: two?.id ?? '' })
    expect(rest.data).toMatchObject({ has_more: false, data: [{ name: 'one' }] })
    const back = await own.apiKeys.list({ limit: 1, before: one?.id ?? '' })
    expect(back.data).toMatchObject({ has_more: true, data: [{ name: 'two' }] })
    const weak = [
      await world().key(account, { mode: 'test' }),
      await world().key(account, { scopes: ['manage_webhooks'] }),
    ]
    for (const { key } of weak) {
      expect((await clientOf(key).apiKeys.list()).error).toMatchObject({
        statusCode: 401,
        name: 'restricted_api_key',
      })
    }
  })
})
