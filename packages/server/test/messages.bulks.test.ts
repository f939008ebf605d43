import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../core/src/storage/sqlite/engine/connection.ts'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-bulks-'))
const file = join(folder, 'svc.db')
afterAll(() => rmSync(folder, { recursive: true }))
const world = useWorld({ dispatch: true, database_url: `file:${file}` })

const BULK = '/api/v1/messages/bulk'
const LATER = '2026-05-20T09:00:00Z'
const INVALID = '+15005550001'
const UNDELIVERED = '+15005550007'
const NEVER_WAS = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10_000 })
  key = (await world().key(owner)).key
})

const post = (path: string, options: object = {}) => world().call('POST', path, { key, ...options })
async function bulkTo(recipients: string[], more: object = {}): Promise<string> {
  const json = { channel: 'sms', content: { text: 'x' }, recipients, ...more }
  const { status, body } = await post(BULK, { json })
  expect(status).toBe(201)
  return body.data.bulk_id
}
const get = async (id: string) =>
  (await world().call('GET', `${BULK}/${id}`, { key })).body.data.bulk

describe(`GET ${BULK}/:id`, () => {
  it('shows the progress', async () => {
    const id = await bulkTo(['+255700000001', INVALID, UNDELIVERED, INVALID])
    await world().advance(1_000)
    expect((await world().call('GET', `${BULK}/${id}`, { key })).body).toStrictEqual({
      success: true,
      data: {
        bulk: {
          id,
          channel: 'sms',
          status: 'completed',
          total: 4,
          accepted: 3,
          rejected: 0,
          duplicates: 1,
          counts: { queued: 0, sent: 0, delivered: 1, failed: 2, read: 0 },
          canceled: 0,
          failures: [
            { error_code: expect.any(String), count: 1 },
            { error_code: expect.any(String), count: 1 },
          ],
          retryable: 1,
          name: null,
          sender: null,
          content: { text: 'x' },
          credits_used: 3,
          credits_refunded: 1,
          livemode: true,
          created_at: '2026-05-04T09:00:00.000Z',
          paused_at: null,
          broadcast_id: null,
        },
      },
    })
  })

  it('says what was sent: its campaign, its text with placeholders and its sender, also when it is sent again', async () => {
    const content = { text: 'Hi {{name|you}}' }
    const metadata = { campaign: ' May ', other: 1 }
    const id = await bulkTo([INVALID], { content, metadata })
    await world().advance(1_000)
    const said = { name: 'May', sender: null, content }
    const { error_code } = (await get(id)).failures[0]
    expect(await get(id)).toMatchObject({ ...said, failures: [{ error_code, count: 1 }] })
    const again = await post(`${BULK}/${id}/retry`)
    expect(await get(again.body.data.bulk_id)).toMatchObject(said)
    await world().call('POST', `/api/v1/bulks/${again.body.data.bulk_id}/cancel`, { key })
    for (const campaign of ['', ' ', null, true, { a: 1 }]) {
      expect(await get(await bulkTo(['+255700000001'], { metadata: { campaign } }))).toMatchObject({
        name: null,
      })
    }
    const number = await bulkTo(['+255700000001'], { metadata: { campaign: 7 } })
    expect((await get(number)).name).toBe('7')
    const long = await bulkTo(['+255700000001'], { metadata: { campaign: 'é'.repeat(300) } })
    expect((await get(long)).name).toHaveLength(255)
  })

  it('is queued before the first send', async () => {
    const id = await bulkTo(['+255700000001'], { scheduled_at: LATER })
    expect(await get(id)).toMatchObject({ status: 'queued', counts: { queued: 1 } })
  })

  it('is 404 for an unknown id and for a malformed id', async () => {
    for (const id of [NEVER_WAS, 'none', 'send']) {
      const { status, body } = await world().call('GET', `${BULK}/${id}`, { key })
      expect(status).toBe(404)
      expect(body).toStrictEqual(refusal('not_found', 'Bulk not found'))
    }
  })

  it('does not collide with GET /messages/:id', async () => {
    const { status, body } = await world().call('GET', '/api/v1/messages/bulk', { key })
    expect(status).toBe(404)
    expect(body.message).toBe('Message not found')
  })
})

