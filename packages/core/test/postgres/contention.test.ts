import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/units.ts'
import { systemRuntime } from '../../src/runtime.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { builders, SMS_PRICE } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { EVERYTHING, only } from '../storage/bench.ts'

const runtime = systemRuntime()
const make = builders(runtime)

let database: TestDatabase
let storage: Storage
/** Somebody else on the same database. */
let other: pg.Client
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())
beforeEach(async () => {
  await database.clear()
  storage = await openPostgres(database.url, runtime)
  other = await database.connect()
})
afterEach(async () => {
  await other?.end()
  await storage?.close()
})

async function workspace(messages: number): Promise<string> {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now())
    if (messages > 0) await credits.post(row.id, make.grant(units(messages * SMS_PRICE)))
  })
  return row.id
}

const lock = 'select 1 from credit_accounts where workspace_id = $1 for update'

/** Resolves when somebody waits for a lock. */
async function untilSomebodyWaits(): Promise<void> {
  const waiting = 'select count(*)::int as n from pg_locks where not granted'
  const owner = await database.connect()
  await expect.poll(async () => (await owner.query(waiting)).rows[0].n).toBeGreaterThan(0)
}

/** Cuts every connection of the storage. */
async function cut(): Promise<number> {
  const { rowCount } = await other.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc' and datname = current_database()",
  )
  return rowCount ?? 0
}

describe('a deadlock with somebody else', () => {
  it('ends in an accepted request, not in a refused one', async () => {
    const [first = '', second = ''] = [await workspace(1), await workspace(1)].sort()
    await other.query('begin')
    await other.query(lock, [second])
    const accepted = storage.hot.accept([make.send(first), make.send(second)])
    await untilSomebodyWaits()
    // Whoever has waited longer is told of the deadlock: that is the request.
    await other.query(lock, [first])
    await other.query('rollback')
    expect(await accepted).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }])
    for (const id of [first, second]) {
      expect(await storage.read.credits.account(id)).toMatchObject({ balance: 0, seq: 2 })
    }
  })

  it('ends in a change that is made once', async () => {
    const [first = '', second = ''] = [await workspace(0), await workspace(0)].sort()
    await other.query('begin')
    await other.query(lock, [first])
    let runs = 0
    const written = storage.write(async ({ credits }) => {
      runs += 1
      await credits.post(second, make.grant(SMS_PRICE))
      await credits.post(first, make.grant(SMS_PRICE))
    })
    await untilSomebodyWaits()
    await other.query(lock, [second])
    await other.query('rollback')
    await written
    expect(runs).toBe(2)
    for (const id of [first, second]) {
      expect(await storage.read.credits.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 1 })
    }
  })
})

describe('whoever waits for a lock', () => {
  it('sees what its holder wrote', async () => {
    const id = await workspace(1)
    await other.query('begin')
    await other.query(lock, [id])
    const accepted = storage.hot.accept([make.send(id)])
    await untilSomebodyWaits()
    await other.query('update credit_accounts set balance = 0 where workspace_id = $1', [id])
    await other.query('commit')
    expect(await accepted).toMatchObject([{ outcome: 'insufficient_credits', available: 0 }])
  })

  it('does not hold up a claim: what is locked is passed over', async () => {
    const id = await workspace(3)
    const request = make.bulk(id, 3)
    await storage.hot.accept([request])
    const [held, ...free] = request.messages.map((message) => message.id)
    await other.query('begin')
    await other.query('select 1 from message_queue where message_id = $1 for update', [held])
    const claim = { now: runtime.now(), limit: 10, lease_ms: 60_000, token: 'token' }
    const claimed = await storage.hot.claimMessages({ ...claim, providerOf: () => 'carrier' })
    expect(claimed.map(({ message_id }) => message_id).sort()).toEqual(free.sort())
    await other.query('rollback')
    const rest = await storage.hot.claimMessages({ ...claim, providerOf: () => 'carrier' })
    expect(only(rest).message_id).toBe(held)
  })

  it('does not hold up settling: only a refund needs the account', async () => {
    const id = await workspace(2)
    await storage.hot.accept([make.bulk(id, 2)])
    const claim = { now: runtime.now(), limit: 10, lease_ms: 60_000, token: 'token' }
    const claimed = await storage.hot.claimMessages({ ...claim, providerOf: () => 'carrier' })
    const outcomes = [
      { type: 'accepted', provider_message_id: null, lookup_after_ms: null },
      { type: 'rejected', error_code: 'unroutable', error_message: 'No route' },
    ] as const
    const settle = (i: 0 | 1) =>
      storage.hot.settle(
        claimed.slice(i, i + 1).map((message) => ({
          ...message,
          provider: 'carrier',
          abilities: { idempotent: false, lookup: false },
          result: { task: 'send' as const, attempt: 1, outcome: outcomes[i] },
          at: runtime.now(),
        })),
      )
    await other.query('begin')
    await other.query(lock, [id])
    expect(await settle(0)).toEqual([true])
    const refunded = settle(1)
    await untilSomebodyWaits()
    await other.query('rollback')
    expect(await refunded).toEqual([true])
    expect(await storage.read.credits.account(id)).toMatchObject({ balance: SMS_PRICE })
  })
})

