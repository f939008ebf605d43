import type { Role } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import { type Account, sms } from './accounts.ts'
import { openWorld, type World } from './world.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const PHONE = '+15005550006'
const TEST = { 'x-svc-mode': 'test' }

describe.each(['sqlite', 'postgres'])('people on %s', (engine) => {
  let world: World
  let owner: Account
  let stranger: Account
  let asha: string
  let foreign: string

  beforeAll(async () => {
    world = await openWorld({
      dispatch: true,
      ...(engine === 'postgres' && { database_url: database.url }),
      console: {
        authenticate: async ({ headers: { 'x-person': id, 'x-role': role } }) =>
          typeof id === 'string' ? { workspace_id: id, role: role as Role | undefined } : null,
      },
    })
    owner = await world.signup({ credits: 100 })
    stranger = await world.signup({ credits: 100 })
    asha = (await world.contact(owner, contact('Asha Kamau-Oduya', PHONE))).id
    await world.contact(owner, contact('Ashanti Mwangi', '+15005550016'))
    foreign = (await world.contact(stranger, contact('Asha Stranger', PHONE))).id
  })
  afterAll(() => world.close())

  const contact = (name: string, phone: string) => ({
    ...{ name, phone, email: `${name.split(' ')[0]}@Example.com` },
    ...{ tags: ['vip'], attributes: { city: 'Nairobi' } },
  })

  async function request(path: string, { person = owner, role = 'owner', headers = {} } = {}) {
    const answer = await world.app.inject({
      url: `/console/api${path}`,
      headers: {
        ...{ 'sec-fetch-site': 'same-origin', 'x-person': person.id, 'x-role': role },
        ...headers,
      },
    })
    return { status: answer.statusCode, body: JSON.parse(answer.body) }
  }

  async function get(path: string, options = {}) {
    const { status, body } = await request(path, options)
    expect(status, JSON.stringify(body)).toBe(200)
    return body.data
  }

  it('have tags, which only roles that may read see', async () => {
    const person = await world.signup()
    await world.contact(person, { phone: PHONE, tags: ['wholesale', 'retail'] })
    expect(await get('/tags', { person })).toEqual({ tags: ['retail', 'wholesale'] })
    expect(await get('/tags')).toEqual({ tags: ['vip'] })
    expect((await request('/tags', { role: 'billing' })).status).toBe(403)
  })

  async function post(path: string, payload: object, { person = owner, headers = {} } = {}) {
    const answer = await world.app.inject({
      method: 'POST',
      url: `/console/api/v1${path}`,
      headers: { 'sec-fetch-site': 'same-origin', 'x-person': person.id, ...headers },
      payload,
    })
    const body = JSON.parse(answer.body)
    expect([200, 201, 202], answer.body).toContain(answer.statusCode)
    await world.dispatcher.idle()
    return body.data
  }

  const send = async (json: object, options = {}): Promise<string> =>
    (await post('/messages/send', { ...sms, to: PHONE, ...json }, options)).message_id

  const namesOf = async (search: string, options = {}) => {
    const { people } = await get(`/people?${new URLSearchParams({ search })}`, options)
    return people.map(({ name }: { name: string }) => name)
  }

  it.each([
    ['asha', ['Asha Kamau-Oduya', 'Ashanti Mwangi']],
    ['  ASHA  ', ['Asha Kamau-Oduya', 'Ashanti Mwangi']],
    ['oduya asha', ['Asha Kamau-Oduya']],
    ['mwa', ['Ashanti Mwangi']],
    ['15005550016', ['Ashanti Mwangi']],
    ['+1500555001', ['Ashanti Mwangi']],
    ['ashanti@example', ['Ashanti Mwangi']],
    ['sha', []],
    ['asha mwangi stranger', []],
    ['--', []],
  ])('finds the people whose words begin with %j', async (search, names) => {
    expect(await namesOf(search)).toEqual(names)
  })

  it('finds people of the own workspace only, also for a viewer, and refuses roles that read nothing', async () => {
    expect(await namesOf('asha', { person: stranger })).toEqual(['Asha Stranger'])
    expect(await namesOf('kamau', { role: 'viewer' })).toEqual(['Asha Kamau-Oduya'])
    for (const path of ['?search=asha', `/${asha}`, `/${asha}/history`]) {
      expect((await request(`/people${path}`, { role: 'billing' })).status).toBe(403)
    }
  })

  it('has at most as many people as asked for, and bounds what is asked', async () => {
    expect((await get('/people?search=asha&limit=1')).people).toHaveLength(1)
    expect((await request('/people')).status).toBe(400)
    expect((await request('/people?search=a&limit=101')).status).toBe(400)
    expect((await request(`/people?search=${'a'.repeat(256)}`)).status).toBe(400)
    expect((await request(`/people?search=${'a%20'.repeat(60)}`)).status).toBe(200)
  })

  it('shows nothing of the contact of another workspace', async () => {
    for (const path of ['', '/history']) {
      expect((await request(`/people/${foreign}${path}`)).status).toBe(404)
    }
    expect((await request(`/messages?contact_id=${foreign}`)).status).toBe(404)
  })

  it('shows suppressions with the reply that caused them, and where the time zone is from', async () => {
    const { zone, contact, suppressions } = await get(`/people/${asha}`)
    expect(contact).toMatchObject({ id: asha, tags: ['vip'], attributes: { city: 'Nairobi' } })
    expect([zone, suppressions]).toEqual([{ time_zone: 'UTC', source: 'workspace' }, []])
    const kenyan = { name: 'Neema', phone: '+254700000001' }
    const neema = (await world.contact(owner, kenyan)).id
    expect((await get(`/people/${neema}`)).zone).toEqual({
      ...{ time_zone: 'Africa/Nairobi', source: 'country' },
    })
    const attributes = { time_zone: 'Asia/Tokyo' }
    const moved = await world.contact(owner, { name: 'Kei', phone: '+254700000002', attributes })
    expect((await get(`/people/${moved.id}`)).zone).toEqual({
      ...{ time_zone: 'Asia/Tokyo', source: 'contact' },
    })
    await send({ to: kenyan.phone })
    const reply = { channel: 'sms', sender: kenyan.phone, recipient: '+14155550190' } as const
    await world.core.received.simulate(owner.id, { ...reply, text: 'STOP' })
    await post('/contacts/suppressions', { channel: 'whatsapp', address: kenyan.phone })
    const stopped = await get(`/people/${neema}`)
    const { entries } = await get(`/people/${neema}/history?kind=received`)
    expect(stopped.contact.subscriptions).toMatchObject({ sms: 'unsubscribed' })
    expect(stopped.suppressions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{ channel: 'sms', reason: 'opt_out', received_id: entries[0].received.id },
        }),
        expect.objectContaining({ channel: 'whatsapp', reason: 'manual', received_id: null }),
      ]),
    )
  })

  describe('the history', () => {
    const ids: string[] = []
    const idOf = (entry: Record<string, { id: string } & string>) => entry[entry.kind ?? '']?.id
    const history = async (query = '', options = {}) => {
      const answer = await get(`/people/${asha}/history${query}`, options)
      return { ...answer, ids: answer.entries.map(idOf) }
    }

    beforeAll(async () => {
      ids.push(await send({ content: { text: 'First' } }))
      const content = { subject: 'Hi', text: 'x' }
      ids.push(await send({ channel: 'email', to: 'asha@example.com', content }))
      const bulk = await post('/messages/bulk', {
        ...{ channel: 'sms', content: { text: 'Sale' }, metadata: { campaign: 'May' } },
        recipients: [{ to: PHONE }, { to: '+15005550016' }],
      })
      const { messages } = await get(`/messages?bulk_id=${bulk.bulk_id}`)
      ids.push(messages.find((one: { recipient: string }) => one.recipient === PHONE).id)
      await world.core.received.simulate(owner.id, {
        ...{ channel: 'sms', sender: PHONE, recipient: '+14155550190', text: 'Thanks' },
      })
      const received = await get('/v1/messages/received?limit=1')
      ids.push(received.received[0].id)
      const code = await post('/verifications', { to: PHONE, channel: 'sms' })
      ids.push(code.verification_id)
      await send({ to: '+15005550016', content: { text: 'Of another person' } })
      await send({ content: { text: 'Of another workspace' } }, { person: stranger })
    })

    it('has the messages on all channels, the replies and the codes, newest first', async () => {
      const { entries, next_after } = await history()
      const kinds = entries.map(({ kind }: { kind: string }) => kind)
      expect(kinds.filter((kind: string) => kind !== 'message')).toEqual([
        'verification',
        'received',
      ])
      const found = entries.map(idOf).filter((id: string) => ids.includes(id))
      expect(found).toEqual(ids.toReversed())
      expect(next_after).toBeNull()
      expect(entries).toHaveLength(6)
      const ofBulk = entries.find((one: { message?: { id: string } }) => one.message?.id === ids[2])
      expect(ofBulk.bulk).toMatchObject({ name: 'May', broadcast_id: null })
      const code = entries.find(({ kind }: { kind: string }) => kind === 'verification')
      expect(code.verification).toMatchObject({ status: 'pending', to: PHONE })
      expect(JSON.stringify(entries)).not.toMatch(/"seed"|another/)
    })

    it('has pages of all kinds together, which neither repeat nor skip an entry', async () => {
      const all = (await history()).ids
      const seen: string[] = []
      let after = ''
      do {
        const page = await history(`?limit=2${after && `&after=${after}`}`)
        seen.push(...page.ids)
        after = page.next_after ?? ''
      } while (after)
      expect(seen).toEqual(all)
    })

    it('has a next page while entries of the same kind remain', async () => {
      const { next_after } = await history('?kind=message&limit=1')
      expect(next_after).not.toBeNull()
    })

    it('is one kind or one channel if asked', async () => {
      expect((await history('?kind=received')).ids).toEqual([ids[3]])
      expect((await history('?kind=verification')).ids).toEqual([ids[4]])
      expect((await history('?channel=email')).ids).toEqual([ids[1]])
      expect((await request(`/people/${asha}/history?kind=other`)).status).toBe(400)
    })

    it('has only test data in test mode', async () => {
      const id = await send({ content: { text: 'A test' } }, { headers: TEST })
      expect((await history('', { headers: TEST })).ids).toEqual([id])
    })

    it('is a filter of the list of messages, beside the others', async () => {
      const list = async (query: string) => {
        const { messages } = await get(`/messages?contact_id=${asha}&${query}`)
        return messages.map((one: { id: string }) => one.id)
      }
      const all = await list('')
      expect(all).toEqual(expect.arrayContaining([ids[0], ids[1], ids[2]]))
      expect(await list('channel=email')).toEqual([ids[1]])
      expect(await list('search=sale')).toEqual([ids[2]])
      expect(await list('search=another')).toEqual([])
      expect(await list(`search=${ids[0]}`)).toEqual([ids[0]])
      expect(await list('limit=2')).toEqual(all.slice(0, 2))
      expect(await list(`limit=2&after=${all[1]}`)).toEqual(all.slice(2, 4))
    })
  })
})
