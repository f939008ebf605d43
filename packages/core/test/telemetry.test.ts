import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readProvider } from '../src/carriers/read-providers.ts'
import { type Core, createCore } from '../src/core.ts'
import { systemRuntime } from '../src/runtime/runtime.ts'
import { countTelemetry } from './count-telemetry.ts'
import { createDatabase } from './postgres-database.ts'

const REJECTED = '+15005550001'
const REPLYING = '+15005550008'
const TWILIO = {
  type: 'twilio',
  name: 'twilio',
  account_sid: `AC${'0'.repeat(32)}`,
  auth_token: '0'.repeat(32),
  senders: { voice: ['+15005550006'] },
}

/** A gateway that refuses the credentials. */
async function openGateway() {
  const server = createServer((_, response) => void response.writeHead(401).end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    settings: {
      type: 'http',
      name: 'acme',
      channels: ['whatsapp'],
      auth: { type: 'bearer', token: 'wrong' },
      send: {
        method: 'POST',
        url: `http://127.0.0.1:${port}/send`,
        body: { to: '{{to}}', text: '{{text}}' },
      },
      answer: { id: '/id' },
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** Makes every telemetry call at least once. */
async function play(core: Core): Promise<void> {
  const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'Acme' }
  const { id } = await core.workspaces.signup(signup)
  const { key } = await core.apiKeys.create(id, {
    name: 'A',
    mode: 'live',
    scopes: ['send_messages'],
  })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const { messages } = core
  const sms = { channel: 'sms', content: { text: 'Hello' } } as const
  const once = { idempotency_key: 'once' }
  await messages.send(identity, { ...sms, to: REJECTED }, once)
  await messages.send(identity, { ...sms, to: REJECTED }, once)
  await messages.send(identity, { ...sms, to: REPLYING })
  const scheduled_at = new Date(Date.now() + 3_600_000)
  const later = await messages.send(identity, { ...sms, to: REPLYING, scheduled_at })
  await messages.cancel(id, later.data.message_id)
  const recipients = [{ to: '+14155552672' }, { to: '+14155552673' }]
  await messages.bulks.send(identity, { ...sms, recipients, validation: 'strict' })
  const twice = { ...sms, to: '+14155552672' }
  await expect(messages.send(identity, twice, once)).rejects.toThrow('another request body')
  const refusing = { channel: 'whatsapp', to: '+14155552671', content: { text: 'Hi' } } as const
  await messages.send(identity, refusing)
  const dispatcher = await core.startDispatch()
  await dispatcher.idle()
  await dispatcher.sweep()
  const callback = { method: 'POST', url: 'http://127.0.0.1:3000/callbacks/twilio' } as const
  const body = Buffer.from('MessageSid=SM0')
  await core.providers.callback('twilio', { ...callback, headers: {}, body })
}

describe.each(['sqlite', 'postgres'] as const)('the telemetry of a core on %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-telemetry-'))
  const { counts, commits, telemetry } = countTelemetry()
  let gateway: Awaited<ReturnType<typeof openGateway>>
  let database: Awaited<ReturnType<typeof createDatabase>> | undefined

  beforeAll(async () => {
    gateway = await openGateway()
    if (engine === 'postgres') database = await createDatabase()
    const core = await createCore({
      database_url: database?.url ?? `file:${join(folder, 'svc.db')}`,
      signup_credits: '10',
      threads: 0,
      providers: [TWILIO, gateway.settings].map((one) => readProvider(one)),
      runtime: systemRuntime(undefined, telemetry),
    })
    try {
      await play(core)
    } finally {
      await core.close()
    }
  })
  afterAll(async () => {
    await database?.drop()
    await gateway.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('counts each event once', () => {
    const { 'claimed messages': _, 'swept done': sweeps, ...rest } = counts
    expect(sweeps).toBe(1)
    expect(rest).toEqual({
      'accepted sms 1': 3,
      'accepted sms 2': 1,
      'accepted whatsapp 1': 1,
      'replayed sms': 1,
      'refused sms validation_error': 1,
      'reached sms queued 1': 3,
      'reached sms queued 2': 1,
      'reached whatsapp queued 1': 1,
      'reached sms sent 1': 3,
      'reached sms delivered 1': 3,
      // A canceled message is refunded, but it shows no fault.
      'reached sms failed 1': 1,
      'reached sms canceled 1': 1,
      'refunded 1000000': 1,
      'attempted sandbox sms accepted': 3,
      'attempted sandbox sms rejected': 1,
      'attempted acme whatsapp retry': 1,
      'lookedUp sandbox found': 1,
      'providerPaused acme': 1,
      'received sms sandbox': 1,
      'calledBack twilio forged': 1,
    })
  })

  it('does not affect the work if it throws', async () => {
    const thrower = new Proxy({} as typeof telemetry, {
      get: () => () => {
        throw new Error('counted wrongly')
      },
    })
    const faults: unknown[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (...of: unknown[]) => faults.push(of) }
    const other = engine === 'postgres' ? await createDatabase() : undefined
    const core = await createCore({
      database_url: other?.url ?? `file:${join(folder, 'thrower.db')}`,
      signup_credits: '10',
      threads: 0,
      providers: [TWILIO, gateway.settings].map((one) => readProvider(one)),
      runtime: systemRuntime(log, thrower),
    })
    try {
      await play(core)
      const { messages, message_queue } = await core.overviews.overview()
      expect(messages.filter(({ count }) => count > 0)).toEqual([
        { channel: 'sms', status: 'canceled', count: 1 },
        { channel: 'sms', status: 'delivered', count: 3 },
        { channel: 'sms', status: 'failed', count: 1 },
        { channel: 'whatsapp', status: 'queued', count: 1 },
      ])
      expect(message_queue).toMatchObject({ waiting: 1, unknown: 0 })
    } finally {
      await core.close()
      await other?.drop()
    }
    expect(faults.filter((fault) => 'verb' in (fault as [object])[0])).toEqual([
      [{ err: new Error('counted wrongly'), verb: expect.any(String) }, expect.any(String)],
    ])
  })

  it('counts the jobs of commits', () => {
    expect(commits.jobs).toBeGreaterThan(10)
  })
})
