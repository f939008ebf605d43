import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const SUPPRESSIONS = '/api/v1/contacts/suppressions'
const NOT_FOUND = refusal('not_found', 'Suppression not found')
const CHANNEL_TEXT = 'Invalid channel. Must be one of: sms, whatsapp, email, voice'

let owner: Account
beforeEach(async () => {
  owner = await world().signup()
})

const call = (method: string, path: string, json?: object, { token } = owner) =>
  world().call(method, path, { token, json })
const add = (json: object, account = owner) => call('POST', SUPPRESSIONS, json, account)
const listed = async (query = '', account = owner) => {
  const answer = await call('GET', `${SUPPRESSIONS}${query}`, undefined, account)
  return expectStatus(200, answer).body.data
}
const standing = async (): Promise<string[]> =>
  (await listed()).suppressions
    .map(
      ({ channel, address, reason }: Record<string, string>) => `${channel} ${address} ${reason}`,
    )
    .sort()

describe(`POST ${SUPPRESSIONS}`, () => {
  it('returns 201 with the record; an e-mail address is stored in lower case', async () => {
    const { status, body } = await add({ channel: 'email', address: 'Asha@Example.com' })
    expect([status, body.data]).toStrictEqual([
      201,
      {
        suppression: {
          channel: 'email',
          address: 'asha@example.com',
          reason: 'manual',
          created_at: '2026-05-04T09:00:00.000Z',
        },
      },
    ])
  })

  it('applies to every spelling of the address', async () => {
    await add({ channel: 'email', address: 'Asha@münchen.de' })
    const { key } = await world().key(await world().signup({ credits: 1 }))
    const mail = { channel: 'email', content: { subject: 'A', text: 'a' } }
    const send = (to: string, as: string) =>
      world().call('POST', '/api/v1/messages/send', { key: as, json: { ...mail, to } })
    const own = (await world().key(owner)).key
    expect((await send('asha@xn--mnchen-3ya.de', own)).status).toBe(400)
    expect((await send('asha@xn--mnchen-3ya.de', key)).status).toBe(201)
  })

  it('applies on WhatsApp to both forms of a number, for contacts too', async () => {
    const { key } = await world().key(owner)
    const send = async (to: string) => {
      const json = { channel: 'whatsapp', to, content: { text: 'Hi' } }
      return (await world().call('POST', '/api/v1/messages/send', { key, json })).body.message
    }
    const other = '+5491123456789'
    await add({ channel: 'whatsapp', address: '+541123456789' })
    expect(await send(other)).toContain('suppressed')
    await call('DELETE', `${SUPPRESSIONS}/whatsapp/${encodeURIComponent(other)}`)
    expect(await send('+541123456789')).not.toContain('suppressed')
    const contact = { phone: '+5511987654321', subscriptions: { whatsapp: 'unsubscribed' } }
    const { body } = await call('POST', '/api/v1/contacts', contact)
    expect(await send('+551187654321')).toContain('suppressed')
    await call('PUT', `/api/v1/contacts/${body.data.contact.id}`, {
      subscriptions: { whatsapp: 'subscribed' },
    })
    expect(await standing()).toEqual([])
    await call('POST', '/api/v1/contacts/import', { contacts: [{ ...contact, name: 'Ana' }] })
    expect(await standing()).toHaveLength(2)
  })

  it('is idempotent: the first suppression stays, and is returned', async () => {
    const first = await add({ channel: 'sms', address: '+255700000001', reason: 'bounce' })
    await world().advance(1_000)
    const second = await add({ channel: 'sms', address: '+255700000001', reason: 'opt_out' })
    expect(second.status).toBe(201)
    expect(second.body).toStrictEqual(first.body)
    expect((await listed()).pagination.total).toBe(1)
  })

  it.each([
    [{ channel: undefined }, 'Missing required field: channel', 'channel'],
    [{ channel: '' }, 'Missing required field: channel', 'channel'],
    [{ channel: 'fax' }, CHANNEL_TEXT, 'channel'],
    [{ address: undefined }, 'Missing required field: address', 'address'],
    [{ address: '' }, 'Missing required field: address', 'address'],
    [{ address: '0700000001' }, 'Phone number must be in E.164 format', 'address'],
    [{ address: 'asha@example.com' }, 'Phone number must be in E.164 format', 'address'],
    [{ channel: 'email' }, 'Invalid email address format', 'address'],
    [{ reason: 'whim' }, 'reason must be one of: opt_out, bounce, complaint, manual', 'reason'],
  ])('returns 400 for %j', async (part, message, path) => {
    const { status, body } = await add({ channel: 'sms', address: '+255700000001', ...part })
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, path)])
  })
})

