import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type DeliveryLane, deliveryLane } from '../../src/dispatch/delivery-lane.ts'
import { type RunningLane, startLane } from '../../src/dispatch/lane.ts'
import type { Performer } from '../../src/dispatch/performer.ts'
import type { DeliveryRow, WebhookRow } from '../../src/rows/rows.ts'
import { type FanOut, fanOut } from '../../src/rules/deliveries.ts'
import { readSecretsKeys } from '../../src/secrets/keys.ts'
import { createSealer, type Sealer } from '../../src/secrets/sealer.ts'
import { openStorage } from '../../src/storage/open.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import type { DeliverAnswer, DeliverJob } from '../../src/webhooks/deliver.ts'
import type { OpenedWebhook } from '../../src/webhooks/sealed-webhook.ts'
import { builders, plainSealer, type TestRuntime, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'

let folder: string
let storage: Storage
let runtime: TestRuntime
let lane: RunningLane | null
let opened: DeliveryLane
let sealer: Sealer
/** The answer of the receivers. */
let answer: (job: DeliverJob) => Promise<Partial<DeliverAnswer> | null>
let jobs: DeliverJob[]
/** Whether each delivery is too late to start. */
let isLate: boolean

beforeEach(async () => {
  isLate = false
  folder = await migratedFolder('svc-lane-')
  runtime = testRuntime('lane')
  storage = await openStorage(`file:${join(folder, 'svc.db')}`, runtime, { reading_threads: 0 })
  sealer = plainSealer(runtime)
  lane = null
  jobs = []
})
afterEach(async () => {
  await lane?.stop(0)
  await storage.close()
  rmSync(folder, { recursive: true })
})

const ok = { response_status: 200, response_body: 'ok' }
const timeout = { error: 'timeout' }

function start(): RunningLane {
  const performer: Pick<Performer, 'deliver'> = {
    async deliver(batch) {
      if (isLate) return null
      jobs.push(...batch)
      const answers = await Promise.all(batch.map(answer))
      const none = {
        started_at_ms: runtime.now().getTime(),
        duration_ms: 5,
        response_status: null,
        response_body: null,
        error: null,
        retry_after_ms: null,
        twiml: null,
        used_other_secret: false,
      }
      return answers.map((each) => each && { ...none, ...each })
    },
  }
  opened = deliveryLane({ storage, runtime, sealer, performer: performer as Performer })
  lane = startLane(opened, runtime.log)
  return lane
}

async function webhook(fields: Partial<OpenedWebhook> = {}): Promise<WebhookRow> {
  const make = builders(runtime)
  const workspace = make.workspace()
  const row = make.webhook(fields.workspace_id ?? workspace.id, fields)
  await storage.write(async (stores) => {
    if (!fields.workspace_id) await stores.workspaces.insert(workspace)
    await stores.webhooks.insert(row)
  })
  return row
}

async function queue(to: WebhookRow, count: number): Promise<void> {
  const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  const at = runtime.now()
  for (let i = 0; i < count; i++) {
    const data = { webhook_id: to.id, message: `${i}`, livemode: true, occurred_at: at }
    const { workspace_id } = to
    const happening = { event: 'webhook.test', data, workspace_id, message_id: null } as const
    fanOut(announced, happening, [to], { at, newId: runtime.id })
  }
  await storage.write(({ webhooks }) => webhooks.queue(announced))
}

function deliveries({ workspace_id, id }: WebhookRow): Promise<DeliveryRow[]> {
  return storage.read.webhooks.deliveries(workspace_id, id, { limit: 1_000, offset: 0 })
}

/** Lets this time pass and waits until the lane has made the attempts that are due. */
async function after(ms: number): Promise<void> {
  runtime.advance(ms)
  lane?.wake()
  await lane?.quiet()
}

it('counts no crash of a thread for the receiver, and the third in a row for the delivery', async () => {
  const to = await webhook()
  await queue(to, 1)
  answer = () => Promise.reject(new Error('the thread died'))
  await start().quiet()
  await after(5_000)
  expect(jobs.map(({ attempt }) => attempt)).toEqual([1, 1])
  expect(await deliveries(to)).toMatchObject([{ status: 'pending', attempt_count: 0, error: null }])
  const healthy = { consecutive_failures: 0, last_failure_at: null }
  expect(await storage.read.webhooks.byId(to.workspace_id, to.id)).toMatchObject(healthy)
  await after(5_000)
  expect(await deliveries(to)).toMatchObject([{ attempt_count: 1, error: 'interrupted' }])
})

it('returns deliveries that did not start within their lease, without counting an attempt', async () => {
  const to = await webhook()
  await queue(to, 1)
  answer = async () => ok
  isLate = true
  await start().quiet()
  for (let i = 0; i < 4; i++) await after(5_000)
  expect(await deliveries(to)).toMatchObject([{ status: 'pending', attempt_count: 0, error: null }])
  isLate = false
  await after(5_000)
  expect(jobs).toHaveLength(1)
  expect(await deliveries(to)).toMatchObject([{ status: 'delivered', attempt_count: 1 }])
})

it('returns deliveries whose requests a pause kept from beginning, without counting an attempt', async () => {
  const to = await webhook()
  await queue(to, 2)
  let isPaused = true
  answer = async ({ body }) => (isPaused && body.includes('"1"') ? null : ok)
  await start().quiet()
  // More often than the losses of a thread that are excused.
  for (let i = 0; i < 4; i++) await after(5_000)
  const ends = async () =>
    (await deliveries(to)).map(({ status, attempt_count }) => [status, attempt_count]).sort()
  expect(await ends()).toEqual([
    ['delivered', 1],
    ['pending', 0],
  ])
  isPaused = false
  await after(5_000)
  expect(await ends()).toEqual([
    ['delivered', 1],
    ['delivered', 1],
  ])
})

it('probes a dead receiver with one delivery at a time, without counting attempts of the others', async () => {
  const to = await webhook()
  await queue(to, 20)
  answer = async () => timeout
  await start().quiet()
  const first = jobs.length
  expect(first).toBeLessThanOrEqual(8)
  await after(29_999)
  expect(jobs).toHaveLength(first)
  for (const [i, wait] of [1, 60_000, 120_000, 300_000, 300_000].entries()) {
    await after(wait)
    expect(jobs).toHaveLength(first + i + 1)
  }
  const tries = (await deliveries(to)).map(({ attempt_count }) => attempt_count)
  expect(tries.reduce((sum, count) => sum + count, 0)).toBe(first + 5)
  answer = async () => ok
  await after(300_000)
  await after(24 * 3_600_000)
  expect((await deliveries(to)).every(({ status }) => status === 'delivered')).toBe(true)
})

it.each([1, 24])(
  'probes a dead receiver on time after the clock is set back by %i hours',
  async (hours) => {
    const to = await webhook()
    await queue(to, 20)
    runtime.step(hours * 3_600_000)
    answer = async () => timeout
    await start().quiet()
    const first = jobs.length
    runtime.step(-hours * 3_600_000)
    await after(29_999)
    expect(jobs).toHaveLength(first)
    await after(1)
    expect(jobs).toHaveLength(first + 1)
  },
)

it('probes a dead receiver at once after probeNow()', async () => {
  const to = await webhook()
  await queue(to, 20)
  answer = async () => timeout
  await start().quiet()
  const first = jobs.length
  answer = async () => ok
  await after(1_000)
  expect(jobs).toHaveLength(first)
  opened.probeNow(to.id)
  await after(0)
  await after(60_000)
  expect((await deliveries(to)).every(({ status }) => status === 'delivered')).toBe(true)
})

it('sends nothing to a receiver until its Retry-After has passed', async () => {
  const to = await webhook()
  await queue(to, 30)
  answer = async () => ({ response_status: 429, retry_after_ms: 120_000 })
  await start().quiet()
  const first = jobs.length
  expect(first).toBe(8)
  answer = async () => ok
  await after(119_999)
  expect(jobs).toHaveLength(first)
  await after(1_000)
  expect(jobs.length).toBeGreaterThanOrEqual(30)
})

it('keeps slots free for other workspaces when all receivers of one hang', async () => {
  const dead = await webhook({ url: 'https://dead.example/' })
  const { workspace_id } = dead
  for (let i = 0; i < 200; i++) {
    await queue(await webhook({ workspace_id, url: 'https://dead.example/' }), 8)
  }
  let seen: () => void = () => {}
  const reached = new Promise<void>((resolve) => {
    seen = resolve
  })
  let release: (answer: Partial<DeliverAnswer>) => void = () => {}
  const hanging = new Promise<Partial<DeliverAnswer>>((resolve) => {
    release = resolve
  })
  answer = async ({ url }) => {
    if (url.includes('dead')) return hanging
    seen()
    return ok
  }
  const running = start()
  for (let last = -1; last < jobs.length; ) {
    last = jobs.length
    await storage.read.webhooks.byId(workspace_id, dead.id)
    running.wake()
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  expect(jobs).toHaveLength(1_024)
  await queue(await webhook(), 1)
  running.wake()
  await reached
  release(timeout)
})

it('keeps deliveries waiting, without an attempt, while their secret cannot be decrypted', async () => {
  const key = randomBytes(32).toString('base64')
  const keyed = createSealer(readSecretsKeys([key]), runtime)
  const row = builders(runtime).webhook('w')
  const place = { table: 'webhooks', column: 'secret', workspace_id: 'w', id: row.id } as const
  const lost = await webhook({ id: row.id, workspace_id: 'w' })
  await storage.write(({ webhooks }) =>
    webhooks.change('w', lost.id, { secret: keyed.seal(place, 'whsec_a2V5') }),
  )
  const well = await webhook()
  await queue(lost, 20)
  await queue(well, 2)
  answer = async () => ok
  await start().quiet()
  // Longer than the lane needs to consider a failing receiver dead and to probe it.
  for (let i = 0; i < 30; i++) await after(5_000)
  expect(jobs.map(({ url, secret }) => [url, secret])).toEqual(
    [well, well].map(({ url, secret }) => [url, secret]),
  )
  const waiting = { status: 'pending', attempt_count: 0, error: null }
  expect(await deliveries(lost)).toMatchObject(Array(20).fill(waiting))
  expect(await storage.read.webhooks.byId('w', lost.id)).toMatchObject({ consecutive_failures: 0 })
  await lane?.stop(1_000)
  sealer = keyed
  jobs = []
  await start().quiet()
  await after(60_000)
  expect(jobs.map(({ secret }) => secret)).toEqual(Array(20).fill('whsec_a2V5'))
})

it('remembers after a restart which secret a receiver has accepted', async () => {
  const ends = new Date(runtime.now().getTime() + 24 * 3_600_000)
  const to = await webhook({
    secret: 'whsec_bmV3',
    previous_secret: 'whsec_b2xk',
    previous_secret_ends_at: ends,
  })
  await queue(to, 1)
  answer = async () => ({ ...ok, used_other_secret: true })
  await start().quiet()
  expect(jobs).toMatchObject([{ secret: 'whsec_b2xk', other_secret: 'whsec_bmV3' }])
  await lane?.stop(1_000)
  await queue(to, 1)
  answer = async () => ok
  await start().quiet()
  expect(jobs.at(-1)).toMatchObject({ secret: 'whsec_bmV3', other_secret: 'whsec_b2xk' })
})

it('sends one delivery to a webhook without a 2xx, and the others at once after its 2xx', async () => {
  const to = await webhook({ gate_host: 'receiver.example' })
  await queue(to, 20)
  let inFlight = 0
  const before: number[] = []
  answer = async () => {
    before.push(inFlight)
    inFlight += 1
    await new Promise((resolve) => setTimeout(resolve, 5))
    inFlight -= 1
    return ok
  }
  await start().quiet()
  expect(jobs).toHaveLength(20)
  expect(before.slice(0, 2)).toEqual([0, 0])
  expect(Math.max(...before)).toBeGreaterThan(1)
})

it('tries a host that refuses webhooks a few times, whatever their number, and the requested one', async () => {
  const host = { gate_host: 'receiver.example' }
  const first = await webhook({ ...host, url: 'https://receiver.example/first' })
  const { workspace_id } = first
  const all = [first, await webhook({ ...host, workspace_id }), await webhook(host)]
  for (const to of all) await queue(to, 50)
  answer = async () => ({ response_status: 404, duration_ms: 0 })
  await start().quiet()
  expect(jobs).toHaveLength(5)
  for (const [i, wait] of [30_000, 60_000, 120_000, 300_000, 300_000].entries()) {
    await after(wait)
    expect(jobs).toHaveLength(6 + i)
  }
  opened.probeNow(first.id)
  await after(0)
  expect(jobs).toHaveLength(11)
  expect(jobs.at(-1)?.url).toBe(first.url)
})
