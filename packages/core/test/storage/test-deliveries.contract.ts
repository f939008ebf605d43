import { expect, it } from 'vitest'
import { createTestPace } from '../../src/rules/delivery-times.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

const DAY_MS = 24 * 3_600_000

/** Test messages are free, so the requests about them have a budget and a pace. */
export function testDeliveriesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function events(workspaceId: string, count: number, livemode: boolean): Promise<void> {
    for (let i = 0; i < count; i++) {
      await bench.callback(await bench.queued(workspaceId, { livemode }), 'sent')
    }
  }

  const budget = { test_deliveries_per_day: 3 }

  it('end with the budget of a workspace, with a reason; the next day has a new one', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await bench.webhook(workspaceId)
    await events(workspaceId, 5, false)
    await events(workspaceId, 2, true)
    const claimed = [
      ...(await bench.claimDeliveries(budget)),
      ...(await bench.claimDeliveries(budget)),
    ]
    // Three about test messages, and all about live ones.
    expect(claimed).toHaveLength(5)
    for (const one of claimed) await bench.record(one)
    const all = await bench.storage.read.webhooks.deliveries(workspaceId, id, EVERYTHING)
    const discarded = all.filter(({ status }) => status === 'discarded')
    expect(discarded.map(({ error, livemode }) => [error, livemode])).toEqual([
      ['test_limit', false],
      ['test_limit', false],
    ])
    await events(workspaceId, 1, false)
    expect(await bench.claimDeliveries(budget)).toEqual([])
    bench.clock.advance(DAY_MS)
    await events(workspaceId, 1, false)
    expect(await bench.claimDeliveries(budget)).toHaveLength(1)
  })

  it('count for each workspace, repeated attempts included, and also at a gate', async () => {
    const [one, two] = [await bench.workspace(), await bench.workspace()]
    for (const id of [one, two]) {
      await bench.webhook(id, { url: `https://${id}.example/`, gate_host: `${id}.example` })
      await events(id, 1, false)
    }
    for (let i = 0; i < 2; i++) {
      const claimed = await bench.claimDeliveries({ test_deliveries_per_day: 2 })
      expect(claimed).toHaveLength(2)
      for (const each of claimed) {
        const result = { response_status: 404, gate_host: each.gate_host, duration_ms: 0 }
        await bench.record(each, result)
      }
      bench.clock.advance(60_000)
    }
    await events(one, 1, false)
    expect(await bench.claimDeliveries({ test_deliveries_per_day: 2 })).toEqual([])
  })

  it('begin at the pace after the first 20 s of it, and no transaction claims them as it queues them', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await bench.webhook(workspaceId)
    bench.storage.hot.setLanes({
      deliveries: { reserve: () => null, queued: () => {}, testPace: createTestPace(0.1, () => 0) },
    })
    await events(workspaceId, 4, false)
    await events(workspaceId, 1, true)
    const all = await bench.storage.read.webhooks.deliveries(workspaceId, id, EVERYTHING)
    const waits = all.map(
      ({ created_at, next_attempt_at }) => (next_attempt_at?.getTime() ?? 0) - created_at.getTime(),
    )
    // The newest is about a live message.
    expect(waits.map((ms) => Math.round(ms / 10_000))).toEqual([0, 2, 1, 0, 0])
    const first = await bench.claimDeliveries()
    expect(first).toHaveLength(3)
    bench.clock.advance(20_000)
    expect(await bench.claimDeliveries()).toHaveLength(2)
    bench.storage.hot.setLanes(null)
  })

  it('leave no host of a deleted webhook behind', async () => {
    const workspaceId = await bench.workspace()
    const { id } = await bench.webhook(workspaceId, { gate_host: 'gone.example' })
    await events(workspaceId, 1, true)
    only(await bench.claimDeliveries())
    await bench.storage.write(({ webhooks }) => webhooks.remove(workspaceId, id))
    const forget = (ms: number) =>
      bench.storage.write(({ webhooks }) =>
        webhooks.forgetHosts(new Date(bench.clock.now().getTime() - ms), 10),
      )
    expect(await forget(0)).toBe(0)
    bench.clock.advance(DAY_MS)
    expect(await forget(DAY_MS / 2)).toBe(1)
    expect(await forget(DAY_MS / 2)).toBe(0)
  })
}
