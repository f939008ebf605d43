import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Core, createCore } from '../src/core.ts'
import { testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'

let folder: string
let cores: Core[]

beforeEach(async () => {
  folder = await migratedFolder('svc-dispatch-pause-')
  cores = []
})
afterEach(async () => {
  for (const core of cores) await core.close()
  rmSync(folder, { recursive: true })
})

async function open(): Promise<Core> {
  const core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: '100',
    runtime: testRuntime(`dispatch-pause-${cores.length}`),
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    threads: 0,
  })
  cores.push(core)
  return core
}

async function close(core: Core): Promise<void> {
  cores = cores.filter((each) => each !== core)
  await core.close()
}

/** A workspace, how it sends a message, and how it waits for one. */
async function sender(core: Core) {
  const { id } = await core.workspaces.signup({
    email: 'ops@example.com',
    password: 'correct horse battery',
    company_name: 'Acme',
  })
  const { key } = await core.apiKeys.create(id, {
    name: 'main',
    mode: 'live',
    scopes: ['send_messages'],
  })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  return {
    id,
    async send(): Promise<string> {
      const { data } = await core.messages.send(identity, {
        channel: 'sms',
        to: '+15005550006',
        content: { text: 'Hello' },
      })
      return data.message_id
    },
  }
}

async function statusOf(core: Core, workspaceId: string, messageId: string): Promise<string> {
  return (await core.messages.get(workspaceId, messageId)).status
}

it('holds messages and deliveries back, and lets them go at once when it ends', async () => {
  const core = await open()
  const { id, send } = await sender(core)
  const url = 'http://127.0.0.1:9/hook'
  const hook = await core.webhooks.create(id, { url, events: ['message.sent'] })
  const dispatcher = await core.startDispatch()
  // A claim that begins before the pause may take the message; its call is refused, and it is queued for a later time.
  await dispatcher.idle()
  await core.dispatch.stop({ reason: 'Moving' })
  expect(core.dispatch.isPaused()).toBe(true)
  const message_id = await send()
  await core.webhooks.test(id, hook.id)
  await dispatcher.idle()
  expect(await statusOf(core, id, message_id)).toBe('queued')
  expect(await core.overviews.overview()).toMatchObject({
    message_queue: { waiting: 1 },
    delivery_queue: { waiting: 1 },
  })
  await core.dispatch.resume()
  expect(core.dispatch.isPaused()).toBe(false)
  await dispatcher.idle()
  expect(await statusOf(core, id, message_id)).not.toBe('queued')
})

it('is heard of by a server that another process paused and resumed, and kept over its restart', async () => {
  const first = await open()
  const { id, send } = await sender(first)
  await (await first.startDispatch()).idle()
  const operator = await open()
  await operator.dispatch.stop({ reason: 'Moving' })
  await expect.poll(() => first.dispatch.isPaused()).toBe(true)
  const message_id = await send()
  await close(first)

  const next = await open()
  const dispatcher = await next.startDispatch()
  expect(next.dispatch.isPaused()).toBe(true)
  await dispatcher.idle()
  expect(await statusOf(next, id, message_id)).toBe('queued')
  await operator.dispatch.resume()
  await expect.poll(() => statusOf(next, id, message_id)).not.toBe('queued')
})
