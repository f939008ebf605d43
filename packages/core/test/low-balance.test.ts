import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { units } from '../src/contract/fields/units.ts'
import { startLowBalanceWatch } from '../src/credits/low-balance.ts'
import type { Watch } from '../src/runtime/watch.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import type { LowBalance } from '../src/storage/ports/stores.ts'
import { builders, SMS_PRICE, testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'
import { borrowDatabase, type TestDatabase } from './postgres-database.ts'

const engines: [string, () => Promise<{ url: string; remove(): Promise<void> | void }>][] = [
  [
    'SQLite',
    async () => {
      const folder = await migratedFolder('svc-low-')
      const remove = () => rmSync(folder, { recursive: true })
      return { url: `file:${join(folder, 'svc.db')}`, remove }
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const database: TestDatabase = await borrowDatabase()
      return { url: database.url, remove: database.drop }
    },
  ],
]

describe.each(engines)('two watches for low balances on %s', (engine, create) => {
  const clock = testRuntime('low balance')
  const make = builders(clock)
  let storages: Storage[]
  let watches: Watch[]
  let remove: () => Promise<void> | void
  let mailed: LowBalance[]
  let queued: number

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    mailed = []
    queued = 0
    const database = await create()
    remove = database.remove
    const open = () => openStorage(database.url, clock, { clock: 'caller' })
    storages = [await open(), await open()]
    watches = storages.map((storage) => watch(storage))
  })

  afterEach(async () => {
    vi.useRealTimers()
    for (const watch of watches) await watch.stop()
    for (const storage of storages) await storage.close()
    await remove()
  })

  function watch(storage: Storage, mail = (low: LowBalance) => mailed.push(low) > 0) {
    const onQueued = () => void queued++
    return startLowBalanceWatch({ storage, runtime: clock, mail, onQueued })
  }

  const first = () => storages[0] as Storage
  const look = (n: number) => watches[n]?.look()

  /** A workspace whose credits fell below its threshold just now, with a webhook for every event. */
  async function crossed() {
    const row = make.workspace()
    const webhook = make.webhook(row.id)
    await first().write(async ({ workspaces, credits, webhooks }) => {
      await workspaces.insert(row)
      await credits.open(row.id, clock.now(), { low_balance: SMS_PRICE })
      await credits.post(row.id, make.grant(SMS_PRICE))
      await webhooks.insert(webhook)
    })
    await first().hot.accept([make.send(row.id)])
    const { countDeliveries } = first().read.webhooks
    return { id: row.id, events: () => countDeliveries(row.id, webhook.id) }
  }

  it('look about once a second', async () => {
    const { id, events } = await crossed()
    vi.advanceTimersByTime(999)
    expect(await first().read.lowBalances.due(1)).toEqual([id])
    vi.advanceTimersByTime(1)
    await vi.waitFor(() => expect(mailed).toHaveLength(1))
    expect(mailed).toEqual([{ workspace_id: id, available: units(0), threshold: SMS_PRICE }])
    expect([await events(), queued]).toEqual([1, 1])
  })

  it('notify each owner once, although both check at the same time', async () => {
    const all = [await crossed(), await crossed(), await crossed()]
    await Promise.all([look(0), look(1), look(0), look(1)])
    await look(0)
    expect(mailed.map(({ workspace_id }) => workspace_id).sort()).toEqual(
      all.map(({ id }) => id).sort(),
    )
    for (const { events } of all) expect(await events()).toBe(1)
  })

  it('queue nothing for a webhook that is disabled, or subscribes to other events', async () => {
    const { id } = await crossed()
    const others = [
      make.webhook(id, { is_active: false }),
      make.webhook(id, { events: ['message.sent'] }),
    ]
    await first().write(async ({ webhooks }) => {
      for (const other of others) await webhooks.insert(other)
    })
    await look(0)
    const counts = others.map((other) => first().read.webhooks.countDeliveries(id, other.id))
    expect(await Promise.all(counts)).toEqual([0, 0])
  })

  it('send at the next check the notice that could not be written', async () => {
    const { events } = await crossed()
    const failing = { ...first(), write: () => Promise.reject(new Error('full')) }
    const unlucky = watch(failing)
    await unlucky.look()
    await unlucky.stop()
    expect([mailed.length, await events()]).toEqual([0, 0])
    await look(1)
    expect([mailed.length, await events()]).toEqual([1, 1])
  })

  it('mail all other owners when one mail fails, whatever its place', async () => {
    const all = [await crossed(), await crossed(), await crossed()]
    const [unlucky] = all.map(({ id }) => id).sort()
    const { write } = first()
    const failing: Storage = {
      ...first(),
      write: (work) =>
        write((stores) => {
          const { claimNotice } = stores.lowBalances
          const fail = () => Promise.reject(new Error('broken'))
          const lowBalances = {
            ...stores.lowBalances,
            claimNotice: (id: string) => (id === unlucky ? fail() : claimNotice(id)),
          }
          return work({ ...stores, lowBalances })
        }),
    }
    const failed = watch(failing)
    await failed.look()
    await failed.stop()
    const others = all.map(({ id }) => id).filter((id) => id !== unlucky)
    expect(mailed.map(({ workspace_id }) => workspace_id)).toEqual(others.sort())
    await look(0)
    expect(mailed.at(-1)?.workspace_id).toBe(unlucky)
  })

  it('write the event once, though too many mails are waiting for another', async () => {
    const { events } = await crossed()
    const busy = watch(first(), () => false)
    await busy.look()
    await busy.stop()
    await look(0)
    expect([mailed.length, await events()]).toEqual([0, 1])
  })

  it('mail no owner after the watch was stopped', async () => {
    await crossed()
    for (const watch of watches) await watch.stop()
    vi.advanceTimersByTime(5_000)
    await look(0)
    expect(mailed).toEqual([])
  })

  if (engine === 'SQLite') return

  it('leave the work to the server that is doing it', async () => {
    await crossed()
    await storages[1]?.alone?.('low balance', async () => {
      await look(0)
      expect(mailed).toEqual([])
    })
    await look(0)
    expect(mailed).toHaveLength(1)
  })
})
