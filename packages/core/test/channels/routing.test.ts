import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createCarriers,
  createPace,
  createPauses,
  type Pauses,
} from '../../src/carriers/carriers.ts'

import { readProvider } from '../../src/carriers/read-providers.ts'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import { abilitiesOf } from '../../src/dispatch/message-results.ts'
import { createRouting, type Routing } from '../../src/dispatch/routing.ts'
import { installSettings } from '../../src/providers/installed.ts'
import type { PauseRow } from '../../src/rows/rows.ts'
import type { Routed } from '../../src/rules/claim.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { makeMigratedFile } from '../migrated-file.ts'

const MINUTE_MS = 60_000
const A = '+15005550001'
const B = '+15005550002'
const SHARED = '+15005550009'

const gateway = (name: string, fields: object) => ({
  type: 'http',
  name,
  channels: ['sms'],
  send: { url: 'http://127.0.0.1/send', body: { text: '{{text}}' } },
  ...fields,
})

const accepted: Outcome = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null }
const fault = { error_code: 'auth', error_message: 'No such account' }
const misconfigured = (what: 'provider' | 'sender'): Outcome => ({
  type: 'retry',
  ...fault,
  delay_ms: null,
  misconfigured: what,
})

let folder: string
let storage: Storage
let clock: TestRuntime
let pauses: Pauses
let routing: Routing

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-routing-'))
  clock = testRuntime('routing')
  const file = join(folder, 'svc.db')
  await makeMigratedFile(file)
  storage = openSqlite(file, clock)
  pauses = createPauses({ storage, runtime: clock })
  start([
    gateway('a', { senders: { sms: [A, SHARED] } }),
    gateway('b', { senders: { sms: [B, SHARED] }, idempotent: true }),
    gateway('c', {}),
  ])
})

afterEach(async () => {
  await storage.close()
  rmSync(folder, { recursive: true })
})

function start(providers: object[]): void {
  const carriers = createCarriers(providers.map((one) => installSettings(readProvider(one))))
  routing = createRouting({ carriers, pace: createPace(), pauses, elapsed: clock.elapsed })
}

function route(fields: Partial<Routed> = {}) {
  return routing.route({
    workspace_id: 'w1',
    channel: 'sms',
    sender: null,
    livemode: true,
    provider: null,
    attempt: 0,
    unknown_since: null,
    accepted: false,
    ...fields,
  })
}

const note = (provider: string, outcome: Outcome, sender: string | null = null) =>
  routing.noteOutcomes(provider, [{ sender, outcome }])

async function pause(provider: string, fields: Partial<PauseRow> = {}): Promise<void> {
  const row: PauseRow = {
    provider,
    sender: '',
    cause: 'operator',
    code: null,
    reason: 'Maintenance',
    failures: 0,
    retry_at: null,
    created_at: clock.now(),
    ...fields,
  }
  await storage.write(({ providerPauses }) => providerPauses.put(row))
  await pauses.refresh()
}

describe('a message', () => {
  it('goes to the first configured provider, from its first sender', () => {
    expect(route()).toEqual({ provider: 'a', sender: A })
  })

  it('goes to a provider that has its sender', () => {
    expect(route({ sender: SHARED })).toEqual({ provider: 'a', sender: SHARED })
    expect(route({ sender: B })).toEqual({ provider: 'b', sender: B })
    expect(route({ sender: 'Acme' })).toEqual({ provider: 'c', sender: 'Acme' })
  })

  it('goes to the sandbox with a test key or on a channel without a provider', () => {
    expect(route({ livemode: false })).toEqual({ provider: 'sandbox', sender: null })
    expect(route({ channel: 'whatsapp' })).toEqual({ provider: 'sandbox', sender: null })
  })

  it('waits for a provider if it is a live call', () => {
    const error_message = 'The provider of this message is not in the settings'
    expect(route({ channel: 'voice' })).toEqual({ provider: null, wait_ms: 1_000, error_message })
  })

  it('waits with a reason if no provider can send it', () => {
    start([gateway('a', { senders: { sms: [A] } })])
    expect(route({ sender: B })).toEqual({
      provider: null,
      wait_ms: 1_000,
      error_message: 'No available provider can send from this sender',
    })
  })
})

describe('after a transient error', () => {
  it('a message goes to the next provider, and after the last to the first again', () => {
    const chain = [null, 'a', 'b', 'c', 'a'].map((provider, attempt) =>
      route({ provider, attempt }),
    )
    expect(chain.map(({ provider }) => provider)).toEqual(['a', 'b', 'c', 'a', 'b'])
  })

  it('a message goes only to providers that have its sender', () => {
    expect(route({ sender: SHARED, provider: 'b', attempt: 2 })).toMatchObject({ provider: 'c' })
    start([gateway('a', { senders: { sms: [A] } }), gateway('b', { senders: { sms: [B] } })])
    expect(route({ sender: A, provider: 'a', attempt: 1 })).toEqual({ provider: 'a', sender: A })
  })

  it('of a provider that left the settings, a message goes to the first', () => {
    expect(route({ provider: 'gone', attempt: 3 })).toMatchObject({ provider: 'a' })
  })

  it('a message in doubt goes to no other provider, even while its provider is paused', async () => {
    const unknown_since = clock.now()
    const doubtful = { provider: 'b', attempt: 1, unknown_since }
    expect(route(doubtful)).toEqual({ provider: 'b', sender: B })
    await pause('b')
    expect(route(doubtful)).toMatchObject({ provider: null, wait_ms: 1_000 })
    expect(route({ ...doubtful, provider: 'gone' })).toMatchObject({ provider: null })
  })
})

