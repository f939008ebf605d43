import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { openReceiver } from './receiver.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

const LATER = '2026-05-05T09:00:00Z'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

const get = async (id: string) =>
  (await world().call('GET', `/api/v1/messages/${id}`, { key })).body.data.message
const cancel = (id: string) => world().call('POST', `/api/v1/messages/${id}/cancel`, { key })
const sent = async (body: object = {}): Promise<string> =>
  (await world().send(key, body)).body.data.message_id

describe('POST /api/v1/messages/:id/cancel', () => {
  it('cancels a queued message, with status failed, a refund and an event', async () => {
    const receiver = await openReceiver()
    const hook = await world().webhook(owner, { url: receiver.url, events: ['message.failed'] })
    const before = await world().balance(owner)
    const id = await sent({ scheduled_at: LATER })
    const { status, body } = await cancel(id)
    expect(status).toBe(200)
    expect(body.data.message).toMatchObject({
      id,
      status: 'failed',
      error_code: 'canceled',
      error_message: 'Canceled before it was sent',
      credits_used: 1,
      credits_refunded: 1,
      failed_at: '2026-05-04T09:00:00.000Z',
    })
    expect(await world().balance(owner)).toBe(before)
    const { token } = owner
    const ledger = await world().call('GET', '/api/v1/billing/transactions', { token })
    expect(ledger.body.data.transactions[0]).toMatchObject({
      type: 'refund',
      credits: 1,
      description: 'Canceled before it was sent',
      reference: { type: 'message', id },
    })
    await world().advance(0)
    const events = receiver.arrivals.map(({ body }) => JSON.parse(body.toString()))
    expect(events).toMatchObject([
      { event: 'message.failed', data: { message_id: id, error_code: 'canceled' } },
    ])
    await world().call('DELETE', `/api/v1/webhooks/${hook.id}`, { token: owner.token })
    await receiver.close()
  })

  it('is too late for sent and for canceled messages', async () => {
    const delivered = await sent()
    const canceled = await sent({ scheduled_at: LATER })
    await cancel(canceled)
    await world().advance(1_000)
    for (const [id, text] of [
      [delivered, 'Message cannot be canceled: it is delivered'],
      [canceled, 'Message cannot be canceled: it is failed'],
    ] as const) {
      const { status, body } = await cancel(id)
      expect(status).toBe(400)
      expect(body).toStrictEqual(refusal('validation_error', text, 'id'))
    }
  })

  it('is 404 for an unknown message', async () => {
    for (const id of ['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'none']) {
      const { status, body } = await cancel(id)
      expect(status).toBe(404)
      expect(body).toStrictEqual(refusal('not_found', 'Message not found'))
    }
  })
})

describe('POST /api/v1/messages/:id/reschedule', () => {
  const reschedule = (id: string, json: object) =>
    world().call('POST', `/api/v1/messages/${id}/reschedule`, { key, json })
  const inMs = (ms: number) => new Date(world().now().getTime() + ms).toISOString()

  it('sends the message at its new time, with an entry in its history', async () => {
    const id = await sent({ scheduled_at: inMs(60_000), expires_in: 5 })
    const at = world().now().toISOString()
    const { status, body } = await reschedule(id, { scheduled_at: inMs(120_000) })
    expect(status).toBe(200)
    expect(body.data.message).toMatchObject({
      id,
      status: 'queued',
      scheduled_at: inMs(120_000),
      expires_at: inMs(125_000),
    })
    await world().advance(119_000)
    expect(await get(id)).toMatchObject({ status: 'queued' })
    await world().advance(1_000)
    expect(await get(id)).toMatchObject({ status: 'delivered' })
    const path = `/api/v1/messages/${id}/timeline`
    const { timeline } = (await world().call('GET', path, { key })).body.data
    expect(timeline.slice(0, 3)).toMatchObject([
      { kind: 'status', status: 'queued', error_code: null },
      { kind: 'ledger' },
      { kind: 'status', status: 'queued', applied: true, error_code: 'rescheduled', at },
    ])
  })

  it('sends the message now if the time is in the past', async () => {
    const id = await sent({ scheduled_at: inMs(60_000) })
    await reschedule(id, { scheduled_at: '2020-01-01' })
    await world().advance(1_000)
    expect(await get(id)).toMatchObject({ status: 'delivered' })
  })

  it('refuses a time more than 35 days ahead, no time, and a message that is sent', async () => {
    const id = await sent({ scheduled_at: inMs(60_000) })
    const far = await reschedule(id, { scheduled_at: inMs(36 * 86_400_000) })
    expect(far.body.message).toBe('scheduled_at must be at most 35 days ahead')
    expect((await reschedule(id, {})).body.message).toBe('Missing required field: scheduled_at')
    await world().advance(60_000)
    const late = await reschedule(id, { scheduled_at: inMs(60_000) })
    const text = 'Message cannot be rescheduled: it is delivered'
    expect(late.body).toStrictEqual(refusal('validation_error', text, 'id'))
  })

  it('is 404 for an unknown message', async () => {
    const { status } = await reschedule('01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', {
      scheduled_at: inMs(1),
    })
    expect(status).toBe(404)
  })
})

describe('scheduled_at and expires_in', () => {
  it('waits until the scheduled time', async () => {
    const at = new Date(world().now().getTime() + 60_000).toISOString()
    const id = await sent({ scheduled_at: at })
    await world().advance(59_000)
    expect(await get(id)).toMatchObject({ status: 'queued', scheduled_at: at, sent_at: null })
    await world().advance(1_000)
    expect(await get(id)).toMatchObject({ status: 'delivered', sent_at: at })
  })

  it('treats a past time as now', async () => {
    const id = await sent({ scheduled_at: '2026-05-01' })
    await world().advance(1_000)
    expect(await get(id)).toMatchObject({ status: 'delivered', scheduled_at: null })
  })

  it('fails with a refund and an event if the recipient opted out meanwhile', async () => {
    const receiver = await openReceiver()
    const hook = await world().webhook(owner, { url: receiver.url, events: ['message.failed'] })
    const before = await world().balance(owner)
    const to = '+255733000001'
    const at = new Date(world().now().getTime() + 60_000).toISOString()
    const id = await sent({ to, scheduled_at: at })
    const json = { channel: 'sms', address: to, reason: 'opt_out' }
    const path = '/api/v1/contacts/suppressions'
    expectStatus(201, await world().call('POST', path, { token: owner.token, json }))
    await world().advance(60_000)
    const reason = {
      error_code: 'suppressed',
      error_message: 'The recipient is suppressed on this channel',
    }
    expect(await get(id)).toMatchObject({
      status: 'failed',
      ...reason,
      credits_used: 1,
      credits_refunded: 1,
      provider: null,
      sent_at: null,
      failed_at: at,
    })
    expect(await world().balance(owner)).toBe(before)
    expect(receiver.arrivals.map(({ body }) => JSON.parse(body.toString()))).toMatchObject([
      { event: 'message.failed', data: { message_id: id, ...reason } },
    ])
    const { body } = await world().call('GET', `/api/v1/messages/${id}/timeline`, { key })
    // No attempt among them.
    expect(body.data.timeline).toMatchObject([
      { kind: 'status', status: 'queued' },
      { kind: 'ledger', type: 'send', credits: -1 },
      { at, kind: 'status', status: 'failed', applied: true, ...reason },
      { at, kind: 'ledger', type: 'refund', credits: 1, balance_after: before },
      { kind: 'webhook', event: 'message.failed', status: 'delivered' },
    ])
    await world().call('DELETE', `/api/v1/webhooks/${hook.id}`, { token: owner.token })
    await receiver.close()
  })

  it('does not send an expired message, and refunds its credits', async () => {
    // The retry of the transient error would come later.
    const id = await sent({ to: '+15005550009', expires_in: 1 })
    await world().advance(600_000)
    expect(await get(id)).toMatchObject({
      status: 'failed',
      error_code: 'expired',
      credits_refunded: 1,
    })
  })

  it('counts the expiry from the scheduled time', async () => {
    const at = world().now().getTime() + 60_000
    const id = await sent({ scheduled_at: new Date(at).toISOString(), expires_in: 5 })
    expect(await get(id)).toMatchObject({ expires_at: new Date(at + 5_000).toISOString() })
    await world().advance(60_000)
    expect(await get(id)).toMatchObject({ status: 'delivered' })
  })
})
