import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { type FanOut, fanOut } from '../../src/rules/deliveries.ts'
import { openStorage } from '../../src/storage/open.ts'
import type { MessageClaim } from '../../src/storage/ports/hot.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { builders, SMS_PRICE, type TestRuntime, testRuntime } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { callback, only } from '../storage/bench.ts'

const HOUR_MS = 3_600_000

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())

interface Server {
  clock: TestRuntime
  make: ReturnType<typeof builders>
  storage: Storage
  claimRequest(): MessageClaim
  claim(): ReturnType<Storage['hot']['claimMessages']>
  claimDeliveries(): ReturnType<Storage['hot']['claimDeliveries']>
}

/** What is due at the server, as soon as there is something. */
async function claimedAt({ claim }: Server): Promise<Awaited<ReturnType<Server['claim']>>> {
  for (;;) {
    const claimed = await claim()
    if (claimed.length > 0) return claimed
    await pause(20)
  }
}

let slow: Server
let fast: Server
beforeEach(async () => {
  await database.clear()
  slow = await server('slow', -HOUR_MS)
  fast = await server('fast', HOUR_MS)
})
afterEach(async () => {
  await slow?.storage.close()
  await fast?.storage.close()
})

/** One whose clock is wrong by so much. */
async function server(seed: string, wrong_ms: number): Promise<Server> {
  const clock = testRuntime(seed)
  clock.set(new Date(Date.now() + wrong_ms))
  const storage = await openStorage(database.url, clock)
  const claim = () => ({
    now: clock.now(),
    elapsed_ms: performance.now(),
    limit: 10,
    lease_ms: 60_000,
    token: clock.id(),
  })
  const route = () => ({ provider: 'carrier', sender: null })
  const claimRequest = (): MessageClaim => ({ ...claim(), route })
  return {
    clock,
    make: builders(clock),
    storage,
    claimRequest,
    claim: () => storage.hot.claimMessages(claimRequest()),
    claimDeliveries: () =>
      storage.hot.claimDeliveries({
        ...claim(),
        limit_per_webhook: 10,
        limit_per_workspace: 1_000,
        room_of_webhook: new Map(),
        room_of_workspace: new Map(),
      }),
  }
}

async function workspace({ make, clock, storage }: Server): Promise<string> {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits, webhooks }) => {
    await workspaces.insert(row)
    await webhooks.insert(make.webhook(row.id))
    await credits.open(row.id, clock.now())
    await credits.post(row.id, make.grant(units(100 * SMS_PRICE)))
  })
  return row.id
}

describe('servers whose clocks are wrong', () => {
  it('find at once what one that is ahead has queued', async () => {
    const id = await workspace(fast)
    const request = fast.make.send(id)
    await fast.storage.hot.accept([request])
    const claimed = only(await slow.claim())
    expect(claimed.message_id).toBe(only(request.messages).id)
    await fast.storage.hot.settle([
      {
        workspace_id: id,
        message_id: claimed.message_id,
        token: null,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: callback('sent'),
        at: fast.clock.now(),
      },
    ])
    expect(await slow.claimDeliveries()).toHaveLength(1)
  })

  it('find at once what one that is ahead has queued as a test, or queues again', async () => {
    const id = await workspace(fast)
    const [to] = await fast.storage.read.webhooks.list(id, { limit: 1, offset: 0 })
    if (!to) throw new Error('the workspace has a webhook')
    const at = fast.clock.now()
    const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
    const data = { webhook_id: to.id, message: 'A test', livemode: true, occurred_at: at }
    const test = { event: 'webhook.test', data, workspace_id: id, message_id: null } as const
    fanOut(announced, test, [to], { at, newId: fast.clock.id })
    await fast.storage.write(({ webhooks }) => webhooks.queue(announced))
    const claimed = only(await slow.claimDeliveries())
    const refused = { response_status: 500, response_body: null, error: null, retry_after_ms: null }
    const result = { ...claimed, ...refused, started_at: slow.clock.now(), duration_ms: 1 }
    expect(await slow.storage.hot.recordDeliveries([result])).toEqual([true])
    expect(await slow.claimDeliveries()).toEqual([])
    for (const server of [fast, slow]) {
      const again = { at: server.clock.now(), tries: 1 }
      const ids = [claimed.delivery_id]
      const requeue = () =>
        server.storage.write(({ webhooks }) => webhooks.requeue(id, to.id, ids, again))
      expect(await requeue()).toBe(1)
      expect(await requeue()).toBe(0)
      const { token } = only(await slow.claimDeliveries())
      await slow.storage.hot.recordDeliveries([{ ...result, token }])
    }
  })

  it('keep off what another holds, however far its lease seems to be over', async () => {
    const id = await workspace(slow)
    const { messages } = slow.make.bulk(id, 2)
    await slow.storage.hot.accept([{ ...slow.make.request(messages), debit: null }])
    expect(await slow.claim()).toHaveLength(2)
    expect(await fast.claim()).toEqual([])
    await slow.storage.hot.settle(
      messages.map((message) => ({
        workspace_id: id,
        message_id: message.id,
        token: null,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: callback('sent'),
        at: slow.clock.now(),
      })),
    )
    expect(await slow.claimDeliveries()).toHaveLength(2)
    expect(await fast.claimDeliveries()).toEqual([])
  })

  it('wait for the requested time, whichever server set it', async () => {
    const id = await workspace(fast)
    await fast.storage.hot.accept([fast.make.send(id)])
    const { token, message_id } = only(await fast.claim())
    const outcome = { type: 'retry', error_code: 'busy', error_message: 'Busy' } as const
    const begun = performance.now()
    await fast.storage.hot.settle([
      {
        workspace_id: id,
        message_id,
        token,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: { task: 'send', attempt: 1, outcome: { ...outcome, delay_ms: 1_000 } },
        at: fast.clock.now(),
      },
    ])
    expect(await slow.claim()).toEqual([])
    const claimed = await claimedAt(slow)
    expect(performance.now() - begun).toBeGreaterThan(999)
    expect(only(claimed)).toMatchObject({ message_id, attempt: 2 })
  })

  it('send what is scheduled so long after it was accepted', async () => {
    const id = await workspace(fast)
    const begun = performance.now()
    const scheduled_at = new Date(fast.clock.now().getTime() + 300)
    await fast.storage.hot.accept([fast.make.send(id, { scheduled_at })])
    // By its own clock, the slow server would wait for two hours.
    await claimedAt(slow)
    expect(performance.now() - begun).toBeGreaterThan(299)
  })
})

