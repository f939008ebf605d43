import { type Role, units } from '@svc/core/contract'
import { readProvider } from '@svc/core/operate'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Account, bulk, sms } from './accounts.ts'
import { openReceiver } from './receiver.ts'
import { useWorld } from './world.ts'

const world = useWorld({
  dispatch: true,
  low_balance: '5',
  providers: [
    readProvider({
      type: 'twilio',
      name: 'whatsapps',
      account_sid: `AC${'0'.repeat(32)}`,
      auth_token: '0'.repeat(32),
      senders: { whatsapp: ['+14155550190'] },
    }),
  ],
  console: {
    authenticate: async ({ headers: { 'x-person': id, 'x-role': role } }) =>
      typeof id === 'string' ? { workspace_id: id, role: role as Role | undefined } : null,
  },
})

let owner: Account

async function request(
  method: 'GET' | 'POST',
  path: string,
  { json, person = owner, headers = {} }: Options = {},
) {
  const answer = await world().app.inject({
    method,
    url: `/console/api${path}`,
    headers: { 'sec-fetch-site': 'same-origin', 'x-person': person.id, ...headers },
    ...(json && { payload: json }),
  })
  return { status: answer.statusCode, headers: answer.headers, text: answer.body }
}

interface Options {
  json?: object
  person?: Account
  headers?: Record<string, string>
}

async function data(method: 'GET' | 'POST', path: string, options: Options = {}) {
  const { status, text } = await request(method, path, options)
  const body = JSON.parse(text)
  expect([200, 201], text).toContain(status)
  return body.data
}

const get = (path: string, options?: Options) => data('GET', path, options)

async function send(json: object, options: Options = {}): Promise<string> {
  const found = await data('POST', '/v1/messages/send', { ...options, json: { ...sms, ...json } })
  await world().dispatcher.idle()
  return found.message_id
}

const TEST = { 'x-svc-mode': 'test' }
const ALL_SENT = { is_frozen: false, is_paused: false, paused_channels: [] }

