import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { deliveryLane } from '../../../packages/core/src/dispatch/delivery-lane.ts'
import { type RunningLane, startLane } from '../../../packages/core/src/dispatch/lane.ts'
import { createPerformer, createProviders } from '../../../packages/core/src/dispatch/performer.ts'
import { createPool } from '../../../packages/core/src/dispatch/pool.ts'
import type { WebhookRow } from '../../../packages/core/src/rows/rows.ts'
import {
  type ClaimedDelivery,
  type FanOut,
  fanOut,
} from '../../../packages/core/src/rules/deliveries.ts'
import { systemRuntime } from '../../../packages/core/src/runtime/runtime.ts'
import { openStorage } from '../../../packages/core/src/storage/open.ts'
import type { Storage } from '../../../packages/core/src/storage/ports/storage.ts'
import { createDeliverer } from '../../../packages/core/src/webhooks/deliver.ts'
import { openWebhook } from '../../../packages/core/src/webhooks/sealed-webhook.ts'
import { builders, plainSealer } from '../../../packages/core/test/fixtures.ts'
import { answer } from '../../stage/answer.mjs'

/** The requests of a process that delivers webhooks, with its own database. */
export type DelivererHandlers = typeof handlers

const BLOCK = 1_000
const TICK_MS = 10
const LEASE_MS = 60_000

/** With one commit for each attempt: as many in flight as the lane would have. */
const ONE_BY_ONE = 256

const runtime = { ...systemRuntime(), random: Math.random }
const sealer = plainSealer(runtime)
let storage: Storage
let lane: RunningLane | null = null
let webhooks: WebhookRow[] = []

const handlers = {
  /** A workspace for each list, with a webhook for each address. */
  async open({ folder, urls }: { folder: string; urls: string[][] }) {
    storage = await openStorage(`file:${join(folder, 'svc.db')}`, runtime)
    const make = builders(runtime)
    webhooks = await storage.write(async (stores) => {
      const made: WebhookRow[] = []
      for (const addresses of urls) {
        const workspace = make.workspace()
        await stores.workspaces.insert(workspace)
        for (const url of addresses) {
          const webhook = make.webhook(workspace.id, { url })
          await stores.webhooks.insert(webhook)
          made.push(webhook)
        }
      }
      return made
    })
  },
  /** Queues this number of due deliveries to the webhook. */
  async queue({ webhook, count }: { webhook: number; count: number }) {
    for (let left = count; left > 0; left -= BLOCK) {
      await queue(Array.from({ length: Math.min(BLOCK, left) }, () => webhook))
    }
  },
  /** Starts the deliveries. */
  begin({ deadline_ms }: { deadline_ms?: number }) {
    const settings = { targets: targets(deadline_ms), providers: [], public_url: '', secret: '' }
    const performer = createPool({
      threads: 1,
      log: runtime.log,
      settings,
      here: createPerformer({
        now: runtime.now,
        targets: settings.targets,
        providers: createProviders({ ...settings, onFault() {} }),
      }),
      isHere: () => false,
    })
    lane = startLane(deliveryLane({ storage, runtime, sealer, performer }), runtime.log)
  },
  /** Queues deliveries at this rate for this time, to one webhook after the other. */
  async produce({ per_s, ms, only }: { per_s: number; ms: number; only?: number }) {
    const from = performance.now()
    let made = 0
    while (performance.now() - from < ms) {
      const due = Math.floor(((performance.now() - from) / 1000) * per_s) - made
      if (due > 0)
        await queue(Array.from({ length: due }, (_, i) => only ?? (made + i) % webhooks.length))
      made += Math.max(0, due)
      await pause(TICK_MS)
    }
    return made
  },
  /** Delivers this number in this thread, with one commit for each attempt; resolves at the end. */
  async oneByOne(count: number) {
    const deliverer = createDeliverer({ now: runtime.now, targets: targets() })
    let commits: Promise<unknown> = Promise.resolve()
    for (let done = 0; done < count; ) {
      const claimed = await storage.hot.claimDeliveries({
        now: runtime.now(),
        elapsed_ms: runtime.elapsed(),
        limit: Math.min(ONE_BY_ONE, count - done),
        limit_per_webhook: ONE_BY_ONE,
        limit_per_workspace: ONE_BY_ONE,
        room_of_webhook: new Map(),
        room_of_workspace: new Map(),
        lease_ms: LEASE_MS,
        token: runtime.id(),
      })
      const posted = claimed.map(async (delivery) => {
        const [report] = await deliverer.deliver([{ ...opened(delivery), other_secret: null }])
        if (!report) throw new Error('no answer')
        const { started_at_ms, used_other_secret: _, ...rest } = report
        const result = { ...delivery, ...rest, started_at: new Date(started_at_ms) }
        commits = commits.then(() => storage.hot.recordDeliveries([result]))
        await commits
      })
      await Promise.all(posted)
      done += claimed.length
    }
    await deliverer.close()
  },
  /** The number of deliveries to that webhook that are recorded as delivered. */
  recorded(webhook: number) {
    const { workspace_id, id } = webhooks[webhook] as WebhookRow
    return storage.read.webhooks.countDeliveries(workspace_id, id, { status: 'delivered' })
  },
}

const targets = (deadline_ms?: number) => ({
  allow_http: true,
  allow_nets: ['127.0.0.0/8'],
  ...(deadline_ms !== undefined && { deadline_ms }),
})

function opened(delivery: ClaimedDelivery) {
  const { workspace_id, webhook_id: id } = delivery
  return openWebhook(sealer, { workspace_id, id }, delivery)
}

async function queue(indexes: readonly number[]): Promise<void> {
  const at = runtime.now()
  const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  for (const index of indexes) {
    const webhook = webhooks[index] as WebhookRow
    const { id: webhook_id } = webhook
    const data = { webhook_id, message: 'Your order is ready', livemode: true, occurred_at: at }
    const happening = { event: 'webhook.test', data, message_id: null } as const
    const context = { at, newId: runtime.id }
    fanOut(announced, { ...happening, workspace_id: webhook.workspace_id }, [webhook], context)
  }
  await storage.write((stores) => stores.webhooks.queue(announced))
  lane?.wake()
}

answer(handlers)
