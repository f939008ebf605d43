import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

const MESSAGES = '/api/v1/messages'
const MINUTE_MS = 60_000

let owner: Account
let key: string

/** Three messages, a minute apart: delivered, failed, and scheduled for later. */
let delivered: string
let failed: string
let waiting: string

beforeAll(async () => {
  owner = await world().signup({ credits: 100 })
  key = (await world().key(owner)).key
  const send = async (body: object) => (await world().send(key, body)).body.data.message_id
  delivered = await send({})
  await world().advance(MINUTE_MS)
  failed = await send({ to: '+15005550001' })
  await world().advance(MINUTE_MS)
  waiting = await send({
    to: 'asha@example.com',
    channel: 'email',
    content: { subject: 'Later', text: 'x' },
    scheduled_at: '2026-05-05T00:00:00Z',
  })
  await world().dispatcher.idle()
})

const list = (query: string) => world().call('GET', `${MESSAGES}${query}`, { key })
const idsOf = async (query: string): Promise<string[]> =>
  (await list(query)).body.data.messages.map(({ id }: { id: string }) => id)

describe(`GET ${MESSAGES}`, () => {
  describe('200', () => {
    it('lists complete records, newest first', async () => {
      const { status, body } = await list('')
      expect(status).toBe(200)
      expect(body.data).toStrictEqual({
        messages: [
          expect.objectContaining({ id: waiting, status: 'queued' }),
          expect.objectContaining({ id: failed, status: 'failed' }),
          expect.objectContaining({ id: delivered, status: 'delivered' }),
        ],
        pagination: { total: 3, page: 1, pages: 1, limit: 50 },
        next_after: null,
        next_cursor: null,
      })
      const one = await world().call('GET', `${MESSAGES}/${failed}`, { key })
      expect(body.data.messages[1]).toStrictEqual(one.body.data.message)
    })

    it('lists long contents completely, read one by one', async () => {
      const { signup, key: keyOf, send, call, core } = world()
      const mailer = await signup({ credits: 100 })
      const made = await keyOf(mailer)
      const html = `<p>${'\u017e"'.repeat(200_000)}</p>`
      const long = { to: 'asha@example.com', channel: 'email', content: { subject: 'Long', html } }
      const ids: string[] = []
      for (const body of [long, {}, long]) {
        ids.unshift((await send(made.key, body)).body.data.message_id)
      }
      await world().dispatcher.idle()
      const answer = await call('GET', MESSAGES, { key: made.key })
      const singly = ids.map((id) => call('GET', `${MESSAGES}/${id}`, { key: made.key }))
      const records = (await Promise.all(singly)).map(({ body }) => body.data.message)
      expect(answer.body).toStrictEqual({
        success: true,
        data: {
          messages: records,
          pagination: { total: 3, page: 1, pages: 1, limit: 50 },
          next_after: null,
          next_cursor: null,
        },
      })
      expect(records[0].content.html).toBe(html)
      const query = { page: 1, limit: 50 }
      const short = await core.messages.listShort(mailer.id, query)
      expect(short.messages.map(({ content }) => content)).toEqual([null, { text: 'Hello' }, null])
      const embedded = await core.messages.list(mailer.id, query)
      expect(embedded.messages[0]?.content).toMatchObject({ html })
    })

    it('is empty in a new workspace', async () => {
      const other = await world().key(await world().signup())
      const { body } = await world().call('GET', MESSAGES, { key: other.key })
      expect(body.data).toStrictEqual({
        messages: [],
        pagination: { total: 0, page: 1, pages: 0, limit: 50 },
        next_after: null,
        next_cursor: null,
      })
    })

    it('applies each filter, and several together', async () => {
      expect(await idsOf('?channel=sms')).toStrictEqual([failed, delivered])
      expect(await idsOf('?channel=email')).toStrictEqual([waiting])
      expect(await idsOf('?channel=whatsapp')).toStrictEqual([])
      expect(await idsOf('?channel=voice')).toStrictEqual([])
      expect(await idsOf('?status=queued')).toStrictEqual([waiting])
      expect(await idsOf('?status=delivered')).toStrictEqual([delivered])
      expect(await idsOf('?status=failed')).toStrictEqual([failed])
      expect(await idsOf('?status=sent')).toStrictEqual([])
      expect(await idsOf('?recipient=%2B15005550001')).toStrictEqual([failed])
      expect(await idsOf('?recipient=+15005550001')).toStrictEqual([failed])
      expect(await idsOf('?recipient=15005550001')).toStrictEqual([])
      expect(await idsOf('?channel=sms&status=delivered')).toStrictEqual([delivered])
      expect(await idsOf('?bulk_id=01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01')).toStrictEqual([])
    })

    it('filters by date, both bounds included, in any time zone offset', async () => {
      expect(await idsOf('?startDate=2026-05-04T09:01:00Z')).toStrictEqual([waiting, failed])
      expect(await idsOf('?startDate=2026-05-04T09:01:00.001Z')).toStrictEqual([waiting])
      expect(await idsOf('?endDate=2026-05-04T09:01:00.000Z')).toStrictEqual([failed, delivered])
      expect(await idsOf('?endDate=2026-05-04T12:00:59.999%2B03:00')).toStrictEqual([delivered])
      expect(await idsOf('?startDate=2026-05-04')).toHaveLength(3)
      expect(await idsOf('?endDate=2026-05-04')).toHaveLength(0)
      expect(await idsOf('?startDate=2026-05-04T09:01Z&endDate=2026-05-04T09:01Z')).toStrictEqual([
        failed,
      ])
      expect(await idsOf('?startDate=2026-05-05&endDate=2026-05-01')).toStrictEqual([])
    })

    it('returns pages', async () => {
      const { body } = await list('?limit=2&page=2')
      expect(body.data.messages).toMatchObject([{ id: delivered }])
      expect(body.data.pagination).toStrictEqual({ total: 3, page: 2, pages: 2, limit: 2 })
    })

    it('continues after a cursor, with new messages before it', async () => {
      const own = await world().signup({ credits: 10 })
      const { key: ownKey } = await world().key(own)
      const ids: string[] = []
      for (let i = 0; i < 3; i++) ids.unshift((await world().send(ownKey)).body.data.message_id)
      const page = async (query: string) =>
        (await world().call('GET', `${MESSAGES}?limit=2${query}`, { key: ownKey })).body.data
      const first = await page('')
      await world().send(ownKey)
      const second = await page(`&cursor=${first.next_cursor}`)
      const seen = [...first.messages, ...second.messages].map(({ id }: { id: string }) => id)
      expect(seen).toStrictEqual(ids)
      expect(second.next_cursor).toBeNull()
    })

    it('marks the last page, even a full one', async () => {
      const { body } = await list('?limit=3')
      expect(body.data.messages).toHaveLength(3)
      expect(body.data.next_cursor).toBeNull()
    })
  })

  describe('400', () => {
    const DATE = 'Invalid date format. Use ISO 8601 format.'
    const CHANNEL = 'Invalid channel. Must be one of: sms, whatsapp, email, voice'
    const STATUS = 'status must be one of: queued, sent, delivered, failed, canceled'
    it.each([
      ['channel=fax', 'channel', CHANNEL],
      ['channel=SMS', 'channel', CHANNEL],
      ['channel=', 'channel', CHANNEL],
      ['channel=sms&channel=email', 'channel', CHANNEL],
      ['status=read', 'status', STATUS],
      ['status=', 'status', STATUS],
      ['status=sent&status=sent', 'status', STATUS],
      ['startDate=yesterday', 'startDate', DATE],
      ['startDate=', 'startDate', DATE],
      ['startDate=2026-02-30', 'startDate', DATE],
      ['startDate=2026-13-01', 'startDate', DATE],
      ['startDate=2026-05-04T24:00:00Z', 'startDate', DATE],
      ['startDate=1767225600', 'startDate', DATE],
      ['endDate=05/04/2026', 'endDate', DATE],
      ['endDate=2026-05-04T09:00:00+99:00', 'endDate', DATE],
      ['limit=0', 'limit', 'Limit must be between 1 and 100'],
      ['limit=101', 'limit', 'Limit must be between 1 and 100'],
      ['limit=1&limit=2', 'limit', 'Limit must be between 1 and 100'],
      ['page=0', 'page', 'Page must be a positive integer'],
      ['bulk_id=7', 'bulk_id', 'bulk_id must be a UUID'],
      ['recipient=', 'recipient', 'recipient must not be empty'],
    ])('refuses %s', async (query, path, message) => {
      const { status, body } = await list(`?${query}`)
      expect(status).toBe(400)
      expect(body).toMatchObject({ success: false, error: 'validation_error', message })
      expect(body.details[0]).toStrictEqual({ path, message })
    })

    it('refuses an invalid cursor', async () => {
      const { status, body } = await list('?cursor=abc')
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', 'Invalid cursor', 'cursor'))
    })

    it.each(['%ED%A0%80', '%zz', '%', '%C3', '%C0%80'])(
      'refuses the query text %s, which is not percent-encoded UTF-8',
      async (text) => {
        const { status, body } = await list(`?recipient=${text}`)
        expect(status).toBe(400)
        expect(body.message).toBe('The query string must be percent-encoded UTF-8')
      },
    )

    it('refuses U+0000', async () => {
      const { status, body } = await list('?recipient=a%00b')
      expect(status).toBe(400)
      expect(body).toStrictEqual(
        refusal('validation_error', 'Text must not contain the character U+0000', 'recipient'),
      )
    })
  })
})