describe('the search of messages', () => {
  const email = { channel: 'email', to: 'asha@example.com' }
  let ids: Record<'plain' | 'failed' | 'marked' | 'mail' | 'test', string>
  let stranger: Account

  beforeAll(async () => {
    owner = await world().signup({ credits: 100 })
    stranger = await world().signup({ credits: 100 })
    const subject = 'Ihr Auftrag "A_1%" für Ärzte'
    ids = {
      plain: await send({ content: { text: 'Your parcel is HERE' } }),
      failed: await send({ to: '+15005550001' }),
      marked: await send({ metadata: { order: 'Zeta-77' } }),
      mail: await send({ ...email, content: { subject, text: 'x' } }),
      test: await send({ content: { text: 'A parcel too' } }, { headers: TEST }),
    }
    await send({ content: { text: 'The parcel of another workspace' } }, { person: stranger })
  })

  const found = async (query: Record<string, string>, options: Options = {}) => {
    const answer = await get(`/messages?${new URLSearchParams(query)}`, options)
    const names = Object.entries(ids)
    return answer.messages.map(({ id }: { id: string }) => names.find((one) => one[1] === id)?.[0])
  }

  it.each([
    ['a part of the recipient', '4155552', ['test', 'marked', 'plain']],
    ['a recipient whose + was not escaped', '+15005550001', ['failed']],
    ['an address in another case', 'ASHA@', ['mail']],
    ['a value of the metadata', 'zeta', ['marked']],
    ['a part of the text', 'parcel', ['test', 'plain']],
    ['a text with quotes and wildcards of SQL', '"A_1%"', ['mail']],
    ['a letter that is not ASCII', 'für Ä', ['mail']],
    ['a text that no message has', 'A%1', []],
  ])('finds messages by %s', async (_, search, expected) => {
    expect(await found({ search })).toEqual(expected)
  })

  it('finds a message by its id, and no message of others', async () => {
    expect(await found({ search: ids.mail })).toEqual(['mail'])
    expect(await found({ search: ids.mail }, { person: stranger })).toEqual([])
    expect(await found({ search: ids.plain }, { headers: TEST })).toEqual([])
  })

  it('combines a text with filters, and sees only test data in test mode', async () => {
    expect(await found({ search: 'e', status: 'failed' })).toEqual(['failed'])
    expect(await found({ search: 'e', channel: 'email' })).toEqual(['mail'])
    expect(await found({ search: 'e', endDate: '2020-01-01T00:00:00Z' })).toEqual([])
    expect(await found({ search: 'parcel' }, { headers: TEST })).toEqual(['test'])
    expect(await found({ status: 'delivered' })).toEqual(['test', 'mail', 'marked', 'plain'])
  })

  it('names the contacts of the workspace that are recipients', async () => {
    await data('POST', '/v1/contacts', { json: { name: 'Asha', email: 'Asha@example.com' } })
    const json = { name: 'A contact of others', phone: '+15005550001' }
    await data('POST', '/v1/contacts', { json, person: stranger })
    const { messages } = await get('/messages')
    const named = messages.filter(({ contact }: { contact: object | null }) => contact)
    expect(named).toMatchObject([{ id: ids.mail, contact: { name: 'Asha' } }])
  })

  it('has pages', async () => {
    const first = await get('/messages?search=parcel&limit=1')
    expect(first).toMatchObject({ messages: [{ id: ids.test }], next_after: ids.test, total: null })
    const second = await get(`/messages?search=parcel&limit=1&after=${ids.test}`)
    expect(second).toMatchObject({ messages: [{ id: ids.plain }], next_after: null })
    const all = await get('/messages?limit=2')
    expect([all.total, all.messages.length, all.next_after]).toEqual([5, 2, ids.mail])
  })

  it('finds messages by their error, key, sender and tag, and none of another workspace', async () => {
    const { messages } = await get(`/messages?search=${ids.failed}`)
    const { error_code } = messages[0]
    const { id: api_key_id, key } = await world().key(owner)
    const content = { subject: 'Hi', text: 'x', tags: [{ name: 'campaign', value: 'may' }] }
    const headers = { 'x-api-key': key }
    const own = await world().call('POST', '/api/v1/messages/send', {
      headers,
      json: { ...email, content },
    })
    const byKey = own.body.data.message_id
    await world().dispatcher.idle()
    const idsOf = async (query: Record<string, string>, options: Options = {}) => {
      const answer = await get(`/messages?${new URLSearchParams(query)}`, options)
      return answer.messages.map(({ id }: { id: string }) => id)
    }
    expect(await idsOf({ error_code })).toEqual([ids.failed])
    expect(await idsOf({ error_code, channel: 'email' })).toEqual([])
    expect(await idsOf({ error_code }, { person: stranger })).toEqual([])
    expect(await idsOf({ api_key_id })).toEqual([byKey])
    expect(await idsOf({ tag: 'may' })).toEqual([byKey])
    expect(await idsOf({ tag: 'campaign', search: 'asha' })).toEqual([byKey])
    expect(await idsOf({ sender: 'Other' })).toEqual([])
  })

  it('finds the messages to the contacts of a name, and none by a name of another workspace', async () => {
    await data('POST', '/v1/contacts', { json: { name: 'Amani Juma', phone: '+15005550001' } })
    const json = { name: 'Neema Juma', phone: sms.to }
    await data('POST', '/v1/contacts', { json, person: stranger })
    expect(await found({ search: 'Amani Juma' })).toEqual(['failed'])
    expect(await found({ search: 'juma ama' })).toEqual(['failed'])
    expect(await found({ search: 'Amani', channel: 'email' })).toEqual([])
    const both = { name: 'Zuri', phone: '+15005550099', email: email.to }
    await data('POST', '/v1/contacts', { json: both, person: stranger })
    await send({ ...email, content: { subject: 'Hi', text: 'x' } }, { person: stranger })
    // A number is not a name: it finds no e-mails of the same contact.
    expect(await found({ search: '+15005550099' }, { person: stranger })).toEqual([])
    expect(await found({ search: 'Zuri' }, { person: stranger })).toHaveLength(1)
    expect(await found({ search: 'Neema Juma' })).toEqual([])
    // The words of addresses come first in the index.
    for (let i = 0; i < 20; i++) {
      await data('POST', '/v1/contacts', { json: { email: `aman@h${i}.example` } })
    }
    expect(await found({ search: 'Aman' })).toEqual(['failed'])
    expect(await found({ search: 'Amani' }, { person: stranger })).toEqual([])
  })
})

