import { expect, it } from 'vitest'
import { eventBody } from '../../src/contract/resources/events.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

/** Every event goes, with one and the same body, to every webhook of its workspace that wants it, and to no other. */
export function fanOutContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('queues one delivery for each webhook that wants the event, all with one stored body', async () => {
    const workspaceId = await bench.workspace()
    const all = await bench.webhook(workspaceId, { headers: { 'X-Tenant': 'ü' } })
    const some = await bench.webhook(workspaceId, { events: ['message.delivered'] })
    const none = await bench.webhook(workspaceId, { events: ['message.failed', 'message.read'] })
    const off = await bench.webhook(workspaceId, { is_active: false })
    const message = await bench.queued(workspaceId, {
      bulk_id: bench.make.workspace().id,
      metadata: { 'order № 1': [1, null] },
    })
    const at = bench.clock.advance(1_234)
    await bench.callback(message, 'delivered')

    const deliveries = await bench.deliveriesOf(message)
    expect(deliveries.map(({ webhook_id }) => webhook_id).sort()).toEqual([all.id, some.id].sort())
    const event_id = deliveries[0]?.event_id
    for (const delivery of deliveries) {
      expect(delivery).toEqual({
        id: delivery.id,
        workspace_id: workspaceId,
        webhook_id: delivery.webhook_id,
        event_id,
        event: 'message.delivered',
        message_id: message.id,
        status: 'pending',
        trigger: 'event',
        livemode: true,
        attempt_count: 0,
        max_attempts: 12,
        next_attempt_at: at,
        response_status: null,
        response_time_ms: null,
        error: null,
        started_at: null,
        response_body: null,
        created_at: at,
        updated_at: at,
        delivered_at: null,
      })
    }
    expect(await bench.storage.read.webhooks.countDeliveries(workspaceId, none.id)).toBe(0)
    expect(await bench.storage.read.webhooks.countDeliveries(workspaceId, off.id)).toBe(0)

    const claimed = await bench.claimDeliveries({ token: 'token-1' })
    expect(claimed).toHaveLength(2)
    expect(claimed.find(({ webhook_id }) => webhook_id === all.id)).toEqual({
      delivery_id: deliveries.find(({ webhook_id }) => webhook_id === all.id)?.id,
      workspace_id: workspaceId,
      webhook_id: all.id,
      event_id,
      event: 'message.delivered',
      url: all.url,
      secret: all.secret,
      previous_secret: null,
      accepted_secret: null,
      headers: { 'X-Tenant': 'ü' },
      format: 'svc',
      message: null,
      attempt: 1,
      token: 'token-1',
      body: eventBody('message.delivered', {
        message_id: message.id,
        recipient: message.recipient,
        channel: 'sms',
        status: 'delivered',
        credits_used: message.credits_used,
        metadata: { 'order № 1': [1, null] },
        bulk_id: message.bulk_id,
        livemode: true,
        provider_message_id: 'P1',
        error_code: null,
        error_message: null,
        occurred_at: at,
        sequence: 1,
      }),
    })
    expect(new Set(claimed.map(({ body }) => body)).size).toBe(1)
  })

  it('notifies webhooks of one mode of their messages only', async () => {
    const workspaceId = await bench.workspace()
    const [all, live, test] = [
      await bench.webhook(workspaceId, { mode: 'all' }),
      await bench.webhook(workspaceId, { mode: 'live' }),
      await bench.webhook(workspaceId, { mode: 'test' }),
    ]
    const real = await bench.queued(workspaceId)
    const rehearsed = await bench.queued(workspaceId, { livemode: false })
    for (const message of [real, rehearsed]) await bench.callback(message, 'sent')
    const notified = async (message: typeof real) =>
      (await bench.deliveriesOf(message)).map(({ webhook_id, livemode }) => [webhook_id, livemode])
    expect((await notified(real)).sort()).toEqual([all.id, live.id].sort().map((id) => [id, true]))
    expect((await notified(rehearsed)).sort()).toEqual(
      [all.id, test.id].sort().map((id) => [id, false]),
    )
    const { webhooks } = bench.storage.read
    const ofTests = { livemode: false }
    expect(await webhooks.deliveries(workspaceId, all.id, { ...EVERYTHING, ...ofTests })).toEqual(
      (await bench.deliveriesOf(rehearsed)).filter(({ webhook_id }) => webhook_id === all.id),
    )
    expect(await webhooks.countDeliveries(workspaceId, all.id, ofTests)).toBe(1)
    expect(await webhooks.list(workspaceId, { ...EVERYTHING, mode: 'test' })).toEqual([test])
    expect(await webhooks.count(workspaceId, { mode: 'test' })).toBe(1)
  })

  it('discards what waits for a webhook whose mode has changed since', async () => {
    const workspaceId = await bench.workspace()
    const webhook = await bench.webhook(workspaceId)
    const real = await bench.queued(workspaceId)
    const rehearsed = await bench.queued(workspaceId, { livemode: false })
    for (const message of [real, rehearsed]) await bench.callback(message, 'sent')
    const change = { mode: 'test', updated_at: bench.clock.now() } as const
    await bench.storage.write(({ webhooks }) => webhooks.change(workspaceId, webhook.id, change))
    const claimed = only(await bench.claimDeliveries())
    expect(JSON.parse(claimed.body).data).toMatchObject({
      message_id: rehearsed.id,
      livemode: false,
    })
    expect(only(await bench.deliveriesOf(real))).toMatchObject({ status: 'discarded' })
  })

  it('sends the same bytes on every attempt', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await bench.queued(workspaceId, { metadata: { b: 1, a: [], ' ': 1e21 } })
    await bench.callback(message, 'sent')
    const first = only(await bench.claimDeliveries())
    await bench.record(first, { response_status: 500 })
    await bench.callback(message, 'delivered')
    bench.clock.advance(5_600)
    const again = await bench.claimDeliveries()
    const second = again.find(({ delivery_id }) => delivery_id === first.delivery_id)
    expect(second).toMatchObject({ attempt: 2, body: first.body, event_id: first.event_id })
  })

  it('stores nothing without a subscriber', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, { channel: 'whatsapp' })
    await bench.callback(message, 'sent', 'delivered', 'read')
    expect(await bench.deliveriesOf(message)).toEqual([])
    await bench.webhook(workspaceId)
    expect(await bench.claimDeliveries()).toEqual([])
    expect(await bench.message(workspaceId, message.id)).toMatchObject({ sequence: 3 })
  })

  it("leaves another workspace's webhooks alone", async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const ours = await bench.webhook(mine)
    const stranger = await bench.webhook(theirs)
    const { webhooks } = bench.storage.read
    const messages = [
      await bench.queued(mine),
      await bench.queued(theirs),
      await bench.queued(mine),
    ]
    const settlements = messages.map(
      (message): Settlement => ({
        workspace_id: message.workspace_id,
        message_id: message.id,
        token: null,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: {
          task: 'callback',
          receipts: [
            { status: 'sent', provider_message_id: null, error_code: null, error_message: null },
          ],
        },
        at: bench.clock.now(),
      }),
    )
    await bench.storage.hot.settle(settlements)
    const toMine = await webhooks.deliveries(mine, ours.id, EVERYTHING)
    const toTheirs = await webhooks.deliveries(theirs, stranger.id, EVERYTHING)
    const [first, second, third] = messages.map(({ id }) => id)
    expect(toMine.map(({ message_id }) => message_id).sort()).toEqual([first, third].sort())
    expect(toTheirs.map(({ message_id }) => message_id)).toEqual([second])
    for (const message of messages) {
      const { webhook_id } = only(await bench.deliveriesOf(message))
      expect(webhook_id).toBe(message.workspace_id === mine ? ours.id : stranger.id)
    }
    for (const { workspace_id, body } of await bench.claimDeliveries()) {
      const { data } = JSON.parse(body)
      expect(data.message_id === second).toBe(workspace_id === theirs)
    }
  })

  it('removes a webhook with everything that waits for it, and leaves the others theirs', async () => {
    const workspaceId = await bench.workspace()
    const removed = await bench.webhook(workspaceId)
    const kept = await bench.webhook(workspaceId)
    const message = await bench.queued(workspaceId)
    await bench.callback(message, 'sent', 'delivered')
    const claimed = await bench.claimDeliveries({ limit_per_webhook: 1 })
    const lost = claimed.find(({ webhook_id }) => webhook_id === removed.id)
    if (!lost) throw new Error('both have something waiting')
    await bench.record(lost, { response_status: 500 })
    const remove = () =>
      bench.storage.write(({ webhooks }) => webhooks.remove(workspaceId, removed.id))

    expect(await remove()).toBe(true)
    expect(await remove()).toBe(false)

    const { webhooks } = bench.storage.read
    expect(await webhooks.byId(workspaceId, removed.id)).toBeNull()
    expect(await webhooks.deliveries(workspaceId, removed.id, EVERYTHING)).toEqual([])
    expect(await webhooks.attempts(workspaceId, removed.id, lost.delivery_id)).toEqual([])
    expect(await bench.record(lost)).toBe(false)
    bench.clock.advance(3_600_000)
    const left = await bench.claimDeliveries()
    expect(left.map(({ webhook_id }) => webhook_id)).toEqual([kept.id, kept.id])
  })
}
