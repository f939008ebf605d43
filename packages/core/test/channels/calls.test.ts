import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { KeyIdentity } from '../../src/api-keys/api-keys.ts'
import { type Core, createCore } from '../../src/core.ts'
import { defineProvider } from '../../src/provider.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'

const EXPIRES_MS = 4 * 3_600_000
const CALL = { to: '+255712345678', channel: 'voice', content: { text: 'Your order is ready' } }

let folder: string
let clock: TestRuntime
let core: Core
let identity: KeyIdentity
/** The channels of the messages that the provider got. */
let taken: string[]

beforeEach(async () => {
  folder = await migratedFolder('svc-calls-')
  clock = testRuntime('calls')
  taken = []
  await open(['sms', 'voice'])
  const { id } = await core.workspaces.signup({
    email: 'ops@fixture-mail.dev',
    password: 'correct horse battery',
    company_name: 'Acme',
  })
  const { key } = await core.apiKeys.create(id, { name: 'live', scopes: ['send_messages'] })
  identity = await core.apiKeys.authenticate(key, '127.0.0.1')
})
afterEach(async () => {
  await core.close()
  rmSync(folder, { recursive: true })
})

/** Opens the service with a provider for these channels. */
async function open(channels: readonly ('sms' | 'voice')[]): Promise<void> {
  const provider = defineProvider({
    name: 'carrier',
    traits: { channels },
    async send(messages) {
      taken.push(...messages.map(({ channel }) => channel))
      return messages.map(({ message_id }) => ({
        type: 'accepted' as const,
        provider_message_id: message_id,
        lookup_after_ms: null,
      }))
    },
  })
  core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: '100',
    runtime: clock,
    threads: 0,
    require_secrets_keys: false,
    providers: [provider],
  })
}

/** Starts the service again with a provider for these channels, and returns when nothing is left to do now. */
async function restart(channels: readonly ('sms' | 'voice')[]) {
  await core.close()
  await open(channels)
  const dispatcher = await core.startDispatch()
  await dispatcher.idle()
  return dispatcher
}

const call = async () => (await core.messages.send(identity, CALL as never)).data.message_id
const message = (id: string) => core.messages.get(identity.workspace_id, id)
const credits = async () => {
  const { credits_balance, credits_held } = await core.workspaces.account(identity.workspace_id)
  return { credits_balance, credits_held }
}

it('a live call waits while no provider makes calls, and costs nothing when it expires', async () => {
  const before = await credits()
  const id = await call()
  const dispatcher = await restart(['sms'])
  expect(await message(id)).toMatchObject({ status: 'queued', provider: null })
  expect((await credits()).credits_held).toBeGreaterThan(0)
  await expect(call()).rejects.toThrow('Must be one of: sms, whatsapp, email')
  clock.step(EXPIRES_MS)
  await dispatcher.idle()
  expect(await message(id)).toMatchObject({ status: 'failed', credits_used: 0 })
  expect(await credits()).toEqual(before)
  expect(taken).toEqual([])
})

it('a live call that waited is made when a provider makes calls again', async () => {
  const id = await call()
  await restart(['sms'])
  clock.step(60_000)
  await restart(['sms', 'voice'])
  expect(await message(id)).toMatchObject({ status: 'sent', provider: 'carrier' })
  expect(taken).toEqual(['voice'])
})
