import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { KeyIdentity } from '../../src/api-keys/api-keys.ts'
import { type Core, createCore } from '../../src/core.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'

const ASHA = '+255700000009'
const UNKNOWN = '+15005550001'
const DAY_MS = 24 * 60 * 60_000

let folder = ''
let clock: TestRuntime
let core: Core
let identity: KeyIdentity

beforeEach(async () => {
  folder = await migratedFolder('svc-erasing-')
  clock = testRuntime('service')
  core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    retention_days: 30,
    threads: 0,
    signup_credits: '100',
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    runtime: clock,
  })
  const account = { email: 'ops@example.com', password: 'correct horse', company_name: 'Example' }
  const { id } = await core.workspaces.signup(account)
  const { key } = await core.apiKeys.create(id, {
    name: 'main',
    mode: 'live',
    scopes: ['send_messages', 'read_messages'],
  })
  identity = await core.apiKeys.authenticate(key, '127.0.0.1')
})

afterEach(async () => {
  await core.close({ grace_ms: 0 })
  rmSync(folder, { recursive: true })
})

const bulk = (...recipients: string[]) =>
  core.messages.bulks.send(identity, {
    channel: 'sms',
    content: { text: 'Hello' },
    recipients,
    validation: 'strict',
  } as never)

/** Lets messages go through the sandbox to their ends. */
async function settled(): Promise<void> {
  const dispatcher = await core.startDispatch()
  for (let i = 0; i < 5; i++) {
    await dispatcher.idle()
    clock.advance(5_000)
  }
}

it('gives the record of an erased message, and counts it as before', async () => {
  const { data } = await core.messages.send(identity, {
    channel: 'sms',
    to: ASHA,
    content: { text: 'Hello' },
    metadata: { order: 'A1' },
  })
  await settled()
  const { workspace_id } = identity
  const before = await core.messages.get(workspace_id, data.message_id)
  expect(before).toMatchObject({ status: 'delivered', erased_at: null })
  const at = clock.advance(31 * DAY_MS)
  await (await core.startDispatch()).sweep()

  const erased = { recipient: 'erased', content: {}, metadata: {}, erased_at: at }
  expect(await core.messages.get(workspace_id, data.message_id)).toEqual(
    expect.objectContaining({
      ...erased,
      status: 'delivered',
      credits_used: before.credits_used,
      segments: before.segments,
      sent_at: before.sent_at,
      delivered_at: before.delivered_at,
    }),
  )
  const page = { page: 1, limit: 10 }
  const all = await core.messages.list(workspace_id, { ...page, status: 'delivered' })
  expect(all).toMatchObject({ total: 1, messages: [erased] })
  expect(await core.messages.list(workspace_id, { ...page, recipient: ASHA })).toMatchObject({
    total: 0,
    messages: [],
  })
  const timeline = await core.messages.timeline(workspace_id, data.message_id)
  expect(timeline.map(({ kind }) => kind)).toContain('ledger')
  expect(JSON.stringify(timeline)).not.toContain(ASHA)
})

it('sends no erased message of a bulk again, and says why where there is no other', async () => {
  const { data } = await bulk(UNKNOWN, '+15005550002')
  await settled()
  await core.recipients.erase(UNKNOWN)
  const again = await core.messages.bulks.retry(identity, data.bulk_id)
  expect(again.data).toMatchObject({ total: 1, messages: [{ to: '+15005550002' }] })

  const second = await bulk(UNKNOWN)
  await settled()
  await core.recipients.erase(UNKNOWN)
  await expect(core.messages.bulks.retry(identity, second.data.bulk_id)).rejects.toMatchObject({
    code: 'validation_error',
    message: 'This bulk cannot be sent again: the recipients of its failed messages were erased',
  })
})