describe('a webhook that is removed', () => {
  it('gets no delivery from a message that is settled meanwhile', async () => {
    const id = await workspace(1)
    const webhook = make.webhook(id)
    await storage.write(({ webhooks }) => webhooks.insert(webhook))
    const request = make.send(id)
    await storage.hot.accept([request])
    await other.query('begin')
    await other.query('delete from webhooks where id = $1', [webhook.id])
    const settled = storage.hot.settle([
      {
        workspace_id: id,
        message_id: only(request.messages).id,
        token: null,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: {
          task: 'callback',
          receipts: [
            { status: 'sent', provider_message_id: null, error_code: null, error_message: null },
          ],
        },
        at: runtime.now(),
      },
    ])
    await untilSomebodyWaits()
    await other.query('commit')
    expect(await settled).toEqual([true])
    const { rows } = await other.query('select * from delivery_queue')
    expect(rows).toEqual([])
  })
})

describe('connections that are lost', () => {
  it('while nobody uses them are noticed by nobody', async () => {
    const id = await workspace(2)
    await storage.hot.accept([make.send(id)])
    for (let i = 0; i < 2; i++) {
      expect(await cut()).toBeGreaterThan(0)
      await storage.ping()
    }
    expect(await storage.hot.accept([make.send(id)])).toEqual([{ outcome: 'accepted' }])
    await cut()
    await storage.write(({ credits }) => credits.post(id, make.grant(SMS_PRICE)))
    expect(await storage.read.credits.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 4 })
  })

  it('in the middle of the work lose nothing that was answered, and charge nothing twice', async () => {
    const id = await workspace(100_000)
    const accepted: string[] = []
    let going = true
    const callers = Array.from({ length: 16 }, async () => {
      while (going) {
        const request = make.send(id)
        const [result] = await storage.hot.accept([request]).catch(() => [])
        if (result?.outcome === 'accepted') accepted.push(only(request.messages).id)
      }
    })
    for (let i = 0; i < 15; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40))
      await cut()
    }
    going = false
    await Promise.all(callers)

    const { credits, messages } = storage.read
    const ledger = (await credits.entries(id, EVERYTHING)).reverse()
    expect(ledger.map(({ seq }) => seq)).toEqual(ledger.map((_, i) => i + 1))
    const charged = ledger.filter(({ kind }) => kind === 'send').map(({ ref_id }) => ref_id)
    const stored = (await messages.list(id, {}, EVERYTHING)).map((message) => message.id)
    expect(charged.sort()).toEqual(stored.sort())
    const known = new Set(stored)
    expect(accepted.filter((message) => !known.has(message))).toEqual([])
    expect(accepted.length).toBeGreaterThan(0)
    expect(await credits.account(id)).toMatchObject({
      balance: (100_000 - stored.length) * SMS_PRICE,
      seq: stored.length + 1,
    })
  })
})