describe(`GET ${SUPPRESSIONS}`, () => {
  beforeEach(async () => {
    await add({ channel: 'sms', address: '+255700000001', reason: 'opt_out' })
    await world().advance(1_000)
    await add({ channel: 'email', address: 'a_b@example.com', reason: 'bounce' })
    await world().advance(1_000)
    await add({ channel: 'email', address: 'axb@example.com', reason: 'complaint' })
  })

  it.each([
    ['', ['axb@example.com', 'a_b@example.com', '+255700000001']],
    ['?channel=sms', ['+255700000001']],
    ['?reason=bounce', ['a_b@example.com']],
    ['?search=A_B', ['a_b@example.com']],
    ['?search=%2B2557', ['+255700000001']],
    ['?search=+2557', ['+255700000001']],
    ['?channel=email&search=example&limit=1&page=2', ['a_b@example.com']],
    ['?channel=voice', []],
  ])('lists newest first: %s', async (query, addresses) => {
    const { suppressions, pagination } = await listed(query)
    expect(suppressions.map(({ address }: { address: string }) => address)).toStrictEqual(addresses)
    expect(pagination).toMatchObject({ limit: query.includes('limit') ? 1 : 50 })
  })

  it.each([
    ['channel=fax', CHANNEL_TEXT, 'channel'],
    ['reason=whim', 'reason must be one of: opt_out, bounce, complaint, manual', 'reason'],
    ['limit=101', 'Limit must be between 1 and 100', 'limit'],
  ])('returns 400 for %s', async (query, message, path) => {
    const { status, body } = await call('GET', `${SUPPRESSIONS}?${query}`)
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, path)])
  })
})

describe(`DELETE ${SUPPRESSIONS}/:channel/:address`, () => {
  it('lifts a suppression, with any reason and any spelling of its address', async () => {
    await add({ channel: 'email', address: 'a/b+c@example.com', reason: 'complaint' })
    const path = `${SUPPRESSIONS}/email/${encodeURIComponent('A/B+c@Example.com')}`
    const { status, body } = await call('DELETE', path)
    expect([status, body.data]).toStrictEqual([200, { message: 'Suppression lifted' }])
    expect(await standing()).toStrictEqual([])
    expect((await call('DELETE', path)).body).toStrictEqual(NOT_FOUND)
  })

  it("returns 404 for another workspace's, another channel and an unknown channel", async () => {
    const path = await world().suppression(owner)
    const stranger = await world().signup()
    const paths = [path.replace('sms', 'voice'), path.replace('sms', 'fax'), 'sms/%00']
    const answers = [
      await call('DELETE', `${SUPPRESSIONS}/${path}`, undefined, stranger),
      ...(await Promise.all(paths.map((each) => call('DELETE', `${SUPPRESSIONS}/${each}`)))),
    ]
    for (const { status, body } of answers) {
      expect([status, body]).toStrictEqual([404, NOT_FOUND])
    }
    expect(await standing()).toHaveLength(1)
  })
})

