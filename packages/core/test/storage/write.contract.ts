import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** One durable transaction: complete or not at all, and invisible before it is complete. */
export function writeContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('leaves no trace of work that throws, and goes on afterwards', async () => {
    const { make, storage, clock } = bench
    const row = make.workspace()
    const key = make.apiKey(row.id)
    const webhook = make.webhook(row.id)
    const fault = new Error('the work failed')
    const attempt = storage.write(async ({ workspaces, credits, apiKeys, webhooks }) => {
      await workspaces.insert(row)
      await credits.open(row.id, clock.now())
      await credits.post(row.id, make.grant(SMS_PRICE))
      await apiKeys.insert(key)
      await webhooks.insert(webhook)
      throw fault
    })
    await expect(attempt).rejects.toBe(fault)

    const { read } = storage
    expect(await read.workspaces.byId(row.id)).toBeNull()
    expect(await read.workspaces.byEmail(row.email)).toBeNull()
    expect(await read.credits.account(row.id)).toBeNull()
    expect(await bench.ledger(row.id)).toEqual([])
    expect(await storage.hot.findApiKey(key.key_hash)).toBeNull()
    expect(await read.webhooks.byId(row.id, webhook.id)).toBeNull()

    expect(await storage.write(({ workspaces }) => workspaces.insert(row))).toBe(true)
    expect(await read.workspaces.byId(row.id)).toEqual(row)
  })

  it('leaves no trace of work that the database refuses half-way', async () => {
    const { make, storage } = bench
    const row = make.workspace()
    const key = make.apiKey(row.id)
    const attempt = storage.write(async ({ workspaces, apiKeys }) => {
      await workspaces.insert(row)
      await apiKeys.insert(key)
      await apiKeys.insert(key)
    })
    await expect(attempt).rejects.toThrow()
    expect(await storage.read.workspaces.byId(row.id)).toBeNull()
    expect(await storage.hot.findApiKey(key.key_hash)).toBeNull()
  })

  it('shows its own changes to the work at once and to readers after the commit', async () => {
    const { make, storage } = bench
    const row = make.workspace()
    const during = await storage.write(async ({ workspaces }) => {
      await workspaces.insert(row)
      return {
        own: await workspaces.byId(row.id),
        others: await storage.read.workspaces.byId(row.id),
      }
    })
    expect(during).toEqual({ own: row, others: null })
    expect(await storage.read.workspaces.byId(row.id)).toEqual(row)
  })

  it('resolves only after its work is committed', async () => {
    const { make, storage } = bench
    const workspaceId = await bench.workspace()
    const found = Array.from({ length: 40 }, async (_, i) => {
      if (i % 2) {
        const row = make.workspace()
        await storage.write(({ workspaces }) => workspaces.insert(row))
        return storage.read.workspaces.byId(row.id)
      }
      const { id } = await bench.queued(workspaceId)
      return storage.read.messages.byId(workspaceId, id)
    })
    expect((await Promise.all(found)).filter((row) => row === null)).toEqual([])
  })

  it('answers what the work answered', async () => {
    expect(await bench.storage.write(async () => 42)).toBe(42)
  })

  it('lets a transaction that throws disturb none of its neighbours', async () => {
    const { make, storage } = bench
    const rows = Array.from({ length: 30 }, () => make.workspace())
    const settled = await Promise.allSettled(
      rows.map((row, i) =>
        storage.write(async ({ workspaces }) => {
          await workspaces.insert(row)
          if (i % 3 === 1) throw new Error(`number ${i}`)
        }),
      ),
    )
    for (const [i, row] of rows.entries()) {
      const failed = i % 3 === 1
      expect(settled[i]?.status).toBe(failed ? 'rejected' : 'fulfilled')
      expect(await storage.read.workspaces.byId(row.id)).toEqual(failed ? null : row)
    }
  })

  it('loses no update of simultaneous transactions on one account', async () => {
    const workspaceId = await bench.workspace(0)
    const amounts = Array.from({ length: 40 }, (_, i) => units((i + 1) * 1_000))
    await Promise.all(
      amounts.map((amount) =>
        bench.storage.write(async ({ credits }) => {
          await credits.account(workspaceId)
          await credits.post(workspaceId, bench.make.grant(amount))
        }),
      ),
    )
    const ledger = await bench.ledger(workspaceId)
    expect(ledger.map(({ seq }) => seq)).toEqual(amounts.map((_, i) => i + 1))
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 820_000, seq: 40 })
    expect(ledger.at(-1)?.balance_after).toBe(820_000)
  })

  it('answers a ping', async () => {
    await expect(bench.storage.ping()).resolves.toBeUndefined()
  })
}