describe(`GET /api/v1/bulks/:id/rejected`, () => {
  const path = (id: string, query = '') => `/api/v1/bulks/${id}/rejected${query}`
  const list = async (id: string, query = '', auth: object = { key }) =>
    world().call('GET', path(id, query), auth)
  const DATA = { is_stored: true, pagination: { total: 5, page: 1, pages: 1, limit: 50 } }
  const FAULTY = ['0712 345 678', '', '=HYPERLINK("x")', `${'x'.repeat(253)}\u{1f4e8}`]

  it('names those that the answer to the request named, cut to the length of an address', async () => {
    const recipients = [FAULTY[0], '+255700000001', ...FAULTY.slice(1), { contact_id: NEVER_WAS }]
    const json = { channel: 'sms', content: { text: 'x' }, recipients, validation: 'permissive' }
    const { body } = await post(BULK, { json })
    const { bulk_id, errors } = body.data
    const rejected = errors.map((error: object) => ({ ...error }))
    rejected[3].to = `${'x'.repeat(253)}\ufffd`
    expect(rejected).toMatchObject([
      { index: 0, to: '0712 345 678', error: 'invalid_recipient' },
      { index: 2, to: '' },
      { index: 3, to: '=HYPERLINK("x")' },
      { index: 4 },
      { index: 5, to: null, error: 'contact_not_found', message: 'Contact not found' },
    ])
    const data = { ...DATA, rejected, next_after: null }
    expect((await list(bulk_id)).body).toStrictEqual({ success: true, data })
    const alias = await world().call('GET', `${BULK}/${bulk_id}/rejected`, { key })
    expect(alias.body.data).toStrictEqual(data)
  })

  it('gives pages, with page and with after, and refuses both and any other after', async () => {
    const id = await bulkTo(['+255700000001', ...'abcde'], { validation: 'permissive' })
    const names = async (query: string) => {
      const { body } = await list(id, query)
      const { rejected, next_after, pagination } = body.data
      expect(pagination.total).toBe(5)
      return [rejected.map(({ to }: { to: string }) => to).join(''), next_after]
    }
    expect(await names('?limit=2')).toEqual(['ab', '2'])
    expect(await names('?limit=2&after=2')).toEqual(['cd', '4'])
    expect(await names('?limit=2&after=4')).toEqual(['e', null])
    expect(await names('?limit=2&page=2')).toEqual(['cd', '4'])
    expect(await names('?limit=2&page=9')).toEqual(['', null])
    for (const query of ['?page=1&after=2', '?after=-1', '?after=x', '?after=', '?limit=101']) {
      expect((await list(id, query)).status, query).toBe(400)
    }
  })

  it('is empty without rejected recipients, and says when they are not stored', async () => {
    const id = await bulkTo(['+255700000001'])
    const none = { total: 0, page: 1, pages: 0, limit: 50 }
    const empty = { rejected: [], pagination: none, next_after: null }
    expect((await list(id)).body.data).toStrictEqual({ ...empty, is_stored: true })
    const old = await bulkTo(['+255700000001', 'a'], { validation: 'permissive' })
    expect((await list(old)).body.data).toMatchObject({ is_stored: true, rejected: [{ to: 'a' }] })
    // As an earlier version stored it.
    const connection = connect(file)
    connection.prepare('delete from bulk_rejections where bulk_id = ?').run(old)
    connection.close()
    expect((await list(old)).body.data).toStrictEqual({ ...empty, is_stored: false })
  })

  it('shows a test key only bulks of test keys, and nothing to another workspace', async () => {
    const test = (await world().key(owner, { mode: 'test' })).key
    const id = await bulkTo(['+255700000001', 'a'], { validation: 'permissive' })
    const json = { channel: 'sms', content: { text: 'x' }, validation: 'permissive' }
    const sent = await world().call('POST', BULK, {
      key: test,
      json: { ...json, recipients: ['+255700000001', 'b'] },
    })
    const ofTest = sent.body.data.bulk_id
    expect((await list(ofTest, '', { key: test })).body.data.rejected).toMatchObject([{ to: 'b' }])
    expect((await list(ofTest)).body.data.rejected).toMatchObject([{ to: 'b' }])
    const stranger = (await world().key(await world().signup())).key
    for (const [one, other] of [
      [id, test],
      [id, stranger],
      [ofTest, stranger],
      [NEVER_WAS, key],
      ['none', key],
    ] as const) {
      const { status, body } = await list(one, '', { key: other })
      expect(status).toBe(404)
      expect(body).toStrictEqual(refusal('not_found', 'Bulk not found'))
    }
  })
})

