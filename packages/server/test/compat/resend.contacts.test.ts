import { Resend } from 'resend'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

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
