import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/units.ts'
import { systemRuntime } from '../../src/runtime.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { builders, SMS_PRICE } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { EVERYTHING } from '../storage/bench.ts'
import { type ServerProcess, startServer } from './servers.ts'

const runtime = systemRuntime()
const make = builders(runtime)

/** A machine may be busy with other tests. */
const patient = { interval: 5, timeout: 10_000 }

let database: TestDatabase
let storage: Storage
let first: ServerProcess
let second: ServerProcess

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())

beforeEach(async () => {
  await database.clear()
  storage = await openPostgres(database.url, runtime)
  ;[first, second] = await Promise.all([startServer(database.url), startServer(database.url)])
})
afterEach(async () => {
  await Promise.all([first?.kill(), second?.kill()])
  await storage?.close()
})

/** A workspace with credit for so many messages; answers its id. */
async function workspace(messages: number): Promise<string> {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now())
    await credits.post(row.id, make.grant(units(messages * SMS_PRICE)))
  })
  return row.id
}

/** Every entry follows from the one before it, and every message was paid for. */
async function expectSound(workspaceId: string, balance: number): Promise<void> {
  const { credits, messages } = storage.read
  const ledger = (await credits.entries(workspaceId, EVERYTHING)).reverse()
  let sum = 0
  for (const [i, entry] of ledger.entries()) {
    sum += entry.amount
    expect(entry).toMatchObject({ seq: i + 1, balance_after: sum })
  }
  expect(sum).toBe(balance)
  expect(await credits.account(workspaceId)).toMatchObject({ balance, seq: ledger.length })
  const sends = ledger.filter(({ kind }) => kind === 'send').map(({ ref_id }) => ref_id)
  const ids = (await messages.list(workspaceId, {}, EVERYTHING)).map(({ id }) => id)
  expect(sends.sort()).toEqual(ids.sort())
}

describe('two servers on one database', () => {
  it('accept together until the credits are spent exactly', async () => {
    const workspace_id = await workspace(3_000)
    const asked = { task: 'spend', workspace_id } as const
    const [one, other] = await Promise.all([first.ask(asked), second.ask(asked)])
    expect(one.accepted.length).toBeGreaterThan(0)
    expect(other.accepted.length).toBeGreaterThan(0)
    expect(one.accepted.length + other.accepted.length).toBe(3_000)
    expect([...one.others, ...other.others]).toEqual([
      'insufficient_credits',
      'insufficient_credits',
    ])
    await expectSound(workspace_id, 0)
  })

  it('give one answer to requests with one key, whichever of them is asked', async () => {
    const workspace_id = await workspace(100)
    const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`)
    const asked = { task: 'repeat', workspace_id, keys } as const
    const [one, other] = await Promise.all([first.ask(asked), second.ask(asked)])
    for (const [i, key] of keys.entries()) {
      const answers = [one[i], other[i]]
      expect(answers.map((answer) => answer?.outcome).sort()).toEqual(['accepted', 'replayed'])
      expect(answers[0]).toMatchObject({ key, response: answers[1]?.response })
    }
    await expectSound(workspace_id, 70 * SMS_PRICE)
  })

  it('never claim the same message', async () => {
    const workspaceId = await workspace(2_000)
    const request = make.bulk(workspaceId, 2_000)
    await storage.hot.accept([request])
    const asked = { task: 'claimAll', limit: 10, lease_ms: 60_000 } as const
    const [one, other] = await Promise.all([first.ask(asked), second.ask(asked)])
    expect(one.claimed.length).toBeGreaterThan(0)
    expect(other.claimed.length).toBeGreaterThan(0)
    expect([...one.claimed, ...other.claimed].sort()).toEqual(
      request.messages.map(({ id }) => id).sort(),
    )
  })

  it('send, refund and deliver together, each thing once', async () => {
    const workspaceId = await workspace(300)
    const webhooks = [make.webhook(workspaceId), make.webhook(workspaceId)]
    await storage.write(async (stores) => {
      for (const webhook of webhooks) await stores.webhooks.insert(webhook)
    })
    const requests = Array.from({ length: 300 }, (_, i) =>
      make.send(workspaceId, { recipient: `+2557000${1_000 + i}` }),
    )
    await storage.hot.accept(requests)
    const asked = { task: 'dispatch' } as const
    const [one, other] = await Promise.all([first.ask(asked), second.ask(asked)])

    expect(new Set([...one.sent, ...other.sent]).size).toBe(300)
    expect(one.sent.length + other.sent.length).toBe(300)
    const { messages, webhooks: read } = storage.read
    expect(await messages.count(workspaceId, { status: 'failed' })).toBe(30)
    expect(await messages.count(workspaceId, { status: 'sent' })).toBe(270)
    const delivered = [...one.delivered, ...other.delivered]
    expect(delivered).toHaveLength(600)
    expect(new Set(delivered).size).toBe(600)
    for (const { id } of webhooks) {
      const deliveries = await read.deliveries(workspaceId, id, EVERYTHING)
      expect(deliveries).toHaveLength(300)
      expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['delivered']))
      expect(await read.byId(workspaceId, id)).toMatchObject({ consecutive_failures: 0 })
    }
    const { credits } = storage.read
    expect(await credits.account(workspaceId)).toMatchObject({ balance: 30 * SMS_PRICE, seq: 331 })
  })

  it('take over what a killed one had claimed, when its lease ends and not before', async () => {
    const LEASE_MS = 1_500
    const workspaceId = await workspace(50)
    const request = make.bulk(workspaceId, 50)
    await storage.hot.accept([request])
    const begun = performance.now()
    const lost = await first.ask({ task: 'claimAll', limit: 50, lease_ms: LEASE_MS })
    expect(lost.claimed).toHaveLength(50)
    await first.kill()

    const taken: string[] = []
    while (taken.length < 50) {
      const asked = { task: 'claimAll', limit: 50, lease_ms: 60_000 } as const
      const { claimed, interrupted } = await second.ask(asked)
      expect(interrupted).toEqual(claimed)
      if (claimed.length > 0) expect(performance.now() - begun).toBeGreaterThan(LEASE_MS - 1)
      taken.push(...claimed)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(taken.sort()).toEqual(lost.claimed.sort())
  })

  it('are not held up by one that is killed in the middle of accepting', async () => {
    const workspace_id = await workspace(10_000)
    const asked = { task: 'spend', workspace_id } as const
    const lost = first.ask(asked).catch((error: Error) => error.message)
    const spent = second.ask(asked)
    await expect
      .poll(async () => (await storage.read.credits.account(workspace_id))?.seq, patient)
      .toBeGreaterThan(100)
    await first.kill()
    expect(await lost).toMatch(/ended/)
    expect((await spent).others).toEqual(['insufficient_credits'])
    await expectSound(workspace_id, 0)
  })

  it('let one of them sweep at a time, and the other when that is killed', async () => {
    const long = first.ask({ task: 'sweep', ms: 60_000 }).catch(() => 'killed')
    const owner = await database.connect()
    const held = "select count(*)::int as n from pg_locks where locktype = 'advisory'"
    await expect.poll(async () => (await owner.query(held)).rows[0].n, patient).toBe(1)
    expect(await second.ask({ task: 'sweep', ms: 0 })).toBe(false)
    expect(await storage.alone?.('another task', async () => 'done')).toBe('done')
    await first.kill()
    expect(await long).toBe('killed')
    await expect.poll(() => second.ask({ task: 'sweep', ms: 0 }), patient).toBe(true)
    expect(await second.ask({ task: 'sweep', ms: 0 })).toBe(true)
  })
})