describe('the HTML of an e-mail', () => {
  it('is a document that runs and loads nothing, for members of its workspace', async () => {
    owner = await world().signup({ credits: 100 })
    const html = '<b>Hi</b><script>alert(1)</script>'
    const content = { subject: 'Hi', html }
    const id = await send({ channel: 'email', to: 'asha@example.com', content })
    const { text, headers } = await request('GET', `/messages/${id}/html?mode=live`)
    expect([text, headers['content-type']]).toEqual([html, 'text/html; charset=utf-8'])
    const policy = `${headers['content-security-policy']}`
    expect(policy).toMatch(/^default-src 'none'; .*; sandbox$/)
    expect(policy).not.toContain('script-src')
    expect((await request('GET', `/messages/${id}/html?mode=test`)).status).toBe(404)
    expect((await request('GET', `/messages/${await send({})}/html`)).text).toBe('')
    const person = await world().signup()
    expect((await request('GET', `/messages/${id}/html`, { person })).status).toBe(404)
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect((await request('GET', `/messages/${id}/html`, { headers: foreign })).status).toBe(403)
  })
})

describe('the page of templates', () => {
  it('has an empty document for previews, which only pages of the console reach and which runs no script', async () => {
    const { body, headers } = await world().app.inject({ url: '/console/assets/mail.html' })
    expect(body).toBe('<!doctype html><html lang="en"><title>E-mail</title></html>')
    const policy = `${headers['content-security-policy']}`
    expect(policy).toMatch(
      /^default-src 'none'; .*; frame-ancestors 'self'; sandbox allow-same-origin$/,
    )
    expect(policy).not.toContain('script')
  })

  it('gives previews to roles that may read, and changes only for those that may send', async () => {
    owner = await world().signup()
    const variants = [{ channel: 'sms', locale: 'en', content: { text: 'Hi {{name}}' } }]
    const preview = { template: { variants }, channel: 'sms', variables: { name: 'Asha' } }
    const template = { name: 'hi', variants }
    const status = async (path: string, json: object, role: string) =>
      (await request('POST', `/v1/templates${path}`, { json, headers: { 'x-role': role } })).status
    for (const role of ['viewer', 'billing']) {
      expect(await status('', template, role)).toBe(403)
      expect(await status('/preview', preview, role)).toBe(role === 'viewer' ? 200 : 403)
    }
    expect(await status('', template, 'developer')).toBe(201)
    expect(await status('/hi/publish', {}, 'viewer')).toBe(403)
    const json = { json: preview, headers: { ...TEST, 'x-role': 'viewer' } }
    expect((await data('POST', '/v1/templates/preview', json)).preview).toMatchObject({
      content: { text: 'Hi Asha' },
      segments: 1,
    })
  })
})

describe('the list of bulks', () => {
  it('has the progress of each bulk of the workspace, newest first, in pages', async () => {
    owner = await world().signup({ credits: 100 })
    const sendBulk = async (json: object, headers = {}) => {
      const made = await data('POST', '/v1/messages/bulk', { json: { ...bulk, ...json }, headers })
      await world().dispatcher.idle()
      return made.bulk_id
    }
    const recipients = ['+14155552671', '+15005550001', 'no number']
    const first = await sendBulk({ recipients, validation: 'permissive' })
    const second = await sendBulk({ scheduled_at: '2026-05-10T00:00:00Z' }, TEST)
    const { bulks, next_after } = await get('/bulks')
    expect(next_after).toBeNull()
    expect(bulks).toMatchObject([
      {
        ...{ id: second, status: 'queued', queued: 2, failed: 0, livemode: false },
        scheduled_at: '2026-05-10T00:00:00.000Z',
      },
      {
        ...{ id: first, status: 'completed', total: 3, accepted: 2, rejected: 1, failed: 1 },
        scheduled_at: null,
      },
    ])
    expect((await get(`/bulks?id=${second}`)).bulks).toMatchObject([{ id: second }])
    expect((await get(`/bulks?id=${second}`, { person: await world().signup() })).bulks).toEqual([])
    expect((await get('/bulks?limit=1')).next_after).toBe(second)
    expect((await get(`/bulks?limit=1&after=${second}`)).bulks[0].id).toBe(first)
    expect((await get('/bulks?channel=email')).bulks).toEqual([])
    expect((await get('/bulks', { headers: TEST })).bulks).toHaveLength(1)
    expect((await get('/bulks', { person: await world().signup() })).bulks).toEqual([])
  })
})

