import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  createCarriers,
  createPace,
  createPauses,
  type Pauses,
} from '../../src/carriers/carriers.ts'

import { readProvider } from '../../src/carriers/read-providers.ts'
import { units } from '../../src/contract/fields/units.ts'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import { type Dispatcher, startDispatcher } from '../../src/dispatch/dispatcher.ts'
import { createRouting, type Routing } from '../../src/dispatch/routing.ts'
import { installSettings } from '../../src/providers/installed.ts'
import type { Routed } from '../../src/rules/claim.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { builders, plainSealer, SMS_PRICE, type TestRuntime, testRuntime } from '../fixtures.ts'
import { makeMigratedFile } from '../migrated-file.ts'

const ACCEPTED: Outcome = { type: 'accepted', provider_message_id: null, lookup_after_ms: null }

let folder: string
let clock: TestRuntime
let storage: Storage
let pauses: Pauses
let routing: Routing

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-backlog-'))
  clock = testRuntime('backlog')
  const file = join(folder, 'svc.db')
  await makeMigratedFile(file)
  storage = openSqlite(file, clock)
  pauses = createPauses({ storage, runtime: clock })
  const gateway = (name: string, channel: string) => ({
    type: 'http',
    name,
    channels: [channel],
    send: { url: 'http://127.0.0.1/send', body: { text: '{{text}}' } },
  })
  const providers = [gateway('texts', 'sms'), gateway('chats', 'whatsapp')]
  const carriers = createCarriers(providers.map((one) => installSettings(readProvider(one))))
  routing = createRouting({ carriers, pace: createPace(), pauses, elapsed: clock.elapsed })
})
afterEach(async () => {
  await storage.close()
  rmSync(folder, { recursive: true })
})

const routed: Routed = {
  workspace_id: 'w1',
  channel: 'sms',
  sender: null,
  livemode: true,
  provider: null,
  attempt: 0,
  unknown_since: null,
  accepted: false,
}

/** Pauses the provider of SMS, and returns the waits of so many messages that are claimed now. */
async function waitsOf(count: number): Promise<number[]> {
  const pause = { provider: 'texts', sender: '', cause: 'operator', code: null } as const
  const fields = { reason: 'Maintenance', failures: 0, retry_at: null, created_at: clock.now() }
  await storage.write(({ providerPauses }) => providerPauses.put({ ...pause, ...fields }))
  await pauses.refresh()
  return Array.from({ length: count }, () => {
    const route = routing.route(routed)
    return route.provider === null ? route.wait_ms : 0
  })
}

it('claims few messages of a paused provider again soon, and more at a low rate', async () => {
  const waits = await waitsOf(1_000)
  expect(waits.slice(0, 3)).toEqual([1_000, 1_020, 1_040])
  expect(waits[700]).toBe(15_000)
  expect(waits.at(-1)).toBeLessThan(15_300)
})

it('claims at most a thousand messages of a paused provider again in any second', async () => {
  const waits = await waitsOf(50_000)
  const bySecond = new Map<number, number>()
  for (const wait_ms of waits) {
    const second = Math.floor(wait_ms / 1_000)
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1)
  }
  expect(waits[0]).toBe(1_000)
  expect(Math.max(...bySecond.values())).toBeLessThanOrEqual(1_000)
  clock.step(-3_600_000)
  clock.advance(90_000)
  expect(routing.route(routed)).toMatchObject({ wait_ms: 1_000 })
})

it('leaves slots for other providers while one does not answer', async () => {
  const make = builders(clock)
  const workspace = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(workspace)
    await credits.open(workspace.id, clock.now())
    await credits.post(workspace.id, make.grant(units(10_000 * SMS_PRICE)))
  })
  const sent = { texts: 0, chats: 0 }
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let look = () => {}
  const dispatcher: Dispatcher = startDispatcher({
    storage,
    runtime: clock,
    sealer: plainSealer(clock),
    right: await storage.startDispatch(),
    routing,
    receive: async () => {},
    performer: {
      async send(provider, jobs) {
        sent[provider as keyof typeof sent] += jobs.length
        look()
        if (provider === 'texts') await released
        return jobs.map(() => ACCEPTED)
      },
      lookup: async (_, jobs) => jobs.map(() => ({ type: 'unavailable' })),
      deliver: async () => [],
      close: async () => {},
    },
  })
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      look = () => isSo() && resolve()
      look()
    })
  const send = async (count: number, channel: 'sms' | 'whatsapp') => {
    await storage.hot.accept([make.bulk(workspace.id, count, { channel, api_key_id: 'k' })])
    dispatcher.wake()
  }
  await send(400, 'sms')
  await until(() => sent.texts === 400)
  clock.advance(5_000)
  await send(1_000, 'sms')
  clock.advance(1)
  await send(1, 'whatsapp')
  await until(() => sent.chats === 1)
  expect(sent.texts).toBe(400)
  release()
  await dispatcher.stop(5_000)
})
