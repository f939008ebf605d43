import { api, type Endpoint, SCOPES } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Account, bulk, sms } from './accounts.ts'
import { openReceiver } from './receiver.ts'
import { useWorld } from './world.ts'

/** A test key sees and changes only test data, with any scopes. Contract section 9. */
const world = useWorld({ dispatch: true })

const NEVER_WAS = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const INVALID = '+15005550001'
const TALKATIVE = '+15005550008'

let owner: Account
/** Keys with all scopes. */
let live: string
let test: string
let receiver: Awaited<ReturnType<typeof openReceiver>>

/** The data made under each mode. */
type Made = Record<'message' | 'bulk' | 'webhook' | 'delivery', string>
let ofLive: Made
let ofTest: Made

beforeAll(async () => {
  receiver = await openReceiver({ answer: () => 410 })
  owner = await world().signup({ credits: 100 })
  live = (await world().key(owner)).key
  test = (await world().key(owner, { mode: 'test', scopes: [...SCOPES] })).key
  ofLive = await made(live)
  ofTest = await made(test)
})
afterAll(() => receiver.close())

const as = (key: string) => (method: string, path: string, json?: object) =>
  world().call(method, `/api/v1${path}`, { key, ...(json && { json }) })
const dataOf = async (key: string, path: string) => (await as(key)('GET', path)).body.data
const asOwner = (method: string, path: string, json?: object) =>
  world().call(method, `/api/v1${path}`, { token: owner.token, ...(json && { json }) })

/** A webhook, a failed delivery of it, a scheduled message that can be canceled, and a bulk that failed. */
async function made(key: string): Promise<Made> {
  const hook = await as(key)('POST', '/webhooks', { url: receiver.url, events: ['message.failed'] })
  const { id } = hook.body.data.webhook
  const later = new Date(world().now().getTime() + 86_400_000).toISOString()
  const message = (await world().send(key, { scheduled_at: later })).body.data.message_id
  const bulk_id = (await world().bulk(key, { recipients: [INVALID] })).body.data.bulk_id
  await world().send(key, { to: TALKATIVE })
  await world().advance(1_000)
  await world().advance(1_000)
  const { deliveries } = await dataOf(key, `/webhooks/${id}/deliveries`)
  return { message, bulk: bulk_id, webhook: id, delivery: deliveries[0].id }
}

/** All data of the workspace, except traces of requests and failed credentials. */
async function everything(): Promise<string> {
  const paths = ['/messages?limit=100', '/messages/received', `/messages/bulk/${ofLive.bulk}`]
  const texts = paths.map(async (path) => (await as(live)('GET', path)).text)
  const owned = ['/webhooks', `/webhooks/${ofLive.webhook}/deliveries`, '/contacts/suppressions']
  return (
    await Promise.all([...texts, ...owned.map(async (path) => (await asOwner('GET', path)).text)])
  ).join('\n')
}

const CASES = (['messages', 'bulks', 'webhooks'] as const).flatMap((group) =>
  Object.values<Endpoint>(api[group])
    .filter(({ path }) => path.includes(':'))
    .map(({ method, path }) => ({ group, method, path: path.replace('/api/v1', '') })),
)

const BODIES: Record<string, () => object> = {
  'PUT /webhooks/:id': () => ({ description: 'Taken', url: 'https://attacker.example/hook' }),
  'POST /messages/:id/reschedule': () => ({ scheduled_at: world().now().toISOString() }),
  'POST /webhooks/:id/recover': () => ({ since: world().now().toISOString() }),
}

function pathOf({ group, path }: Pick<(typeof CASES)[number], 'group' | 'path'>, made: Made) {
  const kind = ({ messages: 'message', bulks: 'bulk', webhooks: 'webhook' } as const)[group]
  return path.replace(':id', made[kind]).replace(':delivery_id', made.delivery)
}

it.each(CASES)(
  '$method $path is for a test key as if there were nothing live',
  async ({ group, method, path }) => {
    const body = BODIES[`${method} ${path}`]?.()
    const before = await everything()
    const answer = await as(test)(method, pathOf({ group, path }, ofLive), body)
    expect(answer.status).toBe(404)
    expect(answer.text).toBe((await as(test)(method, path.replace(/:\w+/g, NEVER_WAS), body)).text)
    expect(await everything()).toBe(before)
  },
)

it.each(CASES.filter(({ method }) => method === 'GET'))(
  '$method $path shows a test key only test data, and a live key both',
  async (one) => {
    expect((await as(test)('GET', pathOf(one, ofTest))).status).toBe(200)
    expect((await as(live)('GET', pathOf(one, ofTest))).status).toBe(200)
    expect((await as(live)('GET', pathOf(one, ofLive))).status).toBe(200)
  },
)

