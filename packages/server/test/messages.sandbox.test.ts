import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { openReceiver } from './receiver.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

let owner: Account
let key: string
let receiver: Awaited<ReturnType<typeof openReceiver>>
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  receiver = await openReceiver()
  await world().webhook(owner, { url: receiver.url })
})
afterAll(() => receiver.close())

const get = async (id: string) =>
  (await world().call('GET', `/api/v1/messages/${id}`, { key })).body.data.message
const eventsOf = (id: string) =>
  receiver.arrivals
    .map(({ body }) => JSON.parse(body.toString()))
    .filter(({ data }) => data.message_id === id)
    .sort((a, b) => a.data.sequence - b.data.sequence)
    .map(({ event }) => event)

async function sent(to: string): Promise<string> {
  const mail = { to, channel: 'email', content: { subject: 'Hi', text: 'x' } }
  const { body } = await world().send(key, to.includes('@') ? mail : { to })
  return body.data.message_id
}

const SENT = ['message.sent', 'message.delivered']

/** The table of contract section 9: recipient, result, events and refund. */
describe.each([
  ['+255700000001', { status: 'delivered', error_code: null }, SENT, 0],
  ['asha@example.com', { status: 'delivered', error_code: null }, SENT, 0],
  ['+15005550001', { status: 'failed', error_code: 'invalid_recipient' }, ['message.failed'], 1],
  [
    'invalid@sandbox.svc',
    { status: 'failed', error_code: 'invalid_recipient' },
    ['message.failed'],
    0.1,
  ],
  ['+15005550002', { status: 'failed', error_code: 'unroutable' }, ['message.failed'], 1],
  ['+15005550004', { status: 'failed', error_code: 'opted_out' }, ['message.failed'], 1],
  ['+15005550006', { status: 'delivered', error_code: null }, SENT, 0],
  ['delivered@sandbox.svc', { status: 'delivered', error_code: null }, SENT, 0],
  [
    '+15005550007',
    { status: 'failed', error_code: 'undelivered' },
    ['message.sent', 'message.failed'],
    0,
  ],
  [
    'bounced@sandbox.svc',
    { status: 'failed', error_code: 'bounced' },
    ['message.sent', 'message.failed'],
    0,
  ],
  ['+15005550008', { status: 'delivered', error_code: null }, SENT, 0],
])('%s', (to, outcome, events, credits_refunded) => {
  it('has the result in the contract', async () => {
    const id = await sent(to)
    await world().advance(1_000)
    expect(await get(id)).toMatchObject({ ...outcome, credits_refunded, provider: 'sandbox' })
    await world().advance(0)
    expect(eventsOf(id)).toStrictEqual(events)
  })
})

it('+15005550005 is delivered after 30 s', async () => {
  const id = await sent('+15005550005')
  await world().advance(29_000)
  expect(await get(id)).toMatchObject({ status: 'sent', delivered_at: null })
  await world().advance(1_000)
  const { status, sent_at, delivered_at } = await get(id)
  expect(status).toBe('delivered')
  expect(Date.parse(delivered_at) - Date.parse(sent_at)).toBe(30_000)
})

it('+15005550008 replies', async () => {
  receiver.arrivals.length = 0
  await sent('+15005550008')
  await world().advance(1_000)
  const received = receiver.arrivals
    .map(({ body }) => JSON.parse(body.toString()))
    .filter(({ event }) => event === 'message.received')
  expect(received).toMatchObject([
    { data: { sender: '+15005550008', channel: 'sms', content: { text: 'Thank you!' } } },
  ])
})

it('+15005550009 is delivered at the second attempt', async () => {
  const id = await sent('+15005550009')
  await world().advance(0)
  expect(await get(id)).toMatchObject({ status: 'queued' })
  await world().advance(600_000)
  expect(await get(id)).toMatchObject({ status: 'delivered', credits_refunded: 0 })
  const { body } = await world().call('GET', `/api/v1/messages/${id}/timeline`, { key })
  const tries = body.data.timeline.filter(({ kind }: { kind: string }) => kind === 'provider')
  expect(tries).toMatchObject([
    { attempt: 1, outcome: 'retry', error_code: 'provider_unavailable' },
    { attempt: 2, outcome: 'accepted' },
  ])
})

it('serves a test key without a charge, with events', async () => {
  const test = await world().key(owner, { mode: 'test' })
  const before = await world().balance(owner)
  const { body } = await world().send(test.key, { to: '+15005550001' })
  await world().advance(1_000)
  expect(await get(body.data.message_id)).toMatchObject({
    status: 'failed',
    livemode: false,
    credits_used: 0,
    credits_refunded: 0,
    provider: 'sandbox',
  })
  expect(await world().balance(owner)).toBe(before)
  await world().advance(0)
  expect(eventsOf(body.data.message_id)).toStrictEqual(['message.failed'])
})