it('delivers no erased event again', async () => {
  const { workspace_id } = identity
  // Nothing listens there.
  const webhook = await core.webhooks.create(workspace_id, {
    url: 'http://127.0.0.1:9/hook',
    events: ['message.sent', 'message.failed'],
  })
  await core.messages.send(identity, { channel: 'sms', to: ASHA, content: { text: 'Hello' } })
  await core.messages.send(identity, {
    channel: 'sms',
    to: '+255700000010',
    content: { text: 'Hello' },
  })
  await settled()
  const since = new Date(clock.now().getTime() - DAY_MS)
  await core.recipients.erase(ASHA)
  const listed = await core.webhooks.deliveries(workspace_id, webhook.id, { limit: 10, offset: 0 })
  const whole = await Promise.all(
    listed.deliveries.map(({ id }) => core.webhooks.delivery(workspace_id, webhook.id, id)),
  )
  const nameOf = ({ payload }: (typeof whole)[number]) =>
    (payload as { data: { recipient: string } }).data.recipient
  const [erased, other] = [
    whole.find((one) => nameOf(one) === 'erased'),
    whole.find((one) => nameOf(one) !== 'erased'),
  ]
  expect(whole).toHaveLength(2)
  await expect(
    core.webhooks.retry(workspace_id, webhook.id, erased?.id ?? ''),
  ).rejects.toMatchObject({
    code: 'validation_error',
    message: 'The data of this delivery was erased: there is nothing to send again',
  })
  await core.webhooks.retry(workspace_id, webhook.id, other?.id ?? '')
  // Until all tries are over.
  const dispatcher = await core.startDispatch()
  for (let i = 0; i < 15; i++) {
    clock.advance(DAY_MS)
    await dispatcher.idle()
  }
  const recovered = await core.webhooks.recover(workspace_id, webhook.id, { since })
  expect(recovered).toEqual({ recovered: 1, has_more: false })
})

it('does not find removed history, and goes on as before', async () => {
  await core.close({ grace_ms: 0 })
  core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    history_days: 30,
    threads: 0,
    runtime: clock,
  })
  const { workspace_id } = identity
  const send = () =>
    core.messages.send(identity, { channel: 'sms', to: ASHA, content: { text: 'Hello' } })
  const { data } = await send()
  const { data: several } = await bulk(ASHA, '+255700000010', UNKNOWN)
  await settled()
  const { balance, held } = await core.credits.account(workspace_id)
  const page = { limit: 10, offset: 0 }
  expect(await core.messages.list(workspace_id, page)).toMatchObject({ total: 4 })
  clock.advance(31 * DAY_MS)
  await (await core.startDispatch()).sweep()

  expect(await core.messages.list(workspace_id, page)).toMatchObject({ messages: [], total: 0 })
  expect(await core.messages.bulks.list(workspace_id, page)).toMatchObject({ bulks: [] })
  const { message_id } = data
  const { bulk_id } = several
  const notFound = { code: 'not_found' }
  await expect(core.messages.get(workspace_id, message_id)).rejects.toMatchObject(notFound)
  await expect(core.messages.timeline(workspace_id, message_id)).rejects.toMatchObject(notFound)
  await expect(core.messages.bulks.get(workspace_id, bulk_id)).rejects.toMatchObject(notFound)
  await expect(core.messages.bulks.retry(identity, bulk_id)).rejects.toMatchObject(notFound)
  expect(await core.credits.account(workspace_id)).toMatchObject({ balance, held })
  const { transactions } = await core.billing.transactions(workspace_id, page)
  expect(transactions.map(({ type }) => type)).toEqual(['refund', 'send', 'send', 'grant'])

  await send()
  await settled()
  expect(await core.messages.list(workspace_id, page)).toMatchObject({ total: 1 })
})

it('keeps everything where no days are set', async () => {
  const url = `file:${join(folder, 'other.db')}`
  const other = await createCore({ database_url: url, threads: 0, runtime: clock })
  await other.startDispatch()
  await other.close({ grace_ms: 0 })
  await expect(
    createCore({ database_url: url, threads: 0, runtime: clock, retention_days: 3 }),
  ).rejects.toThrow('retention_days: must be a whole number from 7 to 36500')
})