describe('lists', () => {
  it.each([
    ['/messages', 'messages', 3],
    ['/messages?channel=sms', 'messages', 3],
    ['/messages?channel=sms&status=failed', 'messages', 1],
    ['/messages?status=read', 'messages', null],
    ['/messages?recipient=%2B15005550001', 'messages', 1],
    ['/messages?startDate=2026-05-04T00:00:00Z', 'messages', 3],
    ['/messages?limit=1&page=2', 'messages', 3],
    ['/messages/received', 'received', 1],
    ['/messages/received?sender=%2B15005550008', 'received', 1],
  ])('%s contain only test rows, and so do their totals', async (path, name, total) => {
    const { status, body } = await as(test)('GET', path)
    expect(status).toBe(total === null ? 400 : 200)
    if (total === null) return
    expect(body.data.pagination.total).toBe(total)
    expect(body.data[name].length).toBeGreaterThan(0)
    for (const { livemode } of body.data[name]) expect(livemode).toBe(false)
    expect((await dataOf(live, path)).pagination.total).toBe(2 * total)
  })

  it('have cursors that lead from test row to test row', async () => {
    const first = await dataOf(test, '/messages?limit=2')
    const next = await dataOf(test, `/messages?limit=2&cursor=${first.next_cursor}`)
    expect([...first.messages, ...next.messages]).toHaveLength(3)
    expect(next.next_cursor).toBeNull()
  })

  it('contain no messages of a live bulk', async () => {
    const path = `/messages?bulk_id=${ofLive.bulk}`
    expect((await dataOf(test, path)).messages).toEqual([])
    expect((await dataOf(live, path)).messages).toHaveLength(1)
  })

  it('of webhooks contain those of mode test', async () => {
    const { webhooks, pagination } = await dataOf(test, '/webhooks')
    expect(webhooks.map(({ id }: { id: string }) => id)).toEqual([ofTest.webhook])
    expect(pagination.total).toBe(1)
    expect((await dataOf(live, '/webhooks')).pagination.total).toBe(2)
  })
})

describe('contacts and suppressions', () => {
  const LIVE_DATA = [...Object.values<Endpoint>(api.contacts), ...Object.values(api.suppressions)]

  it.each(LIVE_DATA)('return 403 for $method $path', async ({ method, path }) => {
    const { status, body } = await as(test)(
      method,
      path.replace('/api/v1', '').replace(/:\w+/g, NEVER_WAS),
      method === 'GET' ? undefined : {},
    )
    expect(status).toBe(403)
    expect(body).toEqual({
      success: false,
      error: 'forbidden',
      message: 'Contacts and suppressions are live data: a test key cannot manage them',
    })
  })

  it('are not found by a test key, whether they exist or not', async () => {
    const contact = await world().contact(owner, { name: 'Asha Private' })
    const answers = [contact.id, NEVER_WAS].map(async (contact_id) => {
      const json = { ...bulk, recipients: [{ contact_id }] }
      const sent = await world().bulk(test, json)
      const estimated = await as(test)('POST', '/messages/estimate', json)
      return [sent.status, sent.text, estimated.status, estimated.text]
    })
    const [known, unknown] = await Promise.all(answers)
    expect(known).toEqual(unknown)
    expect(known?.[0]).toBe(400)
    expect(known?.join()).toContain('test keys reach no contacts')
    expect((await world().bulk(live, { recipients: [{ contact_id: contact.id }] })).status).toBe(
      201,
    )
  })

  it('do not show whether a recipient is suppressed', async () => {
    const to = (await world().suppression(owner)).replace('sms/', '')
    expect((await world().send(live, { to })).status).toBe(400)
    expect((await world().send(test, { to })).status).toBe(201)
    const sent = await world().bulk(test, { recipients: [to], validation: 'permissive' })
    expect(sent.body.data).toMatchObject({ accepted: 1, rejected: 0 })
    const json = { ...sms, to }
    const estimate = await as(test)('POST', '/messages/estimate', json)
    expect(estimate.body.data).toMatchObject({ can_send: true, blocked: 0 })
    const lived = await as(live)('POST', '/messages/estimate', json)
    expect(lived.body.data).toMatchObject({ can_send: false, blocked: 1 })
  })

  it("are not changed by the sandbox's results of test messages", async () => {
    await world().send(test, { to: '+15005550004' })
    await world().send(test, {
      to: 'bounced@sandbox.svc',
      channel: 'email',
      content: { subject: 'Hi', text: 'x' },
    })
    await world().advance(1_000)
    const { body } = await asOwner('GET', '/contacts/suppressions?search=sandbox')
    expect(body.data.pagination.total).toBe(0)
    expect((await world().send(live, { to: '+15005550004' })).status).toBe(201)
  })
})

it('has the scopes of sending and reading by default', async () => {
  const json = { name: 'Rehearsal', mode: 'test' }
  const { body } = await asOwner('POST', '/api-keys', json)
  expect(body.data.scopes).toEqual(['send_messages', 'read_messages'])
  const all = await asOwner('POST', '/api-keys', { name: 'Production' })
  expect(all.body.data.scopes).toEqual(SCOPES)
})

it('stores answers for an Idempotency-Key separately from those of live keys', async () => {
  const repeat = { 'idempotency-key': 'same' }
  const first = await world().send(live, {}, repeat)
  const rehearsed = await world().send(test, {}, repeat)
  expect(rehearsed.headers['idempotent-replayed']).toBeUndefined()
  expect(rehearsed.body.data).toMatchObject({ credits_used: 0 })
  expect((await world().send(live, {}, repeat)).text).toBe(first.text)
  expect((await world().send(test, {}, repeat)).text).toBe(rehearsed.text)
  // Another body is refused only under the same mode.
  expect((await world().send(test, { to: '+14155550199' }, repeat)).status).toBe(400)
})