describe(`POST ${BULK}/:id/cancel`, () => {
  it('cancels the messages that were not sent, and refunds their credits', async () => {
    const before = await world().balance(owner)
    const id = await bulkTo(['+255700000001', '+255700000002'], { scheduled_at: LATER })
    expect(await world().balance(owner)).toBe(before - 2)
    const { status, body } = await post(`${BULK}/${id}/cancel`)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      canceled: 2,
      bulk: { id, status: 'completed', counts: { queued: 0, failed: 2 }, credits_refunded: 2 },
    })
    expect(await world().balance(owner)).toBe(before)
    const again = await post(`${BULK}/${id}/cancel`)
    expect(again.status).toBe(200)
    expect(again.body.data.canceled).toBe(0)
    expect(await world().balance(owner)).toBe(before)
  })

  it('does not change sent messages', async () => {
    const id = await bulkTo(['+255700000001'])
    await world().advance(1_000)
    const { body } = await post(`${BULK}/${id}/cancel`)
    expect(body.data).toMatchObject({ canceled: 0, bulk: { counts: { delivered: 1 } } })
  })

  it('is 404 for an unknown bulk', async () => {
    expect((await post(`${BULK}/${NEVER_WAS}/cancel`)).body).toStrictEqual(
      refusal('not_found', 'Bulk not found'),
    )
  })
})

