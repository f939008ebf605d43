import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { callback, only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

/** Somebody else on the same database. */
let other: pg.Client
beforeEach(async () => {
  other = await bench.connect()
  await other.query('begin')
})
afterEach(() => other?.end())

async function lockAccount(workspaceId: string): Promise<void> {
  await other.query('select 1 from credit_accounts where workspace_id = $1 for update', [
    workspaceId,
  ])
}

/** Two workspaces, in the order in which everybody locks them. */
async function two(messages: number): Promise<[string, string]> {
  const [first = '', second = ''] = [
    await bench.workspace(messages),
    await bench.workspace(messages),
  ].sort()
  return [first, second]
}

describe('a deadlock with somebody else', () => {
  it('ends in an accepted request, not in a refused one', async () => {
    const [first, second] = await two(1)
    await lockAccount(second)
    const { make, storage } = bench
    const accepted = storage.hot.accept([make.send(first), make.send(second)])
    await bench.untilSomebodyWaits()
    // Whoever has waited longer is told of the deadlock: that is the request.
    await lockAccount(first)
    await other.query('rollback')
    expect(await accepted).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }])
    for (const id of [first, second]) {
      expect(await bench.account(id)).toMatchObject({ balance: 0, seq: 2 })
    }
  })

  it('ends in a change that is made once', async () => {
    const [first, second] = await two(0)
    await lockAccount(first)
    let runs = 0
    const written = bench.storage.write(async ({ credits }) => {
      runs += 1
      await credits.post(second, bench.make.grant(SMS_PRICE))
      await credits.post(first, bench.make.grant(SMS_PRICE))
    })
    await bench.untilSomebodyWaits()
    await lockAccount(second)
    await other.query('rollback')
    await written
    expect(runs).toBe(2)
    for (const id of [first, second]) {
      expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 1 })
    }
  })
})

describe('whoever meets a lock', () => {
  it('sees what its holder wrote', async () => {
    const id = await bench.workspace(1)
    await lockAccount(id)
    const accepted = bench.accept(bench.make.send(id))
    await bench.untilSomebodyWaits()
    await other.query('update credit_accounts set balance = 0 where workspace_id = $1', [id])
    await other.query('commit')
    expect(await accepted).toMatchObject({ outcome: 'insufficient_credits', available: 0 })
  })

  it('claims what is free, and the rest later', async () => {
    const id = await bench.workspace(3)
    const request = bench.make.bulk(id, 3)
    await bench.accept(request)
    const [held, ...free] = request.messages.map((message) => message.id)
    await other.query('select 1 from message_queue where message_id = $1 for update', [held])
    const claimed = await bench.claimMessages()
    expect(claimed.map(({ message_id }) => message_id).sort()).toEqual(free.sort())
    await other.query('rollback')
    expect(only(await bench.claimMessages()).message_id).toBe(held)
  })

  it('claims the deliveries that are free, and the rest later', async () => {
    const id = await bench.workspace()
    await bench.webhook(id)
    await bench.callback(await bench.queued(id), 'sent', 'delivered')
    const [held, free] = (await other.query('select delivery_id from delivery_queue')).rows
    await other.query('select 1 from delivery_queue where delivery_id = $1 for update', [
      held.delivery_id,
    ])
    expect(only(await bench.claimDeliveries()).delivery_id).toBe(free.delivery_id)
    await other.query('rollback')
    expect(only(await bench.claimDeliveries()).delivery_id).toBe(held.delivery_id)
  })

  it('settles without the account, unless a refund needs it', async () => {
    const id = await bench.workspace(2)
    await bench.accept(bench.make.bulk(id, 2))
    const [sent, refused] = await bench.claimMessages()
    if (!sent || !refused) throw new Error('two are due')
    await lockAccount(id)
    const accepted = { type: 'accepted', provider_message_id: null, lookup_after_ms: null } as const
    const rejected = { type: 'rejected', error_code: 'unroutable', error_message: 'No' } as const
    expect(await bench.settle(sent, { task: 'send', attempt: 1, outcome: accepted })).toBe(true)
    const refunded = bench.settle(refused, { task: 'send', attempt: 1, outcome: rejected })
    await bench.untilSomebodyWaits()
    await other.query('rollback')
    expect(await refunded).toBe(true)
    expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE })
  })

  it('queues no delivery for a webhook that is being removed', async () => {
    const id = await bench.workspace(1)
    const webhook = await bench.webhook(id)
    const message = await bench.queued(id)
    await other.query('delete from webhooks where id = $1', [webhook.id])
    const settled = bench.settle(
      { ...message, message_id: message.id, token: null },
      callback('sent'),
    )
    await bench.untilSomebodyWaits()
    await other.query('commit')
    expect(await settled).toBe(true)
    expect((await other.query('select * from delivery_queue')).rows).toEqual([])
  })
})

describe('connections that are lost', () => {
  /** Cuts every connection of the storage; answers how many there were. */
  async function cut(): Promise<number> {
    const { rowCount } = await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc' and datname = current_database()",
    )
    return rowCount ?? 0
  }
  beforeEach(() => other.query('commit'))

  it('while nobody uses them are noticed by nobody', async () => {
    const id = await bench.workspace(2)
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    expect(await cut()).toBeGreaterThan(0)
    await bench.storage.ping()
    await cut()
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    await cut()
    await bench.storage.write(({ credits }) => credits.post(id, bench.make.grant(SMS_PRICE)))
    await cut()
    expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 4 })
  })

  it('in the middle of the work lose nothing that was answered, and charge nothing twice', async () => {
    const id = await bench.workspace(100_000)
    const accepted: string[] = []
    let going = true
    const callers = Array.from({ length: 16 }, async () => {
      while (going) {
        const request = bench.make.send(id)
        const answer = await bench.accept(request).catch(() => null)
        if (answer?.outcome === 'accepted') accepted.push(only(request.messages).id)
      }
    })
    for (let i = 0; i < 15; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40))
      await cut()
    }
    going = false
    await Promise.all(callers)

    await bench.expectSound(id)
    const { messages } = bench.storage.read
    const stored = await messages.list(id, {}, { limit: 1_000_000, offset: 0 })
    const known = new Set(stored.map((message) => message.id))
    expect(accepted.filter((message) => !known.has(message))).toEqual([])
    expect(accepted.length).toBeGreaterThan(0)
  })
})