describe('the findings', () => {
  const kinds = async (options: Options = {}) =>
    (await get('/findings', options)).findings.map(({ kind }: { kind: string }) => kind)

  beforeEach(async () => {
    owner = await world().signup()
    await world().verify(owner)
  })

  it('name missing credits, broken webhooks and unverified domains', async () => {
    expect(await kinds()).toEqual(['no_credits'])
    expect(await kinds({ headers: TEST })).toEqual([])
    await world().core.credits.setTerms(owner.id, { credit_limit: units(5_000_000) })
    expect(await kinds()).toEqual(['low_balance'])
    await world().grant(owner, 2)
    const { id } = await world().webhook(owner, { url: 'http://127.0.0.1:9/hook' })
    const { token } = owner
    const json = { is_active: false }
    await world().call('PUT', `/api/v1/webhooks/${id}`, { token, json })
    await world().call('POST', '/api/v1/domains', { token, json: { domain: 'mail.example.com' } })
    const { findings } = await get('/findings')
    expect(findings).toMatchObject([
      { kind: 'low_balance' },
      { kind: 'webhook_disabled', id, name: 'http://127.0.0.1:9/hook' },
      { kind: 'domain_unverified', name: 'mail.example.com' },
    ])
    expect(await kinds({ headers: { 'x-role': 'billing' } })).toEqual(['low_balance'])
  })

  it('name a webhook whose receiver fails, with its next attempt', async () => {
    await world().grant(owner, 100)
    const receiver = await openReceiver({ answer: () => 500 })
    const { id } = await world().webhook(owner, { url: receiver.url, events: ['message.sent'] })
    for (let i = 0; i < 4; i++) await send({})
    expect(await kinds()).toEqual([])
    await send({})
    const [found] = (await get('/findings')).findings
    await receiver.close()
    expect(found).toMatchObject({ kind: 'webhook_failing', id, name: receiver.url })
    expect(Date.parse(found.until)).toBeGreaterThan(world().now().getTime())
  })

  it('name a webhook that has only failed since it was enabled again', async () => {
    await world().grant(owner, 100)
    let status = 200
    const receiver = await openReceiver({ answer: () => status })
    const { id } = await world().webhook(owner, { url: receiver.url, events: ['message.sent'] })
    // Others that fail, but were not enabled again. They are first in the list.
    const refused = { url: 'http://127.0.0.1:9/hook', events: ['message.sent'] }
    for (let i = 0; i < 6; i++) await world().webhook(owner, refused)
    const { token } = owner
    const enable = async (is_active: boolean) =>
      world().call('PUT', `/api/v1/webhooks/${id}`, { token, json: { is_active } })
    // Without a success it would share the gate of its address with the receivers of other tests.
    await send({})
    await world().advance(1_000)
    status = 500
    await send({})
    expect(await kinds()).toEqual([])
    await enable(false)
    await enable(true)
    expect(await kinds()).toEqual([])
    await send({})
    const failing = (await get('/findings')).findings
    status = 200
    await send({})
    const repaired = await kinds()
    await receiver.close()
    expect(failing).toMatchObject([{ kind: 'webhook_failing', id, name: receiver.url }])
    expect(repaired).toEqual([])
  })

  it('name the most frequent error of many failures in the last hour', async () => {
    await world().grant(owner, 100)
    for (let i = 0; i < 4; i++) {
      const later = await send({ scheduled_at: '2026-05-10T00:00:00Z' })
      await data('POST', `/v1/messages/${later}/cancel`)
      await send({ to: '+15005550001' })
    }
    expect(await kinds()).toEqual([])
    await send({ to: '+15005550001' })
    const [found] = (await get('/findings')).findings
    expect(found).toMatchObject({ kind: 'failures', count: 5, name: 'invalid_recipient' })
    expect(await kinds({ person: await world().signup({ credits: 10 }) })).not.toContain('failures')
    await world().advance(61 * 60_000)
    expect(await kinds()).toEqual([])
  })

  it('report a freeze and a pause of all sending', async () => {
    await world().grant(owner, 100)
    expect(await get('/sending')).toEqual(ALL_SENT)
    await world().core.credits.setTerms(owner.id, { status: 'frozen', reason: 'a secret reason' })
    await world().core.dispatch.stop({ reason: 'a secret reason' })
    const [answer, sending, ofTest] = [
      await get('/findings'),
      await get('/sending'),
      await get('/sending', { headers: TEST }),
    ]
    await world().core.dispatch.resume()
    expect(answer.findings.map(({ kind }: { kind: string }) => kind)).toEqual([
      'frozen',
      'sending_paused',
    ])
    expect(sending).toEqual({ ...ALL_SENT, is_frozen: true, is_paused: true })
    expect(ofTest).toEqual({ ...ALL_SENT, is_paused: true })
    expect(JSON.stringify([answer, sending])).not.toContain('secret reason')
    expect(await get('/sending', { person: await world().signup() })).toEqual(ALL_SENT)
  })

  it('name the channels of a paused provider', async () => {
    await world().grant(owner, 100)
    await world().core.providers.pause('whatsapps', { reason: 'a secret reason' })
    expect((await get('/findings')).findings).toEqual([])
    expect(await get('/sending')).toEqual({ ...ALL_SENT, paused_channels: ['whatsapp'] })
    expect(await get('/sending', { headers: TEST })).toEqual(ALL_SENT)
    await send({ channel: 'whatsapp' })
    const answer = await get('/findings')
    await world().core.providers.resume('whatsapps')
    // The channel goes on with its other senders.
    await world().core.providers.pause('whatsapps', { sender: '+14155550190', reason: 'one' })
    const ofSender = await get('/findings')
    await world().core.providers.resume('whatsapps', { sender: '+14155550190' })
    expect(ofSender.findings).toEqual([])
    expect(answer.findings).toMatchObject([
      { kind: 'channel_paused', id: 'whatsapp', name: 'whatsapp' },
    ])
    expect(JSON.stringify(answer)).not.toContain('secret reason')
  })

  it('name the countries whose codes are paused', async () => {
    await world().grant(owner, 100)
    for (let n = 0; n <= 50; n++) {
      const json = { to: `+2557${String(n).padStart(8, '0')}`, channel: 'sms' }
      const { status } = await request('POST', '/v1/verifications', { json })
      expect(status).toBe(n < 50 ? 201 : 403)
    }
    const { findings } = await get('/findings')
    expect(findings).toMatchObject([{ kind: 'codes_paused', id: 'TZ', name: 'TZ' }])
    expect(Date.parse(findings[0].until)).toBeGreaterThan(world().now().getTime())
    expect(await kinds({ headers: TEST })).toEqual([])
    expect(await kinds({ headers: { 'x-role': 'billing' } })).toEqual([])
    expect(await kinds({ person: await world().signup({ credits: 10 }) })).not.toContain(
      'codes_paused',
    )
  })

  it('have the first steps until a message was sent', async () => {
    await world().grant(owner, 100)
    expect((await get('/findings')).steps).toEqual({ has_key: false, has_webhook: false })
    await world().key(owner)
    expect((await get('/findings')).steps).toEqual({ has_key: true, has_webhook: false })
    expect((await get('/findings', { headers: { 'x-role': 'billing' } })).steps).toBeNull()
    await send({})
    expect((await get('/findings')).steps).toBeNull()
  })
})

