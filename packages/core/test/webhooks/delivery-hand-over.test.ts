import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { deliveryLane } from '../../src/dispatch/delivery-lane.ts'
import { type RunningLane, startLane } from '../../src/dispatch/lane.ts'
import type { Performer } from '../../src/dispatch/performer.ts'
import type { WebhookRow } from '../../src/rows/rows.ts'
import { openStorage } from '../../src/storage/open.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import type { DeliverAnswer, DeliverJob } from '../../src/webhooks/deliver.ts'
import { builders, plainSealer, type TestRuntime, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'
import { callback } from '../storage/bench.ts'

let folder: string
let storage: Storage
let runtime: TestRuntime
let lane: Pick<RunningLane, 'wake' | 'quiet' | 'stop'>
/** The answer of the receivers. */
let answer: (job: DeliverJob) => Promise<Partial<DeliverAnswer>>
let jobs: DeliverJob[]
/** The number of deliveries that claims found. */
let found: number
let gate: { is_paused: boolean }

beforeEach(async () => {
  folder = await migratedFolder('svc-hand-over-')
  runtime = testRuntime('hand-over')
  storage = await openStorage(`file:${join(folder, 'svc.db')}`, runtime, { reading_threads: 0 })
  jobs = []
  found = 0
  gate = { is_paused: false }
  answer = async () => ok
  const performer: Pick<Performer, 'deliver'> = {
    async deliver(batch) {
      jobs.push(...batch)
      const answers = await Promise.all(batch.map(answer))
      return answers.map((each) => ({
        started_at_ms: runtime.now().getTime(),
        duration_ms: 5,
        response_status: null,
        response_body: null,
        error: null,
        retry_after_ms: null,
        twiml: null,
        used_other_secret: false,
        ...each,
      }))
    },
  }
  const deliveries = deliveryLane({
    storage,
    runtime,
    sealer: plainSealer(runtime),
    performer: performer as Performer,
  })
  const claim = async (limit: number) => {
    const claimed = await deliveries.claim(limit)
    found += claimed.length
    return claimed
  }
  const running = startLane({ ...deliveries, claim }, runtime.log, undefined, gate)
  lane = running
  // The first claim of messages ends the doubt about the clock.
  const route = () => ({ provider: 'carrier', sender: null })
  const terms = { now: runtime.now(), elapsed_ms: runtime.elapsed(), lease_ms: 1, route }
  await storage.hot.claimMessages({ ...terms, limit: 1, token: 'first' })
  await running.quiet()
  storage.hot.setLanes({
    deliveries: {
      reserve: running.reserve,
      queued(refs) {
        deliveries.queued(refs)
        running.wake()
      },
    },
  })
})
afterEach(async () => {
  storage.hot.setLanes(null)
  await lane.stop(0)
  await storage.close()
  rmSync(folder, { recursive: true })
})

const ok = { response_status: 200, response_body: 'ok' }
const timeout = { error: 'timeout' }

async function webhook(): Promise<WebhookRow> {
  const make = builders(runtime)
  const workspace = make.workspace()
  const row = make.webhook(workspace.id, { events: ['message.sent'] })
  await storage.write(async (stores) => {
    await stores.workspaces.insert(workspace)
    await stores.credits.open(workspace.id, runtime.now())
    await stores.webhooks.insert(row)
  })
  return row
}

/** Raises events of one webhook in one transaction; returns the ids of their messages. */
async function raise({ workspace_id }: WebhookRow, count = 1): Promise<string[]> {
  const make = builders(runtime)
  const messages = Array.from({ length: count }, () => make.message(workspace_id))
  await storage.hot.accept([{ ...make.request(messages), debit: null }])
  await storage.hot.settle(
    messages.map(({ id }) => ({
      workspace_id,
      message_id: id,
      token: null,
      provider: 'carrier',
      abilities: { idempotent: false, lookup: false },
      result: callback('sent'),
      at: runtime.now(),
    })),
  )
  return messages.map(({ id }) => id)
}

/** A webhook whose receiver has answered. */
async function known(): Promise<WebhookRow> {
  const to = await webhook()
  await raise(to)
  await lane.quiet()
  expect([jobs.length, found]).toEqual([1, 1])
  jobs = []
  found = 0
  return to
}

const messagesOf = () => jobs.map(({ body }) => JSON.parse(body).data.message_id as string)

const statusesOf = async ({ workspace_id, id }: WebhookRow) => {
  const rows = await storage.read.webhooks.deliveries(workspace_id, id, { limit: 100, offset: 0 })
  return rows.map(({ status }) => status)
}

it('delivers to a receiver that answers, without a claim', async () => {
  const to = await known()
  const ids = await raise(to, 3)
  expect(messagesOf()).toEqual(ids)
  await lane.quiet()
  expect(found).toBe(0)
  expect(await statusesOf(to)).toEqual(Array(4).fill('delivered'))
})

it('keeps the limit of a receiver and the order, whatever waits', async () => {
  const to = await known()
  const ends: (() => void)[] = []
  answer = () => new Promise((resolve) => ends.push(() => resolve(ok)))
  const ids: string[] = []
  for (const count of [5, 9, 1, 2]) {
    ids.push(...(await raise(to, count)))
    runtime.advance(1)
  }
  const begun = jobs.length
  expect(begun).toBeGreaterThanOrEqual(8)
  expect(begun).toBeLessThanOrEqual(9)
  expect(messagesOf()).toEqual(ids.slice(0, begun))
  while (jobs.length < ids.length) {
    for (const end of ends.splice(0)) end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(messagesOf()).toEqual(ids)
  for (const end of ends.splice(0)) end()
  await lane.quiet()
  // Nothing waits any more: the lane takes new deliveries at once.
  found = 0
  answer = async () => ok
  await raise(to)
  expect(jobs).toHaveLength(ids.length + 1)
  await lane.quiet()
  expect(found).toBe(0)
})

it('leaves to the claim what goes to a failing receiver, and sends a dead one probes only', async () => {
  const to = await known()
  const other = await webhook()
  answer = async ({ url }) => (url === to.url ? timeout : ok)
  for (let i = 0; i < 12; i++) {
    await raise(to)
    await lane.quiet()
  }
  const tried = jobs.length
  expect(tried).toBeLessThan(12)
  await raise(to, 3)
  await lane.quiet()
  expect(jobs).toHaveLength(tried)
  await raise(other)
  await lane.quiet()
  expect(jobs).toHaveLength(tried + 1)
})

it('leaves to the claim what is raised while dispatch is paused', async () => {
  const to = await known()
  gate.is_paused = true
  const ids = await raise(to)
  expect(jobs).toEqual([])
  gate.is_paused = false
  ids.push(...(await raise(to)))
  await lane.quiet()
  expect(messagesOf()).toEqual(ids)
  expect(found).toBeGreaterThan(0)
})

it('delivers nothing new of a webhook that was disabled', async () => {
  const to = await known()
  await storage.write(({ webhooks }) =>
    webhooks.change(to.workspace_id, to.id, { is_active: false, status: 'disabled' }),
  )
  await raise(to)
  await lane.quiet()
  expect([jobs.length, found]).toEqual([0, 0])
})
