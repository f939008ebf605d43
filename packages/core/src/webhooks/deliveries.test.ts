import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builders, plainSealer, testRuntime } from '../../test/fixtures.ts'
import { type FanOut, fanOut } from '../rules/deliveries.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { createWebhookDeliveries } from './deliveries.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-deliveries-'))
const runtime = testRuntime('deliveries')
const make = builders(runtime)
const webhook = make.webhook(runtime.id())
const { workspace_id, id } = webhook

let storage: Storage
beforeAll(async () => {
  storage = await openStorage(`file:${join(folder, 'svc.db')}`, runtime)
})
afterAll(async () => {
  await storage.close()
  rmSync(folder, { recursive: true })
})

/** Stores discarded deliveries. */
async function discard(count: number): Promise<void> {
  const into: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  const data = { webhook_id: id, message: 'Hello', livemode: true, occurred_at: runtime.now() }
  const happening = { event: 'webhook.test', data, workspace_id, message_id: null } as const
  for (let i = 0; i < count; i++) {
    fanOut(into, happening, [{ ...webhook, events: ['*'] }], {
      at: runtime.now(),
      newId: runtime.id,
    })
  }
  const deliveries = into.deliveries.map((row) => ({ ...row, status: 'discarded' as const }))
  await storage.write(({ webhooks }) =>
    webhooks.queue({ events: into.events, deliveries, delivery_queue: [] }),
  )
}

describe('recover', () => {
  it('queues at most 10,000 deliveries, in small transactions, and reports whether there are more', async () => {
    await storage.write(({ webhooks }) => webhooks.insert(webhook))
    const since = runtime.now()
    await discard(10_300)
    let writes = 0
    let wakes = 0
    const counted: Storage = {
      ...storage,
      write(work) {
        writes += 1
        return storage.write(work)
      },
    }
    const { recover } = createWebhookDeliveries({
      storage: counted,
      runtime,
      sealer: plainSealer(runtime),
      onQueued() {
        wakes += 1
      },
    })
    expect(await recover(workspace_id, id, { since })).toEqual({
      recovered: 10_000,
      has_more: true,
    })
    // One write is the audit entry.
    expect(writes).toBe(41)
    expect(wakes).toBe(40)
    const { countDeliveries } = storage.read.webhooks
    expect(await countDeliveries(workspace_id, id, { status: 'pending' })).toBe(10_000)
    expect(await recover(workspace_id, id, { since })).toEqual({ recovered: 300, has_more: false })
    expect(await recover(workspace_id, id, { since })).toEqual({ recovered: 0, has_more: false })
    expect(await countDeliveries(workspace_id, id, { status: 'pending' })).toBe(10_300)
  })
})