describe('the broadcasts of a workspace', () => {
  it('are shown to a viewer, who cannot preview, start or stop one', async () => {
    const template = await world().template(owner, 'Hi {{name|there}}')
    await world().grant(owner, 100)
    await world().contact(owner, { phone: '+15005550006', tags: ['vip'] })
    const json = { channel: 'sms', template: { name: template }, audience: { tags: ['vip'] } }
    const { broadcast } = await data('POST', '/v1/broadcasts', { json })
    await world().dispatcher.idle()
    await world().advance(60_000)
    await world().dispatcher.idle()
    const viewer = { headers: { 'x-role': 'viewer' } }
    const { broadcasts } = await get('/v1/broadcasts', viewer)
    expect(broadcasts.map(({ id }: { id: string }) => id)).toEqual([broadcast.id])
    const { messages, total } = await get(`/messages?broadcast_id=${broadcast.id}`, viewer)
    expect(messages).toMatchObject([{ recipient: '+15005550006', template: { name: template } }])
    expect(total).toBeNull()
    const verbs = ['pause', 'resume', 'cancel'].map((verb) => `/${broadcast.id}/${verb}`)
    for (const path of ['', '/preview', ...verbs]) {
      const answer = await request('POST', `/v1/broadcasts${path}`, { ...viewer, json })
      expect(answer.status, path).toBe(403)
    }
    const stranger = await world().signup({ credits: 10 })
    const foreign = await get(`/messages?broadcast_id=${broadcast.id}`, { person: stranger })
    expect(foreign.messages).toEqual([])
  })
})