describe("a contact's subscriptions", () => {
  const PHONE = '+255700000001'
  const put = async (id: string, json: object) =>
    expectStatus(200, await call('PUT', `/api/v1/contacts/${id}`, json)).body.data.contact
  const get = async (id: string) =>
    expectStatus(200, await call('GET', `/api/v1/contacts/${id}`)).body.data.contact

  it('add a suppression when unsubscribed, and lift it when subscribed', async () => {
    const subscriptions = { sms: 'unsubscribed', email: 'unsubscribed', voice: 'subscribed' }
    const email = 'Asha@Example.com'
    const { id, ...made } = await world().contact(owner, { phone: PHONE, email, subscriptions })
    expect(made.subscriptions).toStrictEqual(subscriptions)
    expect(await standing()).toStrictEqual([
      'email asha@example.com opt_out',
      `sms ${PHONE} opt_out`,
    ])
    const { subscriptions: after } = await put(id, { subscriptions: { sms: 'subscribed' } })
    expect(after).toStrictEqual({ ...subscriptions, sms: 'subscribed' })
    expect(await standing()).toStrictEqual(['email asha@example.com opt_out'])
  })

  it('show any suppression of the address, and its end', async () => {
    const { id } = await world().contact(owner, { phone: PHONE })
    await add({ channel: 'sms', address: PHONE, reason: 'bounce' })
    expect((await get(id)).subscriptions).toStrictEqual({ sms: 'unsubscribed' })
    const { body } = await call('GET', '/api/v1/contacts')
    expect(body.data.contacts[0].subscriptions).toStrictEqual({ sms: 'unsubscribed' })
    await call('DELETE', `${SUPPRESSIONS}/sms/${PHONE}`)
    expect((await get(id)).subscriptions).toStrictEqual({})
  })

  it.each(['bounce', 'complaint', 'manual'])('do not lift a %s', async (reason) => {
    const { id } = await world().contact(owner, { phone: PHONE })
    await add({ channel: 'sms', address: PHONE, reason })
    const { subscriptions } = await put(id, { subscriptions: { sms: 'subscribed' } })
    expect(subscriptions).toStrictEqual({ sms: 'unsubscribed' })
    expect(await standing()).toStrictEqual([`sms ${PHONE} ${reason}`])
  })

  it('that are missing stay unchanged: a PUT of an old record lifts no suppression', async () => {
    const { id, ...old } = await world().contact(owner, { phone: PHONE })
    await add({ channel: 'sms', address: PHONE, reason: 'opt_out' })
    await put(id, { ...old, name: 'Neema' })
    expect(await standing()).toStrictEqual([`sms ${PHONE} opt_out`])
  })

  it('follow the person to a new address, and the old one stays suppressed', async () => {
    const { id } = await world().contact(owner, { phone: PHONE })
    await add({ channel: 'sms', address: PHONE, reason: 'opt_out' })
    await add({ channel: 'voice', address: PHONE, reason: 'bounce' })
    const { subscriptions } = await put(id, { phone: '+255700000002' })
    expect(subscriptions).toStrictEqual({ sms: 'unsubscribed' })
    expect(await standing()).toStrictEqual(
      [`sms ${PHONE} opt_out`, 'sms +255700000002 opt_out', `voice ${PHONE} bounce`].sort(),
    )
  })

  it('apply when the address becomes known', async () => {
    const { id } = await world().contact(owner, {
      phone: PHONE,
      subscriptions: { email: 'unsubscribed' },
    })
    expect((await get(id)).subscriptions).toStrictEqual({ email: 'unsubscribed' })
    expect(await standing()).toStrictEqual([])
    await put(id, { email: 'later@example.com' })
    expect(await standing()).toStrictEqual(['email later@example.com opt_out'])
  })

  it('null subscribes to all channels, except after an opt-out of the person', async () => {
    const { id } = await world().contact(owner, {
      phone: PHONE,
      subscriptions: { sms: 'unsubscribed', voice: 'unsubscribed' },
    })
    await add({ channel: 'whatsapp', address: PHONE, reason: 'bounce' })
    const { subscriptions } = await put(id, { subscriptions: null })
    expect(subscriptions).toStrictEqual({ whatsapp: 'unsubscribed' })
    expect(await standing()).toStrictEqual([`whatsapp ${PHONE} bounce`])
  })

  it('stay unchanged after a refused change', async () => {
    await world().contact(owner, { phone: '+255700000009' })
    const { id } = await world().contact(owner, { phone: PHONE })
    const json = { phone: '+255700000009', subscriptions: { sms: 'unsubscribed' } }
    expect((await call('PUT', `/api/v1/contacts/${id}`, json)).status).toBe(400)
    expect(await standing()).toStrictEqual([])
  })
})

describe('one workspace', () => {
  let other: Account
  beforeAll(async () => {
    other = await world().signup()
  })

  it('does not suppress recipients of another', async () => {
    await add({ channel: 'sms', address: '+255700000001' })
    const contact = await world().contact(other, { phone: '+255700000001' })
    expect(contact.subscriptions).toStrictEqual({})
    expect((await listed('', other)).suppressions).toStrictEqual([])
  })
})
