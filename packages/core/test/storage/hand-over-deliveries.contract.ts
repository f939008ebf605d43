import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import type { DeliveryRow, MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedDelivery, ClaimOfNewDeliveries } from '../../src/rules/deliveries.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

/** Deliveries that are claimed in the transaction that queues them, and handed over after its commit. */
export function handOverDeliveriesContract(open: OpenStorage): void {
  const bench = benchFor(open)
  let admits: ClaimOfNewDeliveries['admits']
  let handed: ClaimedDelivery[]
  let waiting: { webhook_id: string; workspace_id: string }[]
  /** The room that is reserved and not given back. */
  let reserved: number
  let hasRoom: boolean

  beforeEach(async () => {
    admits = () => true
    handed = []
    waiting = []
    reserved = 0
    hasRoom = true
    // The first claim ends the doubt about the clock.
    await bench.claimMessages()
    bench.storage.hot.setLanes({
      deliveries: {
        reserve(count) {
          if (!hasRoom) return null
          reserved += count
          const time = bench.time()
          return {
            terms: {
              ...time,
              lease_ms: LEASE_MS,
              token: bench.clock.id(),
              admits: (one) => admits(one),
            },
            handOver(items) {
              reserved -= count
              handed.push(...items)
            },
            release() {
              reserved -= count
            },
            giveBack() {},
          }
        },
        queued: (rows) => waiting.push(...rows),
      },
    })
  })
  afterEach(() => bench.storage.hot.setLanes(null))

  const rowOf = async (message: MessageRow): Promise<DeliveryRow> =>
    only(await bench.deliveriesOf(message))

  it('wait for a claim about a test message, and at a gate', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { events: ['message.sent'] })
    const gate_host = 'gated.example'
    await bench.webhook(workspaceId, { events: ['message.delivered'], gate_host })
    await bench.callback(await bench.queued(workspaceId, { livemode: false }), 'sent')
    await bench.callback(await bench.queued(workspaceId), 'delivered')
    expect([handed.length, waiting.length]).toEqual([0, 2])
    await bench.callback(await bench.queued(workspaceId), 'sent')
    expect(only(handed)).toMatchObject({ event: 'message.sent' })
  })

  it.each([
    ['still valid', 60_000],
    ['no longer valid', -1],
  ])(
    'are what a claim would have returned, with a former secret that is %s',
    async (_, valid_ms) => {
      const workspaceId = await bench.workspace()
      const webhook = await bench.webhook(workspaceId, {
        events: ['message.sent'],
        headers: { 'x-tenant': 'asha' },
        previous_secret: 'whsec_Zm9ybWVy',
        previous_secret_ends_at: new Date(bench.clock.now().getTime() + valid_ms),
        accepted_secret: 'a fingerprint',
      })
      const [first, second] = [await bench.queued(workspaceId), await bench.queued(workspaceId)]
      await bench.callback(first, 'sent')
      bench.storage.hot.setLanes(null)
      await bench.callback(second, 'sent')
      const [own, other] = [only(handed), only(await bench.claimDeliveries())]
      const row = await rowOf(first)
      expect(own).toEqual({
        ...other,
        delivery_id: row.id,
        event_id: row.event_id,
        token: expect.any(String),
        body: other.body.replaceAll(second.id, first.id),
      })
      expect(own.previous_secret).toBe(valid_ms > 0 ? webhook.previous_secret : null)
    },
  )

  it('are leased: no claim finds them before the end, and their results count', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { events: ['message.sent', 'message.delivered'] })
    const message = await bench.queued(workspaceId)
    await bench.callback(message, 'sent', 'delivered')
    expect(handed.map(({ event }) => event)).toEqual(['message.sent', 'message.delivered'])
    expect(await bench.claimDeliveries()).toEqual([])
    const [sent, delivered] = handed as [ClaimedDelivery, ClaimedDelivery]
    expect(await bench.record(sent)).toBe(true)
    const now = bench.clock.advance(LEASE_MS)
    const again = only(await bench.claimDeliveries({ now }))
    expect([again.delivery_id, again.attempt]).toEqual([delivered.delivery_id, 1])
    expect(await bench.record(delivered)).toBe(false)
    expect(reserved).toBe(0)
  })

  it('leave to a claim the deliveries that the lane does not admit', async () => {
    const workspaceId = await bench.workspace()
    const [open, closed] = [
      await bench.webhook(workspaceId, { events: ['*'] }),
      await bench.webhook(workspaceId, { events: ['*'] }),
    ]
    admits = ({ webhook_id }) => webhook_id === open.id
    await bench.callback(await bench.queued(workspaceId), 'sent')
    expect(handed.map(({ webhook_id }) => webhook_id)).toEqual([open.id])
    expect(waiting).toMatchObject([{ workspace_id: workspaceId, webhook_id: closed.id }])
    hasRoom = false
    await bench.callback(await bench.queued(workspaceId), 'sent')
    expect([handed.length, waiting.length]).toEqual([1, 3])
    const claimed = await bench.claimDeliveries()
    expect(claimed.map(({ webhook_id }) => webhook_id).sort()).toEqual(
      [open.id, closed.id, closed.id].sort(),
    )
  })

  it('are none of a disabled webhook', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { events: ['*'], is_active: false })
    await bench.callback(await bench.queued(workspaceId), 'sent')
    expect([handed, waiting, reserved]).toEqual([[], [], 0])
  })

  it('are those of a cancellation too', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { events: ['message.failed'] })
    const { id } = await bench.queued(workspaceId)
    const at = bench.clock.now()
    await bench.storage.hot.cancel({ workspace_id: workspaceId, message_ids: [id], at })
    expect(only(handed)).toMatchObject({ event: 'message.failed' })
  })

  it('give their room back when the transaction fails', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { events: ['message.sent'] })
    const message = await bench.queued(workspaceId)
    const [claimed] = await bench.claimMessages()
    const outcome: Outcome = {
      type: 'accepted',
      provider_message_id: 'P1',
      lookup_after_ms: null,
      // No part is without an id: its insert fails.
      part_ids: [null as never],
    }
    if (!claimed) throw new Error('one is due')
    await expect(bench.settle(claimed, { task: 'send', attempt: 1, outcome })).rejects.toThrow()
    expect([handed, waiting, reserved]).toEqual([[], [], 0])
    expect(await bench.deliveriesOf(message)).toEqual([])
  })

  it('are none without a lane', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { events: ['message.sent'] })
    bench.storage.hot.setLanes(null)
    await bench.callback(await bench.queued(workspaceId), 'sent')
    expect(handed).toEqual([])
    expect(await bench.claimDeliveries()).toHaveLength(1)
  })
}
