import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as core from '@svc/core'
import type * as server from '@svc/server'
import { afterEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import { createReceiver, createTestService, type TestService } from '../src/index.ts'
import { type CoreModule, loadOptional, type ServerModule } from '../src/service.ts'

const SMS = { to: '+14155552671', channel: 'sms', content: { text: 'Hello' } }
const DAY_MS = 86_400_000

const open: { close(): Promise<void> }[] = []
async function service(options = {}): Promise<TestService> {
  const one = await createTestService(options)
  open.unshift(one)
  return one
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

async function receiving(
  one: TestService,
  script: Parameters<typeof createReceiver>[0]['script'] = [],
) {
  let secret = ''
  const receiver = await createReceiver({ secret: () => secret, script, now: one.now })
  open.push(receiver)
  const webhook = await one.webhook(receiver.url)
  secret = webhook.secret
  return { receiver, webhook }
}

describe('createTestService', () => {
  it('sends a message and notifies a receiver', async () => {
    const one = await service()
    const { receiver } = await receiving(one)
    const { message_id } = await one.call('POST', '/api/v1/messages/send', SMS)
    await one.idle()
    expect(await one.sent()).toMatchObject([
      { id: message_id, recipient: SMS.to, status: 'delivered', content: { text: 'Hello' } },
    ])
    expect(receiver.deliveries.map(({ event }) => event).sort()).toEqual([
      'message.delivered',
      'message.sent',
    ])
    expect((await receiver.waitFor('message.delivered')).data.message_id).toBe(message_id)
  })

  it('retries a delivery on the schedule', async () => {
    const one = await service()
    const { receiver } = await receiving(one, [500, 500])
    await one.call('POST', '/api/v1/messages/send', SMS)
    await one.idle()
    expect(receiver.requests.map(({ status }) => status)).toEqual([500, 500])
    await one.advance(4_999)
    expect(receiver.requests).toHaveLength(2)
    // Plus at most a tenth of jitter and the duration of the first attempt.
    await one.advance(1_001)
    expect(receiver.requests.map(({ status }) => status)).toEqual([500, 500, 200, 200])
    expect(receiver.deliveries.map(({ attempts }) => attempts.length)).toEqual([2, 2])
    expect(receiver.duplicates).toEqual([])
  })

  it("renews the owner's session after days", async () => {
    const one = await service()
    await one.advance(31 * DAY_MS)
    const { webhooks } = await one.call('GET', '/api/v1/webhooks', undefined, { as: 'owner' })
    expect(webhooks).toEqual([])
  })

  it('starts with the configured credits, and reports why it refuses', async () => {
    const one = await service({ credits: '0.5' })
    await expect(one.call('POST', '/api/v1/messages/send', SMS)).rejects.toThrow(
      /^POST \/api\/v1\/messages\/send returned 402 insufficient_credits: /,
    )
    expect(await one.sent()).toEqual([])
  })

  it('is reachable at its URL with its key, and removes its files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-testkit-test-'))
    vi.stubEnv('TMPDIR', folder)
    const one = await service()
    vi.unstubAllEnvs()
    const { url, api_key } = one
    const response = await fetch(`${url}/api/v1/messages`, { headers: { 'x-api-key': api_key } })
    expect(response.status).toBe(200)
    expect(readdirSync(folder)).toHaveLength(1)
    await one.close()
    await one[Symbol.asyncDispose]()
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
    await expect(fetch(url)).rejects.toThrow()
  })
})

describe('loadOptional', () => {
  it('names the packages to install', async () => {
    await expect(loadOptional('@svc/absent')).rejects.toThrow(
      'createTestService needs @svc/absent, which is not installed. Install it beside @svc/testkit: npm install --save-dev @svc/core @svc/server',
    )
  })
})

it('declares the types of core and server as they are', () => {
  expectTypeOf<typeof core>().toExtend<CoreModule<core.Runtime, core.Core>>()
  expectTypeOf<typeof server>().toExtend<ServerModule<core.Core>>()
})