describe(`POST ${BULK}/:id/retry`, () => {
  it('sends e-mails with several recipients to all of them again', async () => {
    const identity = await world().core.apiKeys.authenticate(key, '127.0.0.1')
    const emails = [1, 2].map((n) => ({
      to: `asha${n}@example.com`,
      channel: 'email' as const,
      content: { subject: `Order ${n}`, text: 'x', cc: ['juma@example.com'] },
      scheduled_at: new Date(world().now().getTime() + 10_000).toISOString(),
      expires_in: 5,
    }))
    const sent = await world().core.messages.bulks.sendEmails(identity, { emails })
    expect(sent.data).toMatchObject({ total: 2, accepted: 2, credits_used: 400_000 })
    await world().advance(60_000)
    expect(await get(sent.data.bulk_id)).toMatchObject({
      counts: { failed: 2 },
      credits_refunded: 0.4,
    })
    const { status, body } = await post(`${BULK}/${sent.data.bulk_id}/retry`)
    expect([status, body.data.accepted, body.data.credits_used]).toEqual([201, 2, 0.4])
    await world().advance(1_000)
    const { data } = (
      await world().call('GET', `/api/v1/messages?bulk_id=${body.data.bulk_id}`, { key })
    ).body
    expect(data.messages).toMatchObject(
      [2, 1].map((n) => ({
        status: 'delivered',
        content: { subject: `Order ${n}` },
        recipients: [
          { address: `asha${n}@example.com` },
          { address: 'juma@example.com', role: 'cc' },
        ],
      })),
    )
  })

  it('sends the messages that no provider accepted again, as a new bulk with a new charge', async () => {
    const id = await bulkTo(['+255700000001', INVALID, UNDELIVERED], {
      metadata: { campaign: 'may' },
    })
    await world().advance(1_000)
    const before = await world().balance(owner)
    expect(await get(id)).toMatchObject({ counts: { failed: 2 }, retryable: 1 })
    const { status, body } = await post(`${BULK}/${id}/retry`)
    expect(status).toBe(201)
    expect(await get(id)).toMatchObject({ counts: { failed: 2 }, retryable: 0 })
    expect(body.data).toMatchObject({
      status: 'queued',
      total: 1,
      accepted: 1,
      rejected: 0,
      duplicates: 0,
      credits_used: 1,
      messages: [{ index: 0, to: INVALID, status: 'queued', credits_used: 1, segments: 1 }],
      errors: [],
    })
    expect(body.data.bulk_id).not.toBe(id)
    const { message } = (
      await world().call('GET', `/api/v1/messages/${body.data.messages[0].message_id}`, { key })
    ).body.data
    expect(message).toMatchObject({ content: { text: 'x' }, metadata: { campaign: 'may' } })
    await world().advance(1_000)
    expect(await get(body.data.bulk_id)).toMatchObject({ counts: { failed: 1 } })
    // It failed again, and was refunded again.
    expect(await world().balance(owner)).toBe(before)
  })

  it('keeps the expiry of the messages', async () => {
    const id = await bulkTo([INVALID], { expires_in: 60 })
    await world().advance(3_600_000)
    const { body } = await post(`${BULK}/${id}/retry`)
    const { message } = (
      await world().call('GET', `/api/v1/messages/${body.data.messages[0].message_id}`, { key })
    ).body.data
    expect(Date.parse(message.expires_at) - Date.parse(message.created_at)).toBe(60_000)
  })

  it('sends once, and gives repeated requests the same answer, concurrent ones too', async () => {
    const id = await bulkTo([INVALID])
    await world().advance(1_000)
    const before = await world().written(owner)
    const answers = await Promise.all([1, 2, 3].map(() => post(`${BULK}/${id}/retry`)))
    answers.push(await post(`${BULK}/${id}/retry`, { headers: { 'idempotency-key': 'other' } }))
    const [first] = answers
    expect(answers.map(({ status }) => status)).toStrictEqual([201, 201, 201, 201])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const replayed = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
    expect(replayed).toHaveLength(3)
    expect((await world().written(owner)).messages - before.messages).toBe(1)
    await world().advance(25 * 3_600_000)
    await world().dispatcher.sweep()
    const { status, body } = await post(`${BULK}/${id}/retry`)
    expect(status).toBe(400)
    const bulk = first?.body.data.bulk_id
    expect(body.message).toBe(`This bulk was sent again already, as bulk ${bulk}`)
  })

  it('waits until no message of the bulk is queued', async () => {
    const id = await bulkTo(['+255700000001'], { scheduled_at: LATER })
    const { status, body } = await post(`${BULK}/${id}/retry`)
    expect(status).toBe(400)
    expect(body.message).toBe(
      'This bulk still has queued messages: send the failed ones again when none is queued',
    )
  })

  it('has no message to send if none failed, or after a cancel', async () => {
    const fine = await bulkTo(['+255700000001'])
    const canceled = await bulkTo(['+255700000001'], { scheduled_at: LATER })
    await post(`${BULK}/${canceled}/cancel`)
    await world().advance(1_000)
    for (const id of [fine, canceled]) {
      expect(await get(id)).toMatchObject({ retryable: 0 })
      const { status, body } = await post(`${BULK}/${id}/retry`)
      expect(status).toBe(400)
      expect(body).toStrictEqual(
        refusal('validation_error', 'This bulk has no failed messages to send again', 'id'),
      )
    }
  })

  it('requires a test key for a bulk of a test key', async () => {
    const test = await world().key(owner, { mode: 'test' })
    const json = { channel: 'sms', content: { text: 'x' }, recipients: [INVALID] }
    const made = await post(BULK, { json, key: test.key })
    const path = `${BULK}/${made.body.data.bulk_id}/retry`
    await world().advance(1_000)
    const { status, body } = await post(path)
    expect(status).toBe(400)
    expect(body.message).toBe('This bulk was sent with a test key: send it again with one')
    expect((await post(path, { key: test.key })).status).toBe(201)
  })

  it('is 402 without the credits', async () => {
    const poor = await world().signup({ credits: 1 })
    const { key: own } = await world().key(poor)
    const json = { channel: 'sms', content: { text: 'x' }, recipients: [INVALID] }
    const { body } = await post(BULK, { json, key: own })
    await world().advance(1_000)
    await world().send(own)
    const answer = await post(`${BULK}/${body.data.bulk_id}/retry`, { key: own })
    expect(answer.status).toBe(402)
    expect(answer.body).toStrictEqual(
      refusal('insufficient_credits', 'Not enough credits. You need 1 credits but have 0.'),
    )
  })

  it('is 404 for an unknown bulk', async () => {
    expect((await post(`${BULK}/${NEVER_WAS}/retry`)).body).toStrictEqual(
      refusal('not_found', 'Bulk not found'),
    )
  })
})