describe('a partly sent message', () => {
  it('stays with its provider, even while that is paused', async () => {
    const begun = { provider: 'a', attempt: 1, accepted: true }
    expect(route(begun)).toEqual({ provider: 'a', sender: A })
    await pause('a')
    expect(route(begun)).toMatchObject({ provider: null, wait_ms: 1_000 })
    expect(route({ ...begun, provider: 'gone' })).toMatchObject({ provider: null })
  })
})

describe('a message whose provider left the settings', () => {
  beforeEach(() => start([]))

  it('waits and does not go to the sandbox', () => {
    expect(route({ provider: 'gone', attempt: 1 })).toEqual({
      provider: null,
      wait_ms: 1_000,
      error_message: 'The provider of this message is not in the settings',
    })
  })

  it.each<[string, Partial<Routed>]>([
    ['it has no provider yet', {}],
    ['its provider is the sandbox', { provider: 'sandbox', attempt: 1 }],
    ['it was sent with a test key', { provider: 'gone', attempt: 1, livemode: false }],
  ])('goes to the sandbox if %s', (_, fields) => {
    expect(route(fields)).toMatchObject({ provider: 'sandbox' })
  })
})

describe('while a provider is paused', () => {
  it('its messages go to the next', async () => {
    await pause('a')
    expect(route()).toMatchObject({ provider: 'b' })
    expect(route({ sender: SHARED })).toMatchObject({ provider: 'b' })
    expect(route({ provider: 'c', attempt: 1 })).toMatchObject({ provider: 'b' })
  })

  it('for one sender, only messages from that sender go to the next', async () => {
    await pause('a', { sender: A })
    expect(route()).toMatchObject({ provider: 'b' })
    expect(route({ sender: SHARED })).toMatchObject({ provider: 'a' })
  })

  it('messages that only it can carry wait, without the reason of the pause', async () => {
    start([gateway('a', { senders: { sms: [A] } }), gateway('b', { senders: { sms: [B] } })])
    await pause('a')
    expect(route({ sender: A })).toEqual({
      provider: null,
      wait_ms: 1_000,
      error_message: 'The provider is paused',
    })
    expect(route({ sender: B })).toMatchObject({ provider: 'b' })
  })

  it('and all others too, all messages except test messages wait', async () => {
    for (const name of ['a', 'b', 'c']) await pause(name)
    expect(route()).toMatchObject({ provider: null, wait_ms: 1_000 })
    expect(route({ livemode: false })).toMatchObject({ provider: 'sandbox' })
  })
})

describe('a misconfigured provider', () => {
  beforeEach(() => start([gateway('a', {})]))

  it('is probed with one message after a minute and resumed when it accepts it', async () => {
    await note('a', misconfigured('provider'))
    expect(route()).toMatchObject({ provider: null, error_message: 'The provider is paused' })
    clock.advance(MINUTE_MS)
    const routes = Array.from({ length: 5 }, () => route().provider)
    expect(routes).toEqual(['a', null, null, null, null])
    await note('a', accepted)
    expect(Array.from({ length: 5 }, () => route().provider)).toEqual(Array(5).fill('a'))
  })

  it('is paused for longer after another failure', async () => {
    await note('a', misconfigured('provider'))
    clock.advance(MINUTE_MS)
    expect(route().provider).toBe('a')
    await note('a', misconfigured('provider'))
    clock.advance(4 * MINUTE_MS)
    expect(route().provider).toBeNull()
    clock.advance(MINUTE_MS)
    expect(route().provider).toBe('a')
  })

  it('is paused for one sender if only the sender is wrong', async () => {
    start([gateway('a', { senders: { sms: [A, B] } })])
    await note('a', misconfigured('sender'), A)
    expect(route({ sender: A }).provider).toBeNull()
    expect(route({ sender: B }).provider).toBe('a')
  })

  it('is not paused for senders that are not in the settings', async () => {
    await note('a', misconfigured('sender'), 'Acme')
    expect(await storage.read.providerPauses.list()).toEqual([])
    expect(route({ sender: 'Acme' }).provider).toBe('a')
  })

  it('is not paused by other outcomes', async () => {
    await note('a', { type: 'retry', ...fault, delay_ms: null })
    await note('a', { type: 'rejected', ...fault })
    await note('a', { type: 'ambiguous', ...fault })
    expect(route().provider).toBe('a')
  })

  it('is not counted as probed while an earlier provider gets the messages', async () => {
    start([gateway('b', {}), gateway('a', {})])
    await note('a', misconfigured('provider'))
    clock.advance(MINUTE_MS)
    expect(route().provider).toBe('b')
    await pause('b')
    expect(route().provider).toBe('a')
  })
})

describe('the pace', () => {
  it('of a full provider sends the rest to the next', () => {
    start([gateway('a', { messages_per_second: 1 }), gateway('b', {})])
    expect([1, 2, 3].map(() => route().provider)).toEqual(['a', 'b', 'b'])
  })

  it('makes messages wait for their turn if there is no other provider', () => {
    start([gateway('a', { messages_per_second: 1 })])
    expect(route()).toEqual({ provider: 'a', sender: null })
    const waits = [1, 2].map(() => route())
    expect(waits).toEqual([
      { provider: null, wait_ms: 750, error_message: 'The rate limit is reached' },
      { provider: null, wait_ms: 1_750, error_message: 'The rate limit is reached' },
    ])
  })
})

describe('abilities', () => {
  it('are those of the provider; an unknown provider has none', () => {
    expect(abilitiesOf(routing.traits.get('b'))).toEqual({ idempotent: true, lookup: false })
    expect(abilitiesOf(routing.traits.get('sandbox'))).toEqual({ idempotent: true, lookup: true })
    expect(abilitiesOf(routing.traits.get('gone'))).toEqual({ idempotent: false, lookup: false })
  })
})
