import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openReceiver } from '../../../server/test/receiver.ts'
import { type Core, createCore } from '../../src/core.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { countTelemetry } from '../count-telemetry.ts'
import { migratedFolder } from '../migrated-file.ts'

let folder: string
let closing: (() => Promise<unknown>)[]
/** The numbers of items that were handed over, and that claims found. */
let claimed: { handed_over: number; found: number }

beforeEach(async () => {
  folder = await migratedFolder('svc-hand-over-')
  closing = []
  claimed = { handed_over: 0, found: 0 }
})
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<Core> {
  const { telemetry } = countTelemetry()
  const core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: '1000',
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    threads: 0,
    runtime: systemRuntime(undefined, {
      ...telemetry,
      claimed(_, items, duration_ms) {
        claimed[duration_ms === null ? 'handed_over' : 'found'] += items
      },
    }),
  })
  closing.push(() => core.close())
  return core
}

/** A workspace with a webhook, and how it sends messages. */
async function sender(core: Core) {
  const receiver = await openReceiver()
  closing.push(receiver.close)
  const signup = { email: 'ops@example.com', password: 'long enough', company_name: 'Acme' }
  const { id } = await core.workspaces.signup(signup)
  const scopes = ['send_messages'] as const
  const { key } = await core.apiKeys.create(id, { name: 'A', mode: 'live', scopes: [...scopes] })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  await core.webhooks.create(id, { url: receiver.url, events: ['message.delivered'] })
  const sms = { channel: 'sms', content: { text: 'Hi' } } as const
  return {
    id,
    receiver,
    async send(count = 1): Promise<string[]> {
      const sent = Array.from({ length: count }, () =>
        core.messages.send(identity, { ...sms, to: '+15005550006' }),
      )
      return (await Promise.all(sent)).map(({ data }) => data.message_id)
    },
  }
}

it('sends and delivers without a look into the queues', async () => {
  const core = await open()
  const { id, send, receiver } = await sender(core)
  const dispatcher = await core.startDispatch()
  await dispatcher.idle()
  await send()
  await dispatcher.idle()
  // The receiver was unknown, so a claim found its first delivery.
  expect(claimed).toEqual({ handed_over: 1, found: 1 })
  const ids = await send(5)
  await dispatcher.idle()
  expect(claimed).toEqual({ handed_over: 11, found: 1 })
  expect(receiver.arrivals).toHaveLength(6)
  for (const each of ids) {
    expect(await core.messages.get(id, each)).toMatchObject({ status: 'delivered' })
  }
})

it('claims nothing while dispatch is paused, and everything after it', async () => {
  const core = await open()
  const { id, send } = await sender(core)
  const dispatcher = await core.startDispatch()
  await dispatcher.idle()
  await core.dispatch.stop({ reason: 'Moving' })
  const [first = ''] = await send()
  await dispatcher.idle()
  expect(await core.messages.get(id, first)).toMatchObject({ status: 'queued' })
  expect(claimed).toEqual({ handed_over: 0, found: 0 })
  await core.dispatch.resume()
  await dispatcher.idle()
  expect(await core.messages.get(id, first)).toMatchObject({ status: 'delivered' })
  expect(claimed).toEqual({ handed_over: 0, found: 2 })
})

it('completes what was handed over before it stops', async () => {
  const core = await open()
  const { id, send } = await sender(core)
  await (await core.startDispatch()).idle()
  const ids = await send(40)
  await core.close()
  const again = await open()
  for (const each of ids) {
    expect(await again.messages.get(id, each)).toMatchObject({ status: 'delivered' })
  }
  expect(claimed.handed_over).toBeGreaterThanOrEqual(40)
})
