import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openReceiver } from '../../../server/test/receiver.ts'
import { readProvider } from '../../src/carriers/read-providers.ts'
import { createCore } from '../../src/core.ts'
import { uptimeMs } from '../../src/dispatch/lane.ts'
import { createPerformer, createProviders } from '../../src/dispatch/performer.ts'
import { createPool } from '../../src/dispatch/pool.ts'
import { installSettings } from '../../src/providers/installed.ts'
import type { ProviderSettings } from '../../src/providers/registry.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { countTelemetry } from '../count-telemetry.ts'
import { migratedFolder } from '../migrated-file.ts'
import { httpJob, jsonSettings } from '../providers/http/gateway.ts'
import { openHttpPeer } from '../providers/http-peer.ts'

const LEASE_MS = 1_000

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function openGateway() {
  const peer = await openHttpPeer()
  closing.push(() => peer.close())
  const settings = { ...jsonSettings(peer.url), channels: ['sms'], idempotent: false }
  return { peer, provider: readProvider({ ...settings, lookup: undefined }) }
}

/** The whole process stands still, as it does where it is stopped or its machine is frozen. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

it.each([
  ['the lease between claim', false, LEASE_MS],
  ['the lease between acceptance', true, LEASE_MS],
  // A call that begins after half of the lease could end after the lease, while another process calls too.
  ['half of the lease between acceptance', true, LEASE_MS / 2],
])(
  'a server that stood still for more than %s and send does not call the provider',
  async (_, isOnline, still_ms) => {
    const { peer, provider } = await openGateway()
    const folder = await migratedFolder('svc-lease-')
    closing.push(async () => rmSync(folder, { recursive: true, force: true }))
    const { telemetry } = countTelemetry()
    let frozen = 0
    const core = await createCore({
      database_url: `file:${join(folder, 'svc.db')}`,
      signup_credits: '1',
      providers: [provider],
      threads: 0,
      lease_ms: LEASE_MS,
      runtime: systemRuntime(undefined, {
        ...telemetry,
        claimed(queue, items, duration_ms) {
          // A message that the commit of its acceptance claimed was not claimed again.
          expect(items === 0 || frozen > 0 || (duration_ms === null) === isOnline).toBe(true)
          if (queue !== 'messages' || items === 0 || frozen++ > 0) return
          standStill(still_ms + 100)
        },
      }),
    })
    closing.push(() => core.close())
    const signup = { email: 'ops@example.com', password: 'long enough', company_name: 'Acme' }
    const { id } = await core.workspaces.signup(signup)
    const scopes = ['send_messages'] as const
    const { key } = await core.apiKeys.create(id, { name: 'A', mode: 'live', scopes: [...scopes] })
    const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
    if (isOnline) await (await core.startDispatch()).idle()
    const to = '+14155550100'
    const { data } = await core.messages.send(identity, {
      channel: 'sms',
      to,
      content: { text: 'Hi' },
    })
    await core.startDispatch()
    const { message_id } = data
    const statusOf = async () => (await core.messages.get(id, message_id)).status
    await expect.poll(statusOf, { timeout: 20_000 }).toBe('sent')
    const timeline = await core.messages.timeline(id, message_id)
    const attempts = timeline.flatMap((entry) => (entry.kind === 'provider' ? [entry] : []))
    expect(attempts[0]).toMatchObject({ outcome: 'retry', error_code: 'not_called' })
    expect(attempts.at(-1)).toMatchObject({ outcome: 'accepted' })
    expect(attempts.map(({ outcome }) => outcome)).not.toContain('ambiguous')
    expect(peer.requests).toHaveLength(1)
  },
)

const sourceOf = (settings: ProviderSettings) =>
  ({ name: settings.name, from: 'settings', settings }) as const

it('a thread that gets its work too late calls no provider', async () => {
  const { peer, provider } = await openGateway()
  const receiver = await openReceiver()
  closing.push(receiver.close)
  const settings = {
    targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    providers: [sourceOf(provider)],
    public_url: 'https://svc.test',
    secret: 'secret',
  }
  const { now, log } = systemRuntime()
  const here = createPerformer({
    now,
    targets: settings.targets,
    providers: createProviders({
      ...settings,
      providers: [installSettings(provider)],
      onFault() {},
    }),
  })
  const pool = createPool({ threads: 1, log, settings, here, isHere: () => false })
  closing.push(pool.close)
  const delivery = {
    delivery_id: 'd1',
    format: 'svc' as const,
    workspace_id: 'w1',
    message: null,
    event_id: 'e1',
    event: 'message.sent',
    url: receiver.url,
    secret: 'whsec_bmV3',
    other_secret: null,
    headers: {},
    body: '{}',
    attempt: 1,
  }
  for (const performer of [here, pool]) {
    const late = uptimeMs() - 20
    expect(await performer.send('gateway', [httpJob()], late)).toBeNull()
    expect(await performer.deliver([delivery], late)).toBeNull()
    expect([peer.requests.length, receiver.arrivals.length]).toEqual([0, 0])
  }
  const early = uptimeMs() + 60_000
  expect(await pool.send('gateway', [httpJob()], early)).toMatchObject([{ type: 'accepted' }])
  expect(await pool.deliver([delivery], early)).toMatchObject([{ response_status: 200 }])
})

it('a pool whose threads cannot be started calls no provider, and starts them for the next batch', async () => {
  const { peer, provider } = await openGateway()
  const plain = {
    targets: { allow_http: true },
    providers: [sourceOf(provider)],
    public_url: 'https://svc.test',
    secret: 'secret',
  }
  let copies = 0
  // A thread gets a copy of its settings.
  const settings = Object.defineProperty({ ...plain }, 'secret', {
    enumerable: true,
    get() {
      copies += 1
      if (copies === 1) throw new Error('no copy')
      return 'secret'
    },
  })
  const { now, log } = systemRuntime()
  const providers = createProviders({
    ...plain,
    providers: [installSettings(provider)],
    onFault() {},
  })
  const here = createPerformer({ now, targets: plain.targets, providers })
  const pool = createPool({ threads: 1, log, settings, here, isHere: () => false })
  closing.push(pool.close)
  const early = uptimeMs() + 60_000
  expect(await pool.send('gateway', [httpJob()], early)).toBeNull()
  expect(peer.requests).toEqual([])
  expect(await pool.send('gateway', [httpJob()], early)).toMatchObject([{ type: 'accepted' }])
})
