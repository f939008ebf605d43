import { expect, it } from 'vitest'
import type { WebhookRow } from '../../src/rows/rows.ts'
import type { ClaimedDelivery } from '../../src/rules/deliveries.ts'
import { GATES_MAX, gateHostOf, SCHEDULE_MS } from '../../src/rules/delivery-times.ts'

import type { DeliveryClaim } from '../../src/storage/ports/hot.ts'
import { benchFor, EVERYTHING, LEASE_MS, type OpenStorage, only } from './bench.ts'

const HOST = 'victim.example'
const REFUSED = { response_status: 404, response_body: 'no' }

/** Webhooks without a 2xx share one delivery in flight for each host, over all workspaces. */
export function receiverGateContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const gated = (workspaceId: string, url = `https://${HOST}/hook`) =>
    bench.webhook(workspaceId, { url, gate_host: new URL(url).hostname })

  /** Makes this number of events for every webhook of the workspace. */
  async function events(workspaceId: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await bench.callback(await bench.queued(workspaceId), 'sent')
    }
  }

  const webhook = async ({ workspace_id, id }: WebhookRow): Promise<WebhookRow> => {
    const row = await bench.storage.read.webhooks.byId(workspace_id, id)
    if (!row) throw new Error('the webhook is gone')
    return row
  }

  /** Claims and records until nothing more is claimed; returns the claimed deliveries. */
  async function refuseAll(claim: Partial<DeliveryClaim> = {}): Promise<ClaimedDelivery[]> {
    const tried: ClaimedDelivery[] = []
    for (;;) {
      bench.clock.advance(1)
      const claimed = await bench.claimDeliveries(claim)
      if (claimed.length === 0) return tried
      tried.push(only(claimed))
      await bench.record(only(claimed), {
        ...REFUSED,
        duration_ms: 0,
        gate_host: only(claimed).gate_host,
      })
    }
  }

  it('holds all but one delivery to a host, over webhooks, workspaces and simultaneous claims', async () => {
    for (let i = 0; i < 2; i++) {
      const workspaceId = await bench.workspace()
      await gated(workspaceId)
      await gated(workspaceId, `https://${HOST}:8443/other`)
      await gated(workspaceId, `https://else${i}.example/hook`)
      await events(workspaceId, 3)
    }
    const claims = await Promise.all(Array.from({ length: 6 }, () => bench.claimDeliveries()))
    const hosts = claims.flat().map(({ gate_host }) => gate_host)
    expect(hosts.sort()).toEqual(['else0.example', 'else1.example', HOST])
  })

  it.each([
    ['https://HOST.example:8443/x', 'https://host.example/'],
    ['https://host.example./x', 'https://host.example/'],
    ['http://127.1/x', 'http://127.0.0.1/'],
    ['http://[::ffff:127.0.0.1]/x', 'http://[0:0:0:0:0:ffff:7f00:1]/'],
  ])('is one for %s and %s', (one, other) => {
    expect(gateHostOf(one)).toBe(gateHostOf(other))
  })

  it('opens for a webhook with its first 2xx, also after a restart, and not for the others', async () => {
    const [workspaceId, attacker] = [await bench.workspace(), await bench.workspace()]
    const own = await gated(workspaceId)
    await events(workspaceId, 9)
    const first = only(await bench.claimDeliveries())
    await gated(attacker)
    await events(attacker, 9)
    await bench.record(first, { gate_host: first.gate_host })
    expect(await webhook(own)).toMatchObject({ gate_host: null, waits_until: null })
    await bench.reopen()
    const claimed = await bench.claimDeliveries()
    expect(claimed.filter(({ webhook_id }) => webhook_id === own.id)).toHaveLength(8)
    expect(claimed.filter(({ webhook_id }) => webhook_id !== own.id)).toHaveLength(1)
  })

  it.each([404, 301, 400, 403, 500])(
    'counts a %i as a failure of the host, which then waits longer and longer',
    async (response_status) => {
      const workspaceId = await bench.workspace()
      const webhooks = [await gated(workspaceId), await gated(workspaceId)]
      await events(workspaceId, 40)
      const counts: number[] = []
      for (const wait_ms of [0, 30_000, 60_000, 120_000, 300_000, 300_000]) {
        bench.clock.advance(wait_ms)
        let count = 0
        for (;;) {
          const claimed = await bench.claimDeliveries()
          if (claimed.length === 0) break
          const delivery = only(claimed)
          await bench.record(delivery, {
            response_status,
            gate_host: delivery.gate_host,
            duration_ms: 0,
          })
          count += 1
        }
        counts.push(count)
      }
      expect(counts).toEqual([5, 1, 1, 1, 1, 1])
      const states = await Promise.all(webhooks.map(webhook))
      expect(states.some(({ waits_until }) => waits_until !== null)).toBe(true)
    },
  )

  it('gives the first attempt of a webhook and a requested one no wait, and turns by the last attempt', async () => {
    const [workspaceId, late] = [await bench.workspace(), await bench.workspace()]
    const webhooks = [await gated(workspaceId), await gated(workspaceId), await gated(workspaceId)]
    await events(workspaceId, 20)
    const tried = await refuseAll()
    const ids = webhooks.map(({ id }) => id)
    expect(tried.slice(0, 3).map(({ webhook_id }) => webhook_id)).toEqual(ids)
    expect(new Set(tried.slice(3, 5).map(({ webhook_id }) => webhook_id)).size).toBe(2)
    const newcomer = await gated(late)
    await events(late, 3)
    expect((await refuseAll()).map(({ webhook_id }) => webhook_id)).toEqual([newcomer.id])
    const requested = await bench.claimDeliveries({ requested: [newcomer.id] })
    expect(only(requested).webhook_id).toBe(newcomer.id)
    expect(await bench.claimDeliveries({ requested: [newcomer.id] })).toEqual([])
  })

  it('does not stop the confirmed webhooks of the host', async () => {
    const workspaceId = await bench.workspace()
    await gated(workspaceId)
    const good = await bench.webhook(workspaceId, { url: `https://${HOST}/good` })
    await events(workspaceId, 20)
    const claimed = await bench.claimDeliveries()
    expect(claimed.filter(({ webhook_id }) => webhook_id === good.id)).toHaveLength(20)
    expect(claimed).toHaveLength(21)
  })

  it('closes again for a webhook whose last 200 attempts failed', async () => {
    const workspaceId = await bench.workspace()
    const row = await bench.webhook(workspaceId, {
      consecutive_failures: 198,
      url: `https://${HOST}:1/x`,
    })
    await events(workspaceId, 9)
    const [a, b] = await bench.claimDeliveries({ limit: 2 })
    if (!a || !b) throw new Error('two deliveries are due')
    await bench.record(a, REFUSED)
    expect(await webhook(row)).toMatchObject({ gate_host: null })
    await bench.record(b, REFUSED)
    expect(await webhook(row)).toMatchObject({ gate_host: HOST })
    expect(await bench.claimDeliveries()).toHaveLength(1)
  })

  it('frees the gate when the lease of a killed process ends', async () => {
    const workspaceId = await bench.workspace()
    await gated(workspaceId)
    await events(workspaceId, 2)
    only(await bench.claimDeliveries())
    bench.clock.advance(LEASE_MS - 1)
    expect(await bench.claimDeliveries()).toEqual([])
    bench.clock.advance(1)
    only(await bench.claimDeliveries())
  })

  it('repeats what a killed process had in flight at the gate, which its restart leaves queued', async () => {
    const workspaceId = await bench.workspace()
    const row = await gated(workspaceId)
    await events(workspaceId, 1)
    const right = await bench.storage.startDispatch()
    const lost = only(await bench.claimDeliveries())
    await right.release()
    await bench.reopen()
    const next = await bench.storage.startDispatch()
    const claimed = await bench.claimDeliveries()
    bench.clock.advance(LEASE_MS)
    claimed.push(...(await bench.claimDeliveries()))
    const all = await bench.storage.read.webhooks.deliveries(workspaceId, row.id, EVERYTHING)
    expect(all.map(({ status }) => status)).toEqual(['pending'])
    const again = claimed.at(-1)
    expect(again).toMatchObject({ delivery_id: lost.delivery_id, attempt: 1, gate_host: HOST })
    if (again) expect(await bench.record(again, { gate_host: HOST })).toBe(true)
    await next.release()
  })

  it('keeps what a killed process had in flight by request, while the host waits', async () => {
    const workspaceId = await bench.workspace()
    const row = await gated(workspaceId)
    await events(workspaceId, 6)
    await refuseAll()
    const right = await bench.storage.startDispatch()
    const lost = only(await bench.claimDeliveries({ requested: [row.id] }))
    await right.release()
    await bench.reopen()
    const next = await bench.storage.startDispatch()
    expect(await bench.claimDeliveries()).toEqual([])
    const all = await bench.storage.read.webhooks.deliveries(workspaceId, row.id, EVERYTHING)
    expect(all.find(({ id }) => id === lost.delivery_id)).toMatchObject({ status: 'pending' })
    await next.release()
  })

  it('is one for all names of an address after their first failed attempts, and opens for each alone', async () => {
    const workspaceId = await bench.workspace()
    const names = ['a', 'b', 'c', 'd'].map((name) => `${name}.wild.example`)
    const rows = []
    for (const name of names) rows.push(await gated(workspaceId, `https://${name}/hook`))
    await events(workspaceId, 20)
    let tries = 0
    for (let claims = 1; ; claims += 1) {
      bench.clock.advance(1)
      const claimed = await bench.claimDeliveries()
      if (claimed.length === 0) break
      // The names are known to have one address after their first attempts.
      expect(claimed).toHaveLength(claims === 1 ? 4 : 1)
      tries += claimed.length
      for (const one of claimed) {
        const result = { ...REFUSED, duration_ms: 0, address: '203.0.113.7' }
        await bench.record(one, { ...result, gate_host: one.gate_host })
      }
    }
    expect(tries).toBe(4 + 5)
    bench.clock.advance(30_000)
    const probe = only(await bench.claimDeliveries())
    await bench.record(probe, { gate_host: probe.gate_host, address: '203.0.113.7' })
    const gates = await Promise.all(rows.map(webhook))
    expect(gates.map(({ gate_host }) => gate_host).sort()).toEqual([
      '203.0.113.7',
      '203.0.113.7',
      '203.0.113.7',
      null,
    ])
  })

  it('waits no hour more after the clock was set back by an hour', async () => {
    const workspaceId = await bench.workspace()
    await gated(workspaceId)
    bench.clock.step(3_600_000)
    await events(workspaceId, 9)
    expect(await refuseAll()).toHaveLength(5)
    bench.clock.step(-3_600_000)
    await bench.claimMessages()
    expect(await refuseAll()).toHaveLength(1)
    // The storage remembers the steps of the clock, and other tests use it.
    await bench.reopen()
  })

  it('discards what waited for longer than the schedule of tries, and no attempt is counted', async () => {
    const workspaceId = await bench.workspace()
    const row = await gated(workspaceId)
    await events(workspaceId, 30)
    expect(await refuseAll()).toHaveLength(5)
    bench.clock.advance(SCHEDULE_MS + 1)
    const other = await bench.workspace()
    await bench.webhook(other)
    await events(other, 1)
    for (let i = 0; i < 4; i++)
      await bench.claimDeliveries({ room_of_webhook: new Map([[row.id, 7]]) })
    const all = await bench.storage.read.webhooks.deliveries(workspaceId, row.id, EVERYTHING)
    const ended = all.filter(({ status }) => status === 'discarded')
    expect(ended.length).toBeGreaterThanOrEqual(24)
    const untried = ended.filter(({ attempt_count }) => attempt_count === 0)
    expect(untried.length).toBeGreaterThanOrEqual(19)
  })

  it('discards the events of another mode and takes the next in the same claim', async () => {
    const workspaceId = await bench.workspace()
    const row = await gated(workspaceId)
    await events(workspaceId, 2)
    await bench.storage.write(({ webhooks }) =>
      webhooks.change(workspaceId, row.id, { mode: 'test' }),
    )
    expect(await bench.claimDeliveries()).toEqual([])
    const all = await bench.storage.read.webhooks.deliveries(workspaceId, row.id, EVERYTHING)
    expect(all.map(({ status }) => status)).toEqual(['discarded', 'discarded'])
  })

  it('takes at most a fourth of a claim, rounded up', async () => {
    const workspaceId = await bench.workspace()
    for (let i = 0; i < 4; i++) await gated(workspaceId, `https://host${i}.example/hook`)
    await events(workspaceId, 1)
    const hosts = async (limit: number) =>
      (await bench.claimDeliveries({ limit })).map(({ gate_host }) => gate_host)
    expect(await hosts(5)).toEqual(['host0.example', 'host1.example'])
    expect(await hosts(4)).toEqual(['host2.example'])
    expect(await hosts(1)).toEqual(['host3.example'])
  })

  it('gives the turn to the host that was not tried for the longest time', async () => {
    const workspaceId = await bench.workspace()
    for (const name of ['a', 'b']) await gated(workspaceId, `https://${name}.example/hook`)
    await events(workspaceId, 3)
    const turns: (string | undefined)[] = []
    for (let i = 0; i < 4; i++) {
      bench.clock.advance(1)
      const claimed = only(await bench.claimDeliveries({ limit: 1 }))
      turns.push(claimed.gate_host)
      await bench.record(claimed, { ...REFUSED, duration_ms: 0, gate_host: claimed.gate_host })
    }
    expect(turns).toEqual(['a.example', 'b.example', 'a.example', 'b.example'])
  })

  it('of the webhook behind 2,000 others opens with the next claim', async () => {
    const workspaceId = await bench.workspace()
    const gates = Array.from({ length: GATES_MAX }, (_, i) =>
      bench.make.webhook(workspaceId, { gate_host: `a${i}.example`, events: ['credits.low'] }),
    )
    await bench.storage.write(({ webhooks }) =>
      Promise.all(gates.map((row) => webhooks.insert(row))),
    )
    await gated(workspaceId, 'https://z.example/hook')
    await events(workspaceId, 2)
    const turns: (string | undefined)[][] = []
    for (let i = 0; i < 4; i++) {
      const claimed = await bench.claimDeliveries()
      turns.push(claimed.map(({ gate_host }) => gate_host))
      for (const each of claimed) {
        await bench.record(each, { ...REFUSED, duration_ms: 0, gate_host: each.gate_host })
      }
    }
    expect(turns).toEqual([[], ['z.example'], [], ['z.example']])
  })

  it('counts in the rooms of its workspace and of its webhook', async () => {
    const workspaceId = await bench.workspace()
    const rows = [
      await gated(workspaceId, 'https://host0.example/hook'),
      await gated(workspaceId, 'https://host1.example/hook'),
    ]
    await bench.webhook(workspaceId)
    await events(workspaceId, 5)
    const room = (of: string, left: number) => new Map([[of, left]])
    const full = { room_of_workspace: room(workspaceId, 0) }
    expect(await bench.claimDeliveries(full)).toEqual([])
    const first = only(await bench.claimDeliveries({ limit_per_workspace: 1 }))
    expect(first.gate_host).toBe('host0.example')
    const second = await bench.claimDeliveries({
      room_of_webhook: room(rows[1]?.id ?? '', 0),
      limit_per_workspace: 2,
    })
    expect(second.map(({ gate_host }) => gate_host)).toEqual([undefined, undefined])
    const third = await bench.claimDeliveries({ room_of_workspace: room(workspaceId, 2) })
    expect(third.map(({ gate_host }) => gate_host)).toEqual(['host1.example', undefined])
  })

  it('leaves a claim that it fills no delivery of another webhook', async () => {
    const workspaceId = await bench.workspace()
    await gated(workspaceId)
    await bench.webhook(workspaceId)
    await events(workspaceId, 2)
    expect(only(await bench.claimDeliveries({ limit: 1 })).gate_host).toBe(HOST)
    expect(only(await bench.claimDeliveries({ limit: 1 })).gate_host).toBeUndefined()
  })

  it('forgets a host after a day without an attempt, a few with each result of another host', async () => {
    const workspaceId = await bench.workspace()
    for (let i = 0; i < 5; i++) await gated(workspaceId, `https://old${i}.example/hook`)
    await events(workspaceId, 1)
    const old = await bench.claimDeliveries()
    expect(old).toHaveLength(5)
    const failed = (each: ClaimedDelivery) =>
      bench.record(each, { ...REFUSED, duration_ms: 0, gate_host: each.gate_host })
    for (const each of old) await failed(each)
    const other = await bench.workspace()
    await gated(other)
    await events(other, 1)
    bench.clock.advance(24 * 3_600_000)
    const claim = { room_of_workspace: new Map([[workspaceId, 0]]) }
    const forgotten = () =>
      bench.storage.write(({ webhooks }) => webhooks.forgetHosts(bench.clock.now(), 10))
    await failed(only(await bench.claimDeliveries(claim)))
    bench.clock.advance(30_000)
    await failed(only(await bench.claimDeliveries(claim)))
    // One old host is left, and the other host, of which the wait has ended by now.
    bench.clock.advance(1)
    expect(await forgotten()).toBe(2)
  })
}
