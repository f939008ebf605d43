import { expect, it } from 'vitest'
import type { DeliveryRow, WebhookRow } from '../../src/rows/rows.ts'
import type { Sealed, SealedHeaders } from '../../src/rows/sealed.ts'
import { type ClaimedDelivery, type FanOut, fanOut } from '../../src/rules/deliveries.ts'

import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

/** Changed webhooks, and requested deliveries. */
export function webhooksContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A webhook with so many deliveries, of which none is claimed. */
  async function hooked(count: number): Promise<WebhookRow> {
    const workspaceId = await bench.workspace()
    const webhook = await bench.webhook(workspaceId)
    for (let i = 0; i < count; i++) {
      await bench.callback(await bench.queued(workspaceId), 'sent')
      bench.clock.advance(1_000)
    }
    return webhook
  }

  async function delivery({
    workspace_id,
    webhook_id,
    delivery_id,
  }: ClaimedDelivery): Promise<DeliveryRow> {
    const row = await bench.storage.read.webhooks.delivery(workspace_id, webhook_id, delivery_id)
    if (!row) throw new Error('the delivery is gone')
    return row
  }

  function requeue({ workspace_id, webhook_id, delivery_id }: ClaimedDelivery, tries: number) {
    const options = { at: bench.clock.now(), tries }
    return bench.storage.write(async ({ webhooks }) => {
      await webhooks.lock(workspace_id, webhook_id)
      return webhooks.requeue(workspace_id, webhook_id, [delivery_id], options)
    })
  }

  it('changes what is named, of that webhook alone', async () => {
    const workspaceId = await bench.workspace()
    const [one, other] = [await bench.webhook(workspaceId), await bench.webhook(workspaceId)]
    const change = {
      description: 'CRM',
      events: ['message.sent'],
      headers: { b: '1', a: '2' } as unknown as SealedHeaders,
      secret: 'whsec_bmV3' as Sealed,
      previous_secret: one.secret,
      previous_secret_ends_at: bench.clock.advance(86_400_000),
    }
    await bench.storage.write(async ({ webhooks }) => {
      expect(await webhooks.lock(workspaceId, one.id)).toEqual(one)
      expect(await webhooks.lock(workspaceId, 'none')).toBeNull()
      await webhooks.change(workspaceId, one.id, change)
    })
    const { byId } = bench.storage.read.webhooks
    expect(await byId(workspaceId, one.id)).toEqual({ ...one, ...change })
    expect(Object.keys((await byId(workspaceId, one.id))?.headers ?? {})).toEqual(['b', 'a'])
    expect(await byId(workspaceId, other.id)).toEqual(other)
  })

  it('queues a test, which is claimed even while its webhook is disabled', async () => {
    const workspaceId = await bench.workspace()
    const { id: webhook_id } = await bench.webhook(workspaceId, { is_active: false })
    const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
    const at = bench.clock.now()
    fanOut(
      announced,
      {
        event: 'webhook.test',
        data: { webhook_id, message: 'Hello', livemode: true, occurred_at: at },
        workspace_id: workspaceId,
        message_id: null,
      },
      [{ id: webhook_id, workspace_id: workspaceId, events: ['*'], mode: 'all', format: 'svc' }],
      { at, newId: bench.clock.id },
      { trigger: 'test', max_attempts: 1 },
    )
    await bench.storage.write(({ webhooks }) => webhooks.queue(announced))
    const claimed = only(await bench.claimDeliveries())
    expect(claimed).toMatchObject({ webhook_id, event: 'webhook.test', attempt: 1 })
    await bench.record(claimed, { response_status: 500 })
    expect(await delivery(claimed)).toMatchObject({ status: 'failed', attempt_count: 1 })
  })

  it('narrows the deliveries by status and event, and counts the same', async () => {
    const { workspace_id, id } = await hooked(3)
    await bench.record(only(await bench.claimDeliveries({ limit: 1 })))
    const { deliveries, countDeliveries } = bench.storage.read.webhooks
    for (const [filter, count] of [
      [{}, 3],
      [{ status: 'delivered' }, 1],
      [{ status: 'pending', event: 'message.sent' }, 2],
      [{ event: 'message.read' }, 0],
    ] as const) {
      const found = await deliveries(workspace_id, id, { ...filter, ...EVERYTHING })
      expect(found).toHaveLength(count)
      expect(found).toEqual(
        found.filter((row) => Object.entries(filter).every(([k, v]) => row[k as 'status'] === v)),
      )
      expect(await countDeliveries(workspace_id, id, filter)).toBe(count)
    }
  })

  it('walks through the deliveries oldest first', async () => {
    const { workspace_id, id } = await hooked(5)
    const { deliveries, deliveriesAfter } = bench.storage.read.webhooks
    const all = (await deliveries(workspace_id, id, EVERYTHING)).reverse()
    const walked: string[] = []
    for (let after_id = ''; ; after_id = walked.at(-1) ?? '') {
      const page = await deliveriesAfter(workspace_id, id, { after_id, limit: 2 })
      walked.push(...page.map((row) => row.id))
      if (page.length < 2) break
    }
    expect(walked).toEqual(all.map((row) => row.id))
  })

  it('gives a failed delivery the stated number of new tries, at once', async () => {
    await hooked(1)
    const delivered = only(await bench.claimDeliveries())
    await bench.storage.write(({ webhooks }) =>
      webhooks.change(delivered.workspace_id, delivered.webhook_id, { is_active: false }),
    )
    await bench.record(delivered, { response_status: 500 })
    expect(await delivery(delivered)).toMatchObject({ status: 'failed' })
    await bench.storage.write(({ webhooks }) =>
      webhooks.change(delivered.workspace_id, delivered.webhook_id, { is_active: true }),
    )
    const at = bench.clock.advance(1_000)
    expect(await requeue(delivered, 12)).toBe(1)
    expect(await delivery(delivered)).toMatchObject({
      status: 'pending',
      trigger: 'manual',
      max_attempts: 13,
      next_attempt_at: at,
    })
    const again = only(await bench.claimDeliveries())
    expect(again).toMatchObject({
      delivery_id: delivered.delivery_id,
      attempt: 2,
      body: delivered.body,
    })
    await bench.record(again, { response_status: 500, duration_ms: 0 })
    const next = (await delivery(delivered)).next_attempt_at?.getTime() ?? 0
    expect(next - at.getTime()).toBeGreaterThanOrEqual(5_000)
    expect(next - at.getTime()).toBeLessThanOrEqual(5_500)
  })

  it('makes one that waits due, without taking a try from it', async () => {
    await hooked(1)
    const delivered = only(await bench.claimDeliveries())
    await bench.record(delivered, { response_status: 500 })
    const at = bench.clock.advance(1_000)
    expect(await requeue(delivered, 1)).toBe(1)
    expect(await delivery(delivered)).toMatchObject({
      status: 'pending',
      trigger: 'manual',
      attempt_count: 1,
      max_attempts: 13,
      next_attempt_at: at,
    })
    expect(only(await bench.claimDeliveries())).toMatchObject({ attempt: 2 })
  })

  it('repeats a failed try at once if a retry was requested while it was in flight', async () => {
    await hooked(1)
    const delivered = only(await bench.claimDeliveries())
    expect(await requeue(delivered, 1)).toBe(1)
    expect(await requeue(delivered, 1)).toBe(0)
    const requested = { status: 'pending', trigger: 'manual', next_attempt_at: null } as const
    expect(await delivery(delivered)).toMatchObject({ ...requested, max_attempts: 13 })
    expect(await bench.claimDeliveries()).toEqual([])
    await bench.record(delivered, { response_status: 500, duration_ms: 0 })
    expect(await delivery(delivered)).toMatchObject({
      status: 'pending',
      attempt_count: 1,
      next_attempt_at: bench.clock.now(),
    })
    const again = only(await bench.claimDeliveries())
    expect(again).toMatchObject({ delivery_id: delivered.delivery_id, attempt: 2 })
    await bench.record(again, { response_status: 500, duration_ms: 0 })
    const next = (await delivery(delivered)).next_attempt_at?.getTime() ?? 0
    expect(next - bench.clock.now().getTime()).toBeGreaterThanOrEqual(5_000)
    expect(next - bench.clock.now().getTime()).toBeLessThanOrEqual(5_500)
  })

  it('claims a delivery that was put first before those that wait longer, for its own workspace', async () => {
    const { workspace_id, id } = await hooked(3)
    const rows = await bench.storage.read.webhooks.deliveries(workspace_id, id, {
      limit: 3,
      offset: 0,
    })
    const [newest] = rows.map((row) => row.id)
    const stranger = await bench.workspace()
    const first = async (workspaceId: string) => {
      await bench.storage.write(({ webhooks }) => webhooks.putFirst(workspaceId, id, `${newest}`))
      const found = await bench.storage.read.webhooks.nextDue(workspace_id, id)
      return found?.getTime() ?? 0
    }
    const before = await first(stranger)
    expect(await first(workspace_id)).toBe(before - 1)
    const [claimed] = await bench.claimDeliveries({ limit: 1 })
    expect(claimed?.delivery_id).toBe(newest)
  })

  it('needs no retry if the try in flight succeeds', async () => {
    await hooked(1)
    const delivered = only(await bench.claimDeliveries())
    await requeue(delivered, 1)
    await bench.record(delivered)
    expect(await delivery(delivered)).toMatchObject({ status: 'delivered', attempt_count: 1 })
    bench.clock.advance(24 * 3_600_000)
    expect(await bench.claimDeliveries()).toEqual([])
  })

  it('does not undo what was acknowledged once', async () => {
    await hooked(1)
    const delivered = only(await bench.claimDeliveries())
    await bench.record(delivered)
    const { delivered_at } = await delivery(delivered)
    await requeue(delivered, 1)
    await bench.record(only(await bench.claimDeliveries()), { response_status: 500 })
    expect(await delivery(delivered)).toMatchObject({
      status: 'delivered',
      delivered_at,
      attempt_count: 2,
      response_status: 500,
    })
  })

  it('queues nothing again for a stranger', async () => {
    await hooked(1)
    const delivered = only(await bench.claimDeliveries())
    await bench.record(delivered)
    const before = await delivery(delivered)
    const stranger = await bench.workspace(0)
    expect(await requeue({ ...delivered, workspace_id: stranger }, 1)).toBe(0)
    await bench.storage.write(({ webhooks }) =>
      webhooks.change(stranger, delivered.webhook_id, { url: 'https://stranger.example/' }),
    )
    expect(await delivery(delivered)).toEqual(before)
    const webhook = await bench.storage.read.webhooks.byId(
      delivered.workspace_id,
      delivered.webhook_id,
    )
    expect(webhook?.url).toBe(delivered.url)
    expect(await bench.claimDeliveries()).toEqual([])
  })
}
