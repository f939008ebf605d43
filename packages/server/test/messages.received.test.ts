import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

const RECEIVED = '/api/v1/messages/received'
/** A recipient that replies "Thank you!". */
const TALKATIVE = '+15005550008'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

const list = (query = '', asker = key) => world().call('GET', `${RECEIVED}${query}`, { key: asker })

async function thanked(): Promise<string> {
  const { body } = await world().send(key, { to: TALKATIVE })
  await world().advance(1_000)
  return body.data.message_id
}

describe(`GET ${RECEIVED}`, () => {
  it('lists messages from recipients, newest first, for the workspace that they answered', async () => {
    expect((await list()).body).toStrictEqual({
      success: true,
      data: {
        received: [],
        pagination: { total: 0, page: 1, pages: 0, limit: 50 },
        next_after: null,
      },
    })
    await thanked()
    const first = (await list()).body.data.received[0]
    expect(first).toStrictEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      channel: 'sms',
      sender: TALKATIVE,
      recipient: expect.any(String),
      content: { text: 'Thank you!', media: [] },
      keyword: null,
      provider: 'sandbox',
      livemode: true,
      created_at: expect.stringMatching(/^2026-05-04T09:0.:..\....Z$/),
    })
    await thanked()
    const { data } = (await list('?limit=1&page=2')).body
    expect(data).toStrictEqual({
      received: [first],
      pagination: { total: 2, page: 2, pages: 2, limit: 1 },
      next_after: null,
    })
    const stranger = (await world().key(await world().signup())).key
    expect((await list('', stranger)).body.data.received).toEqual([])
  })

  it.each([
    ['channel=sms', true],
    ['channel=whatsapp', false],
    ['sender=%2B15005550008', true],
    ['sender=+15005550008', true],
    ['sender=%2B15005550006', false],
    ['startDate=2026-05-04', true],
    ['startDate=2027-01-01', false],
    ['endDate=2027-01-01', true],
    ['endDate=2026-05-03', false],
  ])('applies the filter %s', async (query, finds) => {
    await thanked()
    const { received, pagination } = (await list(`?${query}`)).body.data
    expect(received.length > 0).toBe(finds)
    expect(pagination.total).toBe(received.length)
  })

  it('refuses an unknown channel, and a page that is too large', async () => {
    expect((await list('?channel=fax')).body).toStrictEqual(
      refusal(
        'validation_error',
        'Invalid channel. Must be one of: sms, whatsapp, email, voice',
        'channel',
      ),
    )
    expect((await list('?limit=101')).body).toStrictEqual(
      refusal('validation_error', 'Limit must be between 1 and 100', 'limit'),
    )
  })
})
