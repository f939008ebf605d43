import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCarriers, createPace, createPauses } from '../src/carriers/carriers.ts'

import { type Dispatcher, startDispatcher } from '../src/dispatch/dispatcher.ts'
import { createPerformer, createProviders } from '../src/dispatch/performer.ts'
import { createRouting } from '../src/dispatch/routing.ts'
import { SANDBOX } from '../src/providers/installed.ts'
import type { MessageRow } from '../src/rows/rows.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import { openSqlite } from '../src/storage/sqlite/sqlite.ts'
import { builders, plainSealer, SMS_PRICE, testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'

describe('a message that expired before its first attempt', () => {
  const clock = testRuntime('expired')
  const make = builders(clock)
  let folder: string
  let storage: Storage
  let dispatcher: Dispatcher
  let requested: string[]
  let workspaceId: string

  beforeEach(async () => {
    folder = await migratedFolder('svc-expired-')
    storage = openSqlite(join(folder, 'svc.db'), clock)
    const row = make.workspace()
    workspaceId = row.id
    await storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, clock.now())
      await credits.post(row.id, make.grant(SMS_PRICE))
    })
    requested = []
  })
  afterEach(async () => {
    await dispatcher.stop(1_000)
    await storage.close()
    rmSync(folder, { recursive: true })
  })

  /** Dispatches what is due until nothing is, with a provider that records the messages it gets. */
  async function dispatch(): Promise<void> {
    const performer = createPerformer({
      now: clock.now,
      targets: { allow_http: false },
      providers: createProviders({
        providers: [SANDBOX],
        public_url: 'http://svc.test',
        secret: 'secret',
        onFault() {},
      }),
    })
    dispatcher = startDispatcher({
      storage,
      runtime: clock,
      sealer: plainSealer(clock),
      right: await storage.startDispatch(),
      routing: createRouting({
        carriers: createCarriers([]),
        pace: createPace(),
        pauses: createPauses({ storage, runtime: clock }),
        elapsed: clock.elapsed,
      }),
      receive: async () => {},
      performer: {
        ...performer,
        send(provider, jobs, start_by_ms) {
          requested.push(...jobs.map(({ message_id }) => message_id))
          return performer.send(provider, jobs, start_by_ms)
        },
      },
    })
    await dispatcher.idle()
  }

  /** A message that may be sent for a minute, and is looked at so long after it was accepted. */
  async function sentAfter(ms: number): Promise<MessageRow | null> {
    const expires_at = new Date(clock.now().getTime() + 60_000)
    const request = make.send(workspaceId, { expires_at })
    await storage.hot.accept([request])
    clock.advance(ms)
    await dispatch()
    return storage.read.messages.byId(workspaceId, request.messages[0]?.id ?? '')
  }

  it('fails as expired, is refunded, and no provider hears of it', async () => {
    expect(await sentAfter(60_000)).toMatchObject({
      status: 'failed',
      error_code: 'expired',
      accepted: false,
      credits_refunded: SMS_PRICE,
    })
    expect(requested).toEqual([])
    expect(await storage.read.credits.account(workspaceId)).toMatchObject({ balance: SMS_PRICE })
    const ledger = await storage.read.credits.entries(workspaceId, { limit: 10, offset: 0 })
    expect(ledger.map(({ kind }) => kind)).toEqual(['refund', 'send', 'grant'])
  })

  it('is sent while there is a millisecond left', async () => {
    const message = await sentAfter(59_999)
    expect(requested).toEqual([message?.id])
    expect(message).toMatchObject({ error_code: null, credits_refunded: 0 })
  })
})
