import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { callback, only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

/** Another session on the same database. */
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

/** Two workspaces, in the order in which they are locked. */
async function two(messages: number): Promise<[string, string]> {
  const [first = '', second = ''] = [
    await bench.workspace(messages),
    await bench.workspace(messages),
  ].sort()
  return [first, second]
}

/**
 * Makes a deadlock in which PostgreSQL aborts the session of the product. It aborts the first one whose wait is a second old
 * when both wait: on a busy machine that can be `other`, and then the case is made again.
 */
async function deadlock(make: () => Promise<string>): Promise<void> {
  for (;;) {
    const last = await make()
    await bench.untilSessionWaits()
    const aborted = await lockAccount(last).catch((error: { code?: string }) => error.code)
    await other.query('rollback')
    if (aborted === undefined) return
    expect(aborted).toBe('40P01')
    await other.query('begin')
  }
}

describe('a deadlock with another session', () => {
  it('ends in an accepted request, not in a refused one', async () => {
    let ids: string[] = []
    let accepted: Promise<unknown> | undefined
    await deadlock(async () => {
      await accepted
      const [first, second] = await two(1)
      ids = [first, second]
      await lockAccount(second)
      const { make, storage } = bench
      accepted = storage.hot.accept([make.send(first), make.send(second)])
      return first
    })
    expect(await accepted).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }])
    for (const id of ids) {
      expect(await bench.account(id)).toMatchObject({ balance: 0, seq: 2 })
    }
  })

  it('ends in a change that is made once', async () => {
    let ids: string[] = []
    let runs = 0
    let written: Promise<unknown> | undefined
    await deadlock(async () => {
      await written
      const [first, second] = await two(0)
      ids = [first, second]
      runs = 0
      await lockAccount(first)
      written = bench.storage.write(async ({ credits }) => {
        runs += 1
        await credits.post(second, bench.make.grant(SMS_PRICE))
        await credits.post(first, bench.make.grant(SMS_PRICE))
      })
      return second
    })
    await written
    expect(runs).toBe(2)
    for (const id of ids) {
      expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 1 })
    }
  })
})

describe('a lock of another session', () => {
  it('delays a change of all thresholds, which locks the accounts in order', async () => {
    const [first, second] = await two(1)
    const { clock, storage } = bench
    // Behind the second one on disk, where it would come last.
    await storage.write(({ credits }) =>
      credits.setTerms(first, { credit_limit: SMS_PRICE }, clock.now()),
    )
    await lockAccount(first)
    const settingDefault = storage.write(({ lowBalances }) =>
      lowBalances.setDefault(SMS_PRICE, clock.now()),
    )
    await bench.untilSessionWaits()
    await other.query('select 1 from credit_accounts where workspace_id = $1 for update nowait', [
      second,
    ])
    await other.query('rollback')
    await settingDefault
    for (const id of [first, second]) {
      expect(await bench.account(id)).toMatchObject({ low_balance: SMS_PRICE })
    }
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
    await bench.untilSessionWaits()
    await other.query('rollback')
    expect(await refunded).toBe(true)
    expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE })
  })

  it('on the counts of settlements delays no accept, and the other way round', async () => {
    const id = await bench.workspace(2)
    const message = await bench.queued(id)
    await bench.callback(message, 'sent')
    const lockCounts = (of: 'settlements' | 'accepts') =>
      other.query(
        `select 1 from message_counts where extract(milliseconds from since) ${of === 'accepts' ? '=' : '<>'} 0 for update`,
      )
    expect((await lockCounts('settlements')).rowCount).toBe(6)
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    await other.query('rollback; begin')
    expect((await lockCounts('accepts')).rowCount).toBe(3)
    expect(await bench.callback(message, 'delivered')).toBe(true)
    const { messages } = bench.storage.read
    expect(await messages.count(id, { status: 'queued' })).toBe(1)
    expect(await messages.count(id, { status: 'delivered' })).toBe(1)
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
    await bench.untilSessionWaits()
    await other.query('commit')
    expect(await settled).toBe(true)
    expect((await other.query('select * from delivery_queue')).rows).toEqual([])
  })
})

describe('a transaction that waited sees what was written meanwhile:', () => {
  /** Changes rows, and commits when another session waits for them. */
  async function meanwhile<T>(change: string, work: () => Promise<T>): Promise<T> {
    await other.query(change)
    const done = work()
    await bench.untilSessionWaits()
    await other.query('commit')
    return done
  }

  it('accept, that the credits are gone', async () => {
    const id = await bench.workspace(1)
    const accept = () => bench.accept(bench.make.send(id))
    const refused = await meanwhile('update credit_accounts set balance = 0', accept)
    expect(refused).toMatchObject({ outcome: 'insufficient_credits', available: 0 })
  })

  it('accept, that the key was used, even where nothing is charged', async () => {
    const id = await bench.workspace(1)
    const answer = { route: 'messages.send', key: 'A1', request_hash: 'same', response: 'mine' }
    const request = { ...bench.make.send(id, {}, answer), debit: null }
    const use = `select 1 from credit_accounts for update;
      insert into idempotency_keys values ('${id}', 'messages.send', 'A1', 'same', 'theirs', now())`
    const accepted = await meanwhile(use, () => bench.accept(request))
    expect(accepted).toEqual({ outcome: 'replayed', response: 'theirs' })
  })

  it('settle, that the message was delivered', async () => {
    const id = await bench.workspace()
    await bench.webhook(id)
    const message = await bench.queued(id)
    await meanwhile("update messages set status = 'delivered', sequence = 1", () =>
      bench.callback(message, 'delivered'),
    )
    expect(await bench.message(id, message.id)).toMatchObject({ status: 'delivered', sequence: 1 })
    expect(await bench.deliveriesOf(message)).toEqual([])
  })

  it('settle, that the claim was lost', async () => {
    const message = await bench.queued(await bench.workspace())
    const lost = only(await bench.claimMessages())
    const outcome = { type: 'rejected', error_code: 'unroutable', error_message: 'No' } as const
    const settle = () => bench.settle(lost, { task: 'send', attempt: 1, outcome })
    expect(await meanwhile("update message_queue set token = 'another'", settle)).toBe(false)
    expect(await bench.message(message.workspace_id, message.id)).toEqual(message)
  })

  it('recordDeliveries, that the claim was lost, or that the webhook failed', async () => {
    const id = await bench.workspace()
    const webhook = await bench.webhook(id)
    await bench.callback(await bench.queued(id), 'sent', 'delivered')
    const [lost, held] = await bench.claimDeliveries()
    if (!lost || !held) throw new Error('two are due')
    const steal = `update delivery_queue set token = 'another' where delivery_id = '${lost.delivery_id}'`
    expect(await meanwhile(steal, () => bench.record(lost))).toBe(false)
    await other.query('begin')
    const failed = () => bench.record(held, { response_status: 500 })
    expect(await meanwhile('update webhooks set consecutive_failures = 4', failed)).toBe(true)
    expect(await bench.storage.read.webhooks.byId(id, webhook.id)).toMatchObject({
      consecutive_failures: 5,
      status: 'failing',
    })
  })
})

it('two transactions queue deliveries for one webhook at the same time', async () => {
  const [workspaceId] = await two(0)
  const webhook = await bench.webhook(workspaceId)
  // As `settle` holds it while it writes.
  await other.query('select 1 from webhooks where id = $1 for key share', [webhook.id])
  const found = await bench.storage.write(({ webhooks }) => webhooks.subscribers(workspaceId))
  expect(found).toMatchObject([{ id: webhook.id }])
})