describe('webhooks', () => {
  const create = (key: string, mode?: string) =>
    as(key)('POST', '/webhooks', { url: receiver.url, ...(mode && { mode }) })
  const FORBIDDEN = 'A test key manages webhooks with mode test only'

  it('of a test key have mode test; of other callers, the mode in the request', async () => {
    expect((await create(test)).body.data.webhook.mode).toBe('test')
    expect((await create(test, 'test')).body.data.webhook.mode).toBe('test')
    for (const mode of ['all', 'live']) {
      const { status, body } = await create(test, mode)
      expect([status, body.error, body.message]).toEqual([403, 'forbidden', FORBIDDEN])
    }
    expect((await create(live)).body.data.webhook.mode).toBe('all')
    for (const mode of ['all', 'live', 'test']) {
      expect((await create(live, mode)).body.data.webhook.mode).toBe(mode)
    }
  })

  it('stay in mode test when a test key changes them', async () => {
    const { webhook } = (await create(test)).body.data
    const path = `/webhooks/${webhook.id}`
    const raised = await as(test)('PUT', path, { mode: 'all' })
    expect([raised.status, raised.body.message]).toEqual([403, FORBIDDEN])
    const same = await as(test)('PUT', path, { ...webhook, description: 'Rehearsal' })
    expect(same.body.data.webhook).toMatchObject({ mode: 'test', description: 'Rehearsal' })
    const { body } = await asOwner('PUT', path, { mode: 'live' })
    expect(body.data.webhook.mode).toBe('live')
    expect((await as(test)('GET', path)).status).toBe(404)
    expect((await as(test)('DELETE', path)).status).toBe(404)
    expect((await asOwner('DELETE', path)).status).toBe(200)
  })

  it('that were live before show a test key no live delivery, and resend none', async () => {
    const path = `/webhooks/${ofLive.webhook}`
    await asOwner('PUT', path, { mode: 'test', is_active: true })
    const all = (await asOwner('GET', `${path}/deliveries`)).body.data
    const lost = all.deliveries.filter(({ livemode }: { livemode: boolean }) => livemode)
    expect(lost.map(({ id }: { id: string }) => id)).toContain(ofLive.delivery)
    const shown = await dataOf(test, `${path}/deliveries`)
    expect(shown.deliveries.filter(({ livemode }: { livemode: boolean }) => livemode)).toEqual([])
    expect(shown.pagination.total).toBe(all.pagination.total - lost.length)
    const one = `${path}/deliveries/${ofLive.delivery}`
    expect((await as(test)('GET', one)).status).toBe(404)
    expect((await as(test)('POST', `${one}/retry`)).status).toBe(404)
    const since = { since: '2026-05-04T00:00:00Z' }
    const { body } = await as(test)('POST', `${path}/recover`, since)
    expect(body.data).toEqual({ recovered: shown.pagination.total, has_more: false })
    // Their owner can request a retry, and it is discarded: the webhook gets events of test messages only.
    await asOwner('PUT', path, { is_active: true })
    await asOwner('POST', `${one}/retry`)
    await world().advance(1_000)
    const after = await asOwner('GET', one)
    expect(after.body.data.delivery).toMatchObject({ status: 'discarded', livemode: true })
    await asOwner('PUT', path, { mode: 'all' })
  })

  it('get events of messages of their mode, with the mode in every event', async () => {
    const listener = await openReceiver()
    try {
      const ids = new Map<string, string>()
      for (const mode of ['all', 'live', 'test']) {
        const { id } = await world().webhook(owner, {
          url: listener.url,
          headers: { 'X-Mode': mode },
          mode,
          events: ['message.sent', 'message.received', 'webhook.test'],
        })
        ids.set(mode, id)
        await asOwner('POST', `/webhooks/${id}/test`)
      }
      for (const key of [live, test]) await world().send(key, { to: TALKATIVE })
      for (let i = 0; i < 3; i++) await world().advance(1_000)
      const sentTo = (mode: string) =>
        listener.arrivals
          .filter(({ headers }) => headers['x-mode'] === mode)
          .map(({ body }) => JSON.parse(`${body}`))
          .map(({ event, data }) => `${event} ${data.livemode}`)
          .sort()
      const ofMode = (livemode: boolean) => [
        `message.received ${livemode}`,
        `message.sent ${livemode}`,
      ]
      expect(sentTo('all')).toEqual([...ofMode(false), ...ofMode(true), 'webhook.test true'].sort())
      expect(sentTo('live')).toEqual([...ofMode(true), 'webhook.test true'])
      expect(sentTo('test')).toEqual([...ofMode(false), 'webhook.test false'])
      for (const id of ids.values()) await asOwner('DELETE', `/webhooks/${id}`)
    } finally {
      await listener.close()
    }
  })
})
