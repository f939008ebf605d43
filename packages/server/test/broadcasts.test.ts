import { SCOPES } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld({ dispatch: true })
const BROADCASTS = '/api/v1/broadcasts'
const MINUTE_MS = 60_000

let owner: Account
let key: string
let template: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  template = await world().template(owner, 'Hi {{name|there}}, {{offer|our offers}}')
})

const call = (method: string, path: string, json?: object, as: object = { key }) =>
  world().call(method, path, { ...as, ...(json && { json }) })

const body = (tag: string, more: object = {}) => ({
  channel: 'sms',
  template: { name: template },
  audience: { tags: [tag] },
  ...more,
})

/** Does what is due, and lets the sandbox answer. */
async function passTime(ms = MINUTE_MS): Promise<void> {
  await world().dispatcher.idle()
  await world().advance(ms)
  await world().dispatcher.idle()
}

const shown = async (id: string) => (await call('GET', `${BROADCASTS}/${id}`)).body.data

describe('a broadcast', () => {
  it('fills {{unsubscribe_url}} of a text message from the contact', async () => {
    const tags = ['own link']
    const attributes = { unsubscribe_url: 'https://acme.example/leave/1' }
    await world().contact(owner, { tags, attributes })
    const name = await world().template(owner, 'Leave: {{unsubscribe_url}}')
    const request = body('own link', { template: { name } })
    const { status, text, body: answer } = await call('POST', `${BROADCASTS}/preview`, request)
    expect(status, text).toBe(200)
    expect(answer.data.preview).toMatchObject({
      sendable: 1,
      samples: [{ content: { text: `Leave: ${attributes.unsubscribe_url}` } }],
    })
  })

  it('is previewed, sent by the dispatcher, and shows its results', async () => {
    const tags = ['first']
    const phones = ['+15005550006', '+15005550001', '+15005550008']
    for (const phone of phones) await world().contact(owner, { phone, tags, name: phone.slice(-4) })
    await world().contact(owner, { phone: undefined, email: 'asha@example.com', tags })
    const suppressed = await world().contact(owner, { tags })
    const suppression = { channel: 'sms', address: suppressed.phone, reason: 'opt_out' }
    await call('POST', '/api/v1/contacts/suppressions', suppression)

    const request = body('first', { template: { name: template, variables: { offer: 'tea' } } })
    const preview = await call('POST', `${BROADCASTS}/preview`, request)
    expect(preview.status, preview.text).toBe(200)
    expect(preview.body.data.preview).toMatchObject({
      ...{ contacts: 5, sendable: 3, suppressed: 1, no_address: 1, rejected: 0 },
      ...{ credits_needed: 3, is_estimate: false, credits_balance: 1_000, faults: [] },
    })
    expect(
      preview.body.data.preview.samples.map(({ content }: { content: object }) => content),
    ).toEqual(phones.map((phone) => ({ text: `Hi ${phone.slice(-4)}, tea` })))
    expect(await world().balance(owner)).toBe(1_000)

    const made = await call('POST', BROADCASTS, request)
    expect(made.status, made.text).toBe(201)
    const { id } = made.body.data.broadcast
    expect(made.body.data.broadcast).toMatchObject({ status: 'scheduled', counts: { accepted: 0 } })
    await passTime()
    await passTime()
    const { broadcast, results } = await shown(id)
    expect(broadcast).toMatchObject({
      status: 'finished',
      template: { name: template, version: 1, variables: { offer: 'tea' } },
      counts: {
        ...{ audience: 5, contacts: 5, accepted: 3, suppressed: 1, no_address: 1, rejected: 0 },
      },
      credits_used: 3,
    })
    expect(results.queued).toBe(0)
    expect(results.sent + results.delivered + results.failed).toBe(3)
    expect(
      results.failures.reduce((sum: number, one: { count: number }) => sum + one.count, 0),
    ).toBe(results.failed)
    const { messages } = (await call('GET', `/api/v1/messages?template=${template}`)).body.data
    expect(messages).toHaveLength(3)
    expect(messages[0].template).toEqual({ name: template, version: 1, locale: 'en' })
  })

  it('counts the recipients who opt out later', async () => {
    const { phone } = await world().contact(owner, { tags: ['leaving'] })
    const { id } = (await call('POST', BROADCASTS, body('leaving'))).body.data.broadcast
    await passTime()
    expect((await shown(id)).results.unsubscribed).toBe(0)
    const suppression = { channel: 'sms', address: phone, reason: 'opt_out' }
    await call('POST', '/api/v1/contacts/suppressions', suppression)
    expect((await shown(id)).results.unsubscribed).toBe(1)
  })

  it('defers each message to the end of the quiet hours of its contact', async () => {
    const set = (quiet_hours: object[] | null) =>
      call('PUT', '/api/v1/account', { quiet_hours }, { token: owner.token })
    await set([{ category: 'transactional', start: '12:00', end: '20:00' }])
    const tags = ['quiet']
    const name = await world().template(owner)
    const zones = ['Asia/Kathmandu', 'UTC']
    for (const time_zone of zones) {
      await world().contact(owner, { tags, attributes: { time_zone } })
    }
    const request = body('quiet', { template: { name } })
    const { id } = (await call('POST', BROADCASTS, request)).body.data.broadcast
    await passTime()
    await set(null)
    expect(await shown(id)).toMatchObject({
      broadcast: { status: 'finished' },
      results: { queued: 1 },
    })
    const { messages } = (await call('GET', `/api/v1/messages?template=${name}`)).body.data
    const ends = messages.map((one: { deferred_until?: string }) => one.deferred_until)
    // 20:00 in Kathmandu.
    expect(ends.toSorted()).toEqual(['2026-05-04T14:15:00.000Z', undefined])
    await call('POST', `${BROADCASTS}/${id}/cancel`)
  })

  it('is changed until it begins', async () => {
    await world().contact(owner, { tags: ['changed'] })
    const inAnHour = new Date(world().now().getTime() + 60 * MINUTE_MS).toISOString()
    const made = await call('POST', BROADCASTS, body('other', { name: 'A', draft: true, rate: 60 }))
    const { id } = made.body.data.broadcast
    const put = (json: object, as?: object) => call('PUT', `${BROADCASTS}/${id}`, json, as)
    const change = { audience: { tags: ['changed'] }, rate: null, scheduled_at: inAnHour }
    const changed = await put(change)
    expect(changed.status, changed.text).toBe(200)
    expect(changed.body.data.broadcast).toMatchObject({
      ...{ id, name: 'A', status: 'draft', rate: null, audience: { tags: ['changed'] } },
      ...{ scheduled_at: inAnHour, template: { name: template } },
      ...{ created_at: made.body.data.broadcast.created_at },
    })
    for (const [wrong, path] of [
      [{ template: { name: 'unknown' } }, 'template.name'],
      [{ scheduled_at: null, time_zone: 'recipient' }, 'scheduled_at'],
      [{ rate: 0 }, 'rate'],
      [{ channel: 'email' }, ''],
    ] as const) {
      expect((await put(wrong)).body.details, path).toMatchObject([{ path }])
    }
    const { key: narrow } = await world().key(owner, { scopes: ['send_messages'] })
    expect((await put({ name: 'B' }, { key: narrow })).status).toBe(403)

    expect((await put({ draft: false })).body.data.broadcast.status).toBe('scheduled')
    expect((await put({ draft: true })).body.data.broadcast.status).toBe('draft')
    await passTime(61 * MINUTE_MS)
    expect((await shown(id)).broadcast).toMatchObject({ status: 'draft', counts: { accepted: 0 } })
    expect((await call('POST', `${BROADCASTS}/${id}/resume`)).status).toBe(200)
    expect((await call('POST', `${BROADCASTS}/${id}/pause`)).status).toBe(200)
    // A pause lasts.
    expect((await put({ name: 'C' })).body.data.broadcast).toMatchObject({ status: 'paused' })
    expect((await call('POST', `${BROADCASTS}/${id}/resume`)).status).toBe(200)
    await passTime()
    expect((await shown(id)).broadcast).toMatchObject({
      ...{ name: 'C', status: 'finished', counts: { audience: 1, accepted: 1 } },
    })
    expect((await put({ name: 'D' })).body.message).toBe(
      'The broadcast has begun: it cannot be changed',
    )
    const { audit_entries } = (
      await call('GET', '/api/v1/audit?limit=100', undefined, { token: owner.token })
    ).body.data
    const updates = audit_entries.filter(
      (one: { action: string; target: { id: string } }) =>
        one.action === 'broadcast.updated' && one.target.id === id,
    )
    expect(updates).toHaveLength(4)
  })

  it('waits as a draft until it is resumed, and is paused, resumed and canceled', async () => {
    await world().contact(owner, { tags: ['later'] })
    const scheduled_at = new Date(world().now().getTime() + 60 * MINUTE_MS).toISOString()
    const draft = await call('POST', BROADCASTS, body('later', { draft: true, scheduled_at }))
    const { id } = draft.body.data.broadcast
    const change = async (verb: string) => {
      const { status, body: answer } = await call('POST', `${BROADCASTS}/${id}/${verb}`)
      return status === 200 ? answer.data.broadcast.status : answer.message
    }
    await passTime()
    expect((await shown(id)).broadcast.status).toBe('draft')
    expect(await change('pause')).toBe('The broadcast is a draft: it cannot be paused')
    expect(await change('resume')).toBe('scheduled')
    expect(await change('resume')).toBe('The broadcast is scheduled: it cannot be resumed')
    expect(await change('pause')).toBe('paused')
    expect((await shown(id)).broadcast.pause).toMatchObject({ reason: 'requested' })
    expect(await change('resume')).toBe('scheduled')
    expect(await change('cancel')).toBe('canceled')
    expect(await change('cancel')).toBe('The broadcast is canceled: it cannot be canceled')
    expect(await change('resume')).toBe('The broadcast is canceled: it cannot be resumed')
    await passTime(61 * MINUTE_MS)
    expect((await shown(id)).broadcast).toMatchObject({
      status: 'canceled',
      counts: { accepted: 0 },
    })
    const { audit_entries } = (
      await call('GET', '/api/v1/audit?limit=5', undefined, { token: owner.token })
    ).body.data
    expect(audit_entries.map(({ action }: { action: string }) => action)).toEqual([
      'broadcast.canceled',
      'broadcast.resumed',
      'broadcast.paused',
      'broadcast.resumed',
      'broadcast.created',
    ])
  })

  it('holds its accepted messages while it is paused, and respects quiet hours after it', async () => {
    const set = (quiet_hours: object[] | null) =>
      call('PUT', '/api/v1/account', { quiet_hours }, { token: owner.token })
    const tags = ['held']
    for (const time_zone of ['UTC', 'Asia/Kathmandu']) {
      await world().contact(owner, { tags, attributes: { time_zone } })
    }
    const local = new Date(world().now().getTime() + 7 * 60 * MINUTE_MS).toISOString()
    const name = await world().template(owner)
    const timed = body('held', {
      ...{ template: { name }, scheduled_at: local, time_zone: 'recipient' },
    })
    const { id } = (await call('POST', BROADCASTS, timed)).body.data.broadcast
    await passTime()
    expect((await shown(id)).broadcast).toMatchObject({ status: 'finished' })
    const paused = await call('POST', `${BROADCASTS}/${id}/pause`)
    expect(paused.status, paused.text).toBe(200)
    await passTime(8 * 60 * MINUTE_MS)
    expect(await shown(id)).toMatchObject({
      broadcast: { status: 'paused', pause: { reason: 'requested' } },
      results: { queued: 2 },
    })
    // Quiet for one of the two at this moment.
    const hour = world().now().getUTCHours()
    const clock = (hours: number) => `${String((hour + hours) % 24).padStart(2, '0')}:00`
    await set([{ category: 'transactional', start: clock(-1 + 24), end: clock(3) }])
    expect((await call('POST', `${BROADCASTS}/${id}/resume`)).body.data.broadcast.status).toBe(
      'finished',
    )
    await passTime()
    await set(null)
    const { messages } = (await call('GET', `/api/v1/messages?template=${name}`)).body.data
    const deferred = messages.filter((one: { deferred_until?: string }) => one.deferred_until)
    expect(deferred).toMatchObject([{ status: 'queued' }])
    expect((await shown(id)).results.queued).toBe(1)
    await passTime(4 * 60 * MINUTE_MS)
    expect((await shown(id)).results.queued).toBe(0)
    const refused = await call('POST', `${BROADCASTS}/${id}/pause`)
    expect(refused.body.message).toBe(
      'The broadcast is finished, and no message waits: it cannot be paused',
    )
  })

  it('needs both scopes, and live contacts', async () => {
    const { key: sends } = await world().key(owner, { scopes: ['send_messages'] })
    const refused = await call('POST', BROADCASTS, body('vip'), { key: sends })
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'API key does not have required scope: manage_contacts',
    ])
    const { key: test } = await world().key(owner, { mode: 'test', scopes: [...SCOPES] })
    expect((await call('POST', BROADCASTS, body('vip'), { key: test })).status).toBe(403)
    expect((await call('POST', `${BROADCASTS}/preview`, body('vip'), { key: test })).status).toBe(
      403,
    )
    const { id } = (await call('POST', BROADCASTS, body('vip', { draft: true }))).body.data
      .broadcast
    expect((await call('GET', `${BROADCASTS}/${id}`, undefined, { key: test })).status).toBe(404)
    expect(
      (await call('POST', `${BROADCASTS}/${id}/cancel`, undefined, { key: test })).status,
    ).toBe(404)
    const listed = await call('GET', BROADCASTS, undefined, { key: test })
    expect(listed.body.data).toMatchObject({ broadcasts: [], pagination: { total: 0 } })
  })

  it.each([
    ['an unknown template', { template: { name: 'unknown' } }, 'template.name'],
    ['an unknown version', { template: { name: 'T', version: 9 } }, 'template.version'],
    ['a channel without a variant', { channel: 'email' }, 'template.name'],
    ['calls without a provider', { channel: 'voice' }, 'channel'],
    ['an attribute that is a list', { audience: { attributes: { a: [] } } }, 'audience.attributes'],
    ['a rate of 0', { rate: 0 }, 'rate'],
    [
      'a name of the sender that is no text of one line',
      { channel: 'email', from: 'a\nb' },
      'from',
    ],
    ['a time too far ahead', { scheduled_at: '2027-05-04T09:00:00Z' }, 'scheduled_at'],
    ['a time zone without a time', { time_zone: 'recipient' }, 'scheduled_at'],
    ['a time zone of its own', { scheduled_at: '2026-05-05T09:00', time_zone: 'UTC' }, 'time_zone'],
    ['no audience', { audience: undefined }, 'audience'],
    ['an unknown field', { audience: { segment: 'a' } }, 'audience'],
  ])('is refused with %s', async (_, more: object, path) => {
    const request = body('vip', more) as { template: { name: string } }
    if (request.template.name === 'T') request.template.name = template
    const { status, body: answer } = await call('POST', BROADCASTS, request)
    expect(status).toBe(400)
    expect(answer.details[0].path).toContain(path)
  })

  it('is made once for an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'once' }
    const json = body('vip', { draft: true })
    const first = await world().call('POST', BROADCASTS, { key, json, headers })
    const again = await world().call('POST', BROADCASTS, { key, json, headers })
    expect(again.status).toBe(201)
    expect(again.body).toEqual(first.body)
    expect(again.headers['idempotent-replayed']).toBe('true')
  })

  it('pauses when its template is deleted', async () => {
    await world().contact(owner, { tags: ['gone'] })
    const name = await world().template(owner)
    const scheduled_at = new Date(world().now().getTime() + MINUTE_MS).toISOString()
    const request = body('gone', { template: { name }, scheduled_at })
    const { id } = (await call('POST', BROADCASTS, request)).body.data.broadcast
    await call('DELETE', `/api/v1/templates/${name}`)
    await passTime()
    expect((await shown(id)).broadcast.pause).toEqual({
      reason: 'template',
      message: `No template has the name ${name}`,
    })
  })

  it('stops at the daily limit of its key', async () => {
    const tags = ['limited']
    for (let i = 0; i < 3; i++) await world().contact(owner, { tags })
    const limited = await world().key(owner, { daily_credit_limit: 2 })
    const made = await call('POST', BROADCASTS, body('limited'), { key: limited.key })
    const { id } = made.body.data.broadcast
    await passTime()
    expect((await shown(id)).broadcast).toMatchObject({
      pause: { reason: 'insufficient_credits' },
      counts: { accepted: 0 },
    })
    await call('POST', `${BROADCASTS}/${id}/resume`)
    await passTime()
    await passTime()
    expect((await shown(id)).broadcast).toMatchObject({
      status: 'finished',
      counts: { accepted: 3 },
    })
  })
})

it('refuses more than 100 broadcasts that are not finished', async () => {
  const own = await openWorld()
  const account = await own.signup({ credits: 1 })
  const { key: key2 } = await own.key(account)
  const json = {
    channel: 'sms',
    template: { name: await own.template(account) },
    audience: {},
    draft: true,
  }
  const statuses: number[] = []
  let last = ''
  for (let i = 0; i < 101; i++) {
    const { status, body: answer } = await own.call('POST', BROADCASTS, { key: key2, json })
    statuses.push(status)
    last = answer.message ?? ''
  }
  expect(new Set(statuses.slice(0, 100))).toEqual(new Set([201]))
  expect([statuses.at(-1), last]).toEqual([
    400,
    'A workspace may have at most 100 broadcasts that are not finished. Cancel one',
  ])
  await own.close()
})