describe('POST /api/v1/bulks/:id/pause and resume', () => {
  const change = (id: string, verb: string) => post(`/api/v1/bulks/${id}/${verb}`)
  const soon = () => new Date(world().now().getTime() + 60_000).toISOString()

  it('holds the messages of a paused bulk until it is resumed', async () => {
    const id = await bulkTo(['+255700000021', '+255700000022'], { scheduled_at: soon() })
    const paused = await change(id, 'pause')
    expect(paused.status).toBe(200)
    expect(paused.body.data.bulk).toMatchObject({
      id,
      paused_at: world().now().toISOString(),
      counts: { queued: 2 },
    })
    await world().advance(120_000)
    expect((await get(id)).counts).toMatchObject({ queued: 2, delivered: 0 })
    expect((await change(id, 'resume')).body.data.bulk).toMatchObject({ id, paused_at: null })
    await world().advance(1_000)
    expect(await get(id)).toMatchObject({ status: 'completed', counts: { delivered: 2 } })
  })

  it('returns 400 for a change that the state of the bulk does not allow', async () => {
    const id = await bulkTo(['+255700000023'], { scheduled_at: soon() })
    const not = async (verb: string, message: string) => {
      const { status, body } = await change(id, verb)
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', message, 'id'))
    }
    await not('resume', 'The bulk is not paused: it cannot be resumed')
    await change(id, 'pause')
    await not('pause', 'The bulk is paused: it cannot be paused again')
    const canceled = await change(id, 'cancel')
    expect(canceled.body.data).toMatchObject({ canceled: 1, bulk: { paused_at: null } })
    await not('resume', 'The bulk is not paused: it cannot be resumed')
    await not('pause', 'No message of the bulk is queued: it cannot be paused')
  })

  it('shows no pause of a bulk without queued messages', async () => {
    const id = await bulkTo(['+255700000025'], { scheduled_at: soon() })
    await change(id, 'pause')
    const path = `/api/v1/messages?bulk_id=${id}`
    const { messages } = (await world().call('GET', path, { key })).body.data
    expect((await post(`/api/v1/messages/${messages[0].id}/cancel`)).status).toBe(200)
    expect(await get(id)).toMatchObject({ status: 'completed', paused_at: null })
  })

  it('returns 404 for a bulk of another workspace, 403 for a key without the scope', async () => {
    const id = await bulkTo(['+255700000024'], { scheduled_at: soon() })
    const stranger = await world().key(await world().signup({ credits: 1 }))
    const reader = await world().key(owner, { scopes: ['read_messages'] })
    for (const verb of ['pause', 'resume']) {
      const path = `/api/v1/bulks/${id}/${verb}`
      expect((await world().call('POST', path, { key: stranger.key })).status).toBe(404)
      expect((await world().call('POST', path, { key: reader.key })).status).toBe(403)
      expect((await change(NEVER_WAS, verb)).status).toBe(404)
    }
    expect((await get(id)).paused_at).toBeNull()
  })
})