describe('a claim', () => {
  afterEach(() => vi.restoreAllMocks())

  it('has its messages although what a clock ahead has dated is not brought back', async () => {
    const id = await workspace(slow)
    const redates = failing('redate_messages')
    await slow.storage.hot.accept([slow.make.send(id)])
    expect(await slow.claim()).toHaveLength(1)
    expect(redates()).toBe(1)
    await slow.storage.hot.accept([slow.make.send(id)])
    expect(await slow.claim()).toHaveLength(1)
    expect(redates()).toBe(1)
  })

  it('tries again after a second what failed, then later, and then messages are handed over', async () => {
    const id = await workspace(slow)
    const storage = await openStorage(database.url, slow.clock, { clock: 'caller' })
    try {
      let offered = 0
      const reserve = () => {
        offered += 1
        return null
      }
      storage.hot.setLanes({ messages: { reserve, queued() {} } })
      const claimAt = (elapsed_ms: number) =>
        storage.hot.claimMessages({ ...slow.claimRequest(), elapsed_ms })
      const redates = failing('redate_messages')
      for (const at_ms of [0, 999, 1_000, 2_999, 3_000, 6_999]) await claimAt(at_ms)
      expect(redates()).toBe(3)
      await storage.hot.accept([slow.make.send(id)])
      expect(offered).toBe(0)
      vi.restoreAllMocks()
      await claimAt(7_000)
      await storage.hot.accept([slow.make.send(id)])
      expect(offered).toBe(1)
    } finally {
      await storage.close()
    }
  })

  it('that waited for a connection does not take that for a step of the clock', async () => {
    const id = await workspace(slow)
    await slow.storage.hot.accept([slow.make.send(id)])
    const held = { ...slow.claimRequest(), lease_ms: 1 }
    expect(await slow.storage.hot.claimMessages(held)).toHaveLength(1)
    await pause(10)
    // As if the request had waited for a long time.
    const late = { ...slow.claimRequest(), elapsed_ms: held.elapsed_ms - 20_000 }
    expect(await slow.storage.hot.claimMessages(late)).toMatchObject([{ interrupted: true }])
  })
})

/** Lets a statement fail; answers how often it was sent. */
function failing(name: string): () => number {
  const { query } = pg.Client.prototype
  let sent = 0
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    for (const each of sentBy(args[0])) {
      if (each.statement.name !== name) continue
      sent += 1
      each.statement = { name: `refused_${name}`, text: 'select refused()' }
    }
    return Reflect.apply(query, this, args)
  } as never)
  return () => sent
}