describe('where credits went', () => {
  let stranger: Account
  let bulkId: string

  beforeAll(async () => {
    owner = await world().signup({ credits: 100 })
    stranger = await world().signup({ credits: 100 })
    await send({})
    const { bulk_id } = await data('POST', '/v1/messages/bulk', {
      json: {
        ...bulk,
        recipients: ['+255700000001', '+15005550001', '+255700000002'],
        metadata: { campaign: 'May sale' },
      },
    })
    bulkId = bulk_id
    await world().dispatcher.idle()
    await world().dispatcher.sweep()
    await send({})
  })

  const sums = (rows: { spent: number; refunded: number }[]) =>
    rows.reduce((sum, { spent, refunded }) => sum + spent - refunded, 0)

  it('is summed by day, channel, key, bulk and kind, with refunds of a bulk together', async () => {
    const { credits_balance } = await get('/v1/balance')
    const found = await get('/spending/days?days=7')
    expect(found.counted_until).toBeNull()
    expect(found.days).toHaveLength(7)
    expect(sums(found.days)).toBeCloseTo(100 - credits_balance, 6)
    for (const part of ['channels', 'keys']) expect(sums(found[part])).toBe(sums(found.days))
    expect(found.channels).toMatchObject([{ channel: 'sms' }])
    expect(found.causes).toMatchObject([
      { cause_type: 'bulk', cause_id: bulkId, name: 'May sale', channel: 'sms', refunds: 1 },
    ])
    expect(found.forecast).toEqual({ state: 'too_little_history', days: 0 })
    const day = found.days.at(-1)?.day
    expect((await get(`/spending/days?days=7&day=${day}`)).causes).toHaveLength(1)
    expect((await get('/spending/days?channel=email')).channels).toEqual([])
  })

  it('is a statement whose lines lead from one balance to the other', async () => {
    const { credits_balance } = await get('/v1/balance')
    const { opening, closing, lines } = await get('/statements/2026-05')
    expect(opening).toBe(0)
    expect(closing).toBe(credits_balance)
    const all = lines.reduce((sum: number, { credits }: { credits: number }) => sum + credits, 0)
    expect(all).toBeCloseTo(closing, 6)
    expect(await get('/statements/2026-06')).toMatchObject({ opening: closing, closing, lines: [] })
  })

  it('names no campaign to who may not read messages, and nothing of another workspace', async () => {
    const headers = { 'x-role': 'billing' }
    expect((await get('/spending/days', { headers })).causes).toMatchObject([{ name: null }])
    expect(await get('/spending/days', { person: stranger })).toMatchObject({
      channels: [],
      keys: [],
      causes: [],
    })
    const own = await get(`/spending/days?key=${owner.id}`, { person: stranger })
    expect(own.keys).toEqual([])
    expect(await get('/statements/2026-05', { person: stranger })).toMatchObject({ closing: 100 })
  })

  it.each([
    '/statements/2026-13',
    '/statements/x',
    '/spending/days?days=8',
    '/spending/days?day=x',
  ])('refuses %s', async (path) => {
    expect([400, 404]).toContain((await request('GET', path)).status)
  })
})
