import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import { units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { expireLots } from '../../src/credits/lots.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { createHistoryRetention } from '../../src/retention/history.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { Operation } from '../../src/rules/decide.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { connectTo } from '../postgres-client.ts'
import { benchFor, EVERYTHING, only, receipt } from '../storage/bench.ts'
import { ENGINES } from './engines.ts'
import { historySteps, SECRET } from './history.ts'

const ASHA = '+255700000009'
const DAY_MS = 24 * 60 * 60_000
const DAYS = 30
const SEEDS = RUNS_ALL_CASES ? [1, 2, 3] : [1]
const going = () => false

/** Numbers from 0 to 1 that are the same in each run. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

describe.each(ENGINES)('the removal of history on %s', (name, engineOf) => {
  const engine = engineOf()
  const bench = benchFor(engine.open)
  const steps = historySteps(bench)

  const removal = (storage: Storage = bench.storage) =>
    createHistoryRetention({ storage, runtime: bench.clock, days: DAYS })
  const pass = (days: number) => {
    engine.advance(days * DAY_MS)
    return bench.clock.advance(days * DAY_MS)
  }
  const differences = async () => {
    const options = { now: bench.clock.now }
    const [all, fast] = [
      await verifyLedger(engine.url(), options),
      await verifyLedger(engine.url(), { ...options, fast: true }),
    ]
    expect(fast.ok).toBe(all.ok)
    expect(fast.messages).toBe(all.messages)
    return all.differences
  }
  /** Changes the database without the service. */
  const plant = async (text: string) => {
    if (name === 'SQLite') {
      const connection = new Sqlite(engine.url().slice('file:'.length))
      connection.exec(text)
      connection.close()
      return
    }
    const client = await connectTo(engine.url())
    await client.query(text)
    await client.end()
  }
  /** The stored totals are those of the rows; returns the ids of the messages, oldest first. */
  const messagesOf = async (workspaceId: string) => {
    const { messages } = bench.storage.read
    const rows = (await messages.list(workspaceId, {}, EVERYTHING)).reverse()
    for (const status of ['queued', 'sent', 'delivered', 'failed'] as const) {
      const found = rows.filter((row) => row.status === status).length
      expect(await messages.count(workspaceId, { status }), status).toBe(found)
    }
    const test = rows.filter((row) => !row.livemode).length
    expect(await messages.count(workspaceId, { livemode: false })).toBe(test)
    const from = new Date(0)
    const days = await messages.countsSince(workspaceId, { unit: 'day', from })
    expect(days.reduce((sum, { count }) => sum + count, 0)).toBe(rows.length)
    return rows.map(({ id }) => id)
  }
  /** All rows about one message. */
  const rest = async ({ workspace_id, id }: MessageRow) => {
    const { messages, webhooks, messageParts } = bench.storage.read
    const parts = await messageParts.byProvider('carrier', [`wamid.${id}`])
    return [
      ...(await messages.attempts(workspace_id, id)),
      ...(await messages.events(workspace_id, id)),
      ...(await webhooks.deliveriesOf(workspace_id, id)),
      ...parts.filter(({ message_id }) => message_id === id),
    ].length
  }
  const eventsOf = (workspaceId: string) =>
    bench.storage.read.history.ids(workspaceId, 'events', {
      after_id: '',
      before_id: '~',
      limit: 1_000,
    })
  const accepted = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
  /** A bulk whose messages were all sent to the end. */
  const bulkOf = async (workspaceId: string, count: number, settled = count) => {
    const request = bench.make.bulk(workspaceId, count)
    const bulk = bench.make.bulkRow(request.messages, { rejected: 1 })
    const rejections = bench.make.rejections(bulk, ['+1'])
    await bench.accept({ ...request, bulk, rejections })
    for (const [i, message] of request.messages.entries()) {
      if (i < settled) await bench.callback(message, i % 3 === 0 ? 'failed' : 'delivered')
    }
    return { bulk, messages: request.messages }
  }

  /** A call that a provider took: its credits are held until it ends. */
  const call = async (workspaceId: string) => {
    const credits_used = units(3 * SMS_PRICE)
    const request = bench.make.send(workspaceId, { channel: 'voice', credits_used })
    const debit: Operation = {
      ...(request.debit as Operation),
      ...{ kind: 'hold', amount: units(0), held_delta: credits_used },
      ...{ quantity: 3, unit_price: SMS_PRICE },
    }
    expect(await bench.accept({ ...request, debit })).toEqual({ outcome: 'accepted' })
    const message = only(request.messages)
    const due = await bench.claimMessages()
    const claimed = only(due.filter(({ message_id }) => message_id === message.id))
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome: accepted })
    return message
  }

  it('removes what is finished with all that hangs on it, and keeps the ledger and what is young', async () => {
    const workspaceId = await bench.workspace()
    const webhook = await bench.webhook(workspaceId)
    const old = [
      await steps.done(workspaceId, ASHA),
      await steps.done(workspaceId, ASHA, { status: 'failed' }),
      await steps.refused(workspaceId, ASHA),
      await steps.done(workspaceId, ASHA, { livemode: false, credits_used: units(0) }),
    ]
    const parted = await bench.queued(workspaceId, { livemode: false, credits_used: units(0) })
    const outcome = { ...accepted, part_ids: ['part-1', 'part-2'] }
    const claimed = only(await bench.claimMessages())
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    const parts = () => bench.storage.read.messageParts.byProvider('carrier', ['part-1', 'part-2'])
    expect(await parts()).toHaveLength(2)
    const { bulk, messages } = await bulkOf(workspaceId, 5)
    await steps.announce()
    await steps.received(workspaceId, ASHA)
    await steps.received('', ASHA)
    const before = await messagesOf(workspaceId)
    const ledger = await bench.ledger(workspaceId)
    const account = await bench.account(workspaceId)
    expect(await differences()).toEqual([])
    expect(before).toHaveLength(10)

    pass(DAYS - 0.1)
    await removal().apply(going)
    expect(await messagesOf(workspaceId)).toEqual(before)
    expect(await eventsOf(workspaceId)).toHaveLength(13)
    const young = await steps.done(workspaceId, ASHA)
    const answer = await steps.received(workspaceId, ASHA)

    pass(0.2)
    await removal().apply(going)
    expect(await messagesOf(workspaceId)).toEqual([young.id])
    for (const message of [...old, parted, ...messages]) expect(await rest(message)).toBe(0)
    expect(await parts()).toEqual([])
    expect(await rest(young)).toBeGreaterThan(3)
    expect(await eventsOf(workspaceId)).toHaveLength(2)
    const { bulks, receivedMessages, webhooks } = bench.storage.read
    expect(await bulks.byId(workspaceId, bulk.id)).toBeNull()
    expect(await bulks.rejections(workspaceId, bulk.id, EVERYTHING)).toEqual([])
    expect(await receivedMessages.list(workspaceId, {}, EVERYTHING)).toEqual([answer])
    expect(await receivedMessages.list('', {}, EVERYTHING)).toEqual([])
    expect(await webhooks.countDeliveries(workspaceId, webhook.id)).toBe(2)
    expect((await bench.ledger(workspaceId)).slice(0, ledger.length)).toEqual(ledger)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: account.balance - SMS_PRICE })
    expect(await differences()).toEqual([])
    const erasure = bench.storage.read.erasure
    expect(await erasure.conversations(workspaceId, { kind: 'phone', address: ASHA })).toBe(1)
    pass(DAYS + 1)
    await removal().apply(going)
    expect(await messagesOf(workspaceId)).toEqual([])
    const dump = await engine.dump()
    for (const id of [webhook.id, ...ledger.map(({ id }) => id)])
      expect(dump.includes(id)).toBe(true)
    expect(dump.includes(SECRET)).toBe(false)
  })

  it('keeps what is not finished: queued, scheduled, held, without an outcome, or with an open delivery', async () => {
    const workspaceId = await bench.workspace()
    const queued = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    await bench.settle(claimed, {
      task: 'send',
      attempt: 1,
      outcome: { ...accepted, lookup_after_ms: 1_000 * DAY_MS },
    })
    const scheduled = await bench.queued(workspaceId, {
      scheduled_at: new Date(bench.clock.now().getTime() + 300 * DAY_MS),
    })
    const held = await call(workspaceId)
    const unknown = await bench.queued(workspaceId)
    await bench.claimMessages()
    const doubtful = await bench.queued(workspaceId)
    await bench.callback(doubtful, 'sent')
    await plant(
      `update messages set accepted = ${name === 'SQLite' ? '0' : 'false'} where id = '${doubtful.id}'`,
    )
    const partial = await bulkOf(workspaceId, 4, 3)
    await bench.webhook(workspaceId)
    const announced = await bench.queued(workspaceId)
    await bench.callback(announced, 'delivered')
    const sent = await bench.queued(workspaceId)
    const due = await bench.claimMessages()
    await bench.settle(only(due.filter(({ message_id }) => message_id === sent.id)), {
      task: 'send',
      attempt: 1,
      outcome: accepted,
    })
    const deliveries = await bench.claimDeliveries()
    const of = async (row: MessageRow) => (await bench.deliveriesOf(row)).map(({ id }) => id)
    const ofSent = await of(sent)
    for (const one of deliveries.filter(({ delivery_id }) => ofSent.includes(delivery_id))) {
      await bench.record(one)
    }
    pass(DAYS + 1)
    await removal().apply(going)
    const kept = [queued, scheduled, held, unknown, doubtful, ...partial.messages, announced]
    expect(await messagesOf(workspaceId)).toEqual(kept.map(({ id }) => id))
    expect(await bench.storage.read.bulks.byId(workspaceId, partial.bulk.id)).not.toBeNull()
    expect(await of(announced)).toHaveLength(1)
    expect(await eventsOf(workspaceId)).toHaveLength(1)
    // No sweeper ends the hold here.
    expect(await differences()).toMatchObject([{ check: 'stale_hold' }])

    // The delivery still finds its event, and its end lets everything go.
    const [again] = await bench.claimDeliveries()
    expect(JSON.parse(again?.body ?? '')).toMatchObject({ data: { message_id: announced.id } })
    if (again) await bench.record(again)
    const last = partial.messages[3] as MessageRow
    const late = (await bench.claimMessages()).filter(({ message_id }) => message_id === last.id)
    await bench.settle(only(late), { task: 'send', attempt: 2, outcome: accepted })
    const report = { ...receipt('delivered'), duration_s: 61 }
    const ended = { workspace_id: workspaceId, message_id: held.id, token: null }
    await bench.settle(ended, { task: 'callback', receipts: [report] })
    await steps.announce()
    pass(DAYS + 1)
    await removal().apply(going)
    const left = [queued, scheduled, unknown, doubtful]
    expect(await messagesOf(workspaceId)).toEqual(left.map(({ id }) => id))
    expect(await eventsOf(workspaceId)).toEqual([])
    expect(await differences()).toEqual([])
  })

  it('leaves nothing wrong after a crash between any two steps', async () => {
    const [workspaceId, other] = [await bench.workspace(1_000), await bench.workspace(1_000)]
    for (const id of [workspaceId, other]) {
      await bench.webhook(id)
      await steps.done(id, ASHA)
      await bulkOf(id, 130)
      await steps.refused(id, ASHA)
      await steps.announce()
      await steps.received(id, ASHA)
    }
    pass(DAYS + 1)
    let crashes = 0
    for (;;) {
      let writes = 0
      const crashing: Storage = {
        ...bench.storage,
        write(work) {
          writes += 1
          if (writes === 2) throw new Error('crashed')
          return bench.storage.write(work)
        },
      }
      const ended = await removal(crashing)
        .apply(going)
        .then(() => true)
        .catch(() => false)
      expect(await differences()).toEqual([])
      await messagesOf(workspaceId)
      if (ended) break
      crashes += 1
    }
    expect(crashes).toBeGreaterThan(10)
    for (const id of [workspaceId, other]) {
      expect(await messagesOf(id)).toEqual([])
      expect(await eventsOf(id)).toEqual([])
    }
  })

  it('ignores late receipts for a removed message', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await steps.done(workspaceId, ASHA, { status: 'failed' })
    pass(DAYS + 1)
    await removal().apply(going)
    const account = await bench.account(workspaceId)
    expect(await bench.callback(message, 'delivered')).toBe(false)
    expect(await bench.callback(message, 'failed')).toBe(false)
    const { workspace_id, id } = message
    const refused = { ...receipt('failed'), never_accepted: true } as const
    const late = { workspace_id, message_id: id, token: null }
    expect(await bench.settle(late, { task: 'refused', receipt: refused })).toBe(false)
    expect(
      await bench.storage.hot.cancel({ workspace_id, message_ids: [id], at: bench.clock.now() }),
    ).toHaveLength(1)
    expect(await bench.account(workspaceId)).toEqual(account)
    expect(await messagesOf(workspaceId)).toEqual([])
    expect(await bench.claimDeliveries()).toEqual([])
    expect(await differences()).toEqual([])
  })

  it('lets grants expire as they would have', async () => {
    const credits = createCredits({ storage: bench.storage, runtime: bench.clock })
    const expired = async (removes: boolean) => {
      const workspaceId = await bench.workspace(0)
      const expires_at = new Date(bench.clock.now().getTime() + 200 * DAY_MS)
      const amount = units(10 * SMS_PRICE)
      await credits.grant(workspaceId, { amount, actor: 'operator', expires_at })
      const request = bench.make.bulk(workspaceId, 6)
      const bulk = bench.make.bulkRow(request.messages)
      await bench.accept({ ...request, bulk })
      const ids = request.messages.map(({ id }) => id)
      for (const one of await bench.claimMessages()) {
        const isRefused = ids.indexOf(one.message_id) < 4
        const outcome = isRefused
          ? ({ type: 'rejected', error_code: 'no', error_message: 'no' } as const)
          : accepted
        await bench.settle(one, { task: 'send', attempt: 1, outcome })
      }
      pass(DAYS + 1)
      if (removes) await removal().apply(going)
      const left = (await messagesOf(workspaceId)).length
      expect(left).toBe(removes ? 4 : 6)
      expect(await differences()).toEqual([])
      bench.clock.advance(200 * DAY_MS)
      const parts = { storage: bench.storage, runtime: bench.clock }
      await expireLots(parts, bench.clock.now(), 100)
      const { balance } = await bench.account(workspaceId)
      if (removes) {
        await removal().apply(going)
        expect(await messagesOf(workspaceId)).toEqual([])
        expect(await differences()).toEqual([])
      }
      return balance
    }
    expect(await expired(true)).toBe(await expired(false))
  })

  it.each([
    ['a message', (id: string) => `delete from messages where id = '${id}'`, 'removed'],
    ['a sum', () => 'update removed_history set charged = charged - 1', 'removed'],
    ['a sum of refunds', () => 'update removed_history set refunded = 0', 'removed'],
    ['a sum of bulks', () => 'update removed_history set charged_bulks = 0', 'removed'],
    ['a boundary', () => `update removed_history set last_id = ''`, 'message'],
    ['the row', () => 'delete from removed_history', 'message'],
  ])('is proved by the ledger: a change of %s is found', async (_, change, check) => {
    const workspaceId = await bench.workspace()
    const kept = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome: accepted })
    await steps.done(workspaceId, ASHA)
    await steps.refused(workspaceId, ASHA)
    await bulkOf(workspaceId, 3)
    // It was accepted before the others, so it lies in the time of which messages were removed.
    pass(DAYS - 1)
    await bench.callback(kept, 'delivered')
    pass(2)
    await removal().apply(going)
    expect(await messagesOf(workspaceId)).toEqual([kept.id])
    expect(await differences()).toEqual([])
    await plant(change(kept.id))
    expect(await differences()).toContainEqual(expect.objectContaining({ check }))
  })

  it('keeps a message that does not agree with the ledger, so that the difference can be named', async () => {
    const workspaceId = await bench.workspace()
    const wrong = await steps.done(workspaceId, ASHA)
    const { bulk } = await bulkOf(workspaceId, 2)
    await plant(`update messages set credits_used = credits_used + 1 where id = '${wrong.id}'`)
    await plant(`update bulks set credits_used = credits_used + 1 where id = '${bulk.id}'`)
    const before = await differences()
    expect(before).not.toEqual([])
    pass(DAYS + 1)
    await removal().apply(going)
    expect(await messagesOf(workspaceId)).toHaveLength(3)
    expect(await differences()).toEqual(before)
  })

  it('removes positions of the log of events, and says so to a reader that is behind', async () => {
    const workspaceId = await bench.workspace()
    await bench.storage.write(({ eventLog }) => eventLog.keep(true))
    for (let i = 0; i < 130; i++) {
      await bench.callback(
        await bench.queued(workspaceId, { livemode: false, credits_used: units(0) }),
        'delivered',
      )
    }
    const { position } = await bench.storage.read.eventLog.state()
    pass(DAYS + 1)
    const young = await bench.queued(workspaceId)
    await bench.callback(young, 'delivered')
    await removal().apply(going)
    const state = await bench.storage.read.eventLog.state()
    expect(state).toEqual({ is_kept: true, position: position + 1, since: position })
    const found = await bench.storage.read.eventLog.between({ after: 0, until: 1_000 }, undefined)
    expect(found.map((row) => row.position)).toEqual([position + 1])
  })

  it('goes on where it was stopped, behind rows that must stay', async () => {
    const workspaceId = await bench.workspace(1_000)
    const open = bench.make.bulk(workspaceId, 150)
    await bench.accept({ ...open, bulk: bench.make.bulkRow(open.messages) })
    const { messages } = await bulkOf(workspaceId, 150)
    pass(DAYS + 1)
    const kept = removal()
    for (let calls = 0; (await messagesOf(workspaceId)).length > 150; calls++) {
      expect(calls).toBeLessThan(20)
      // One page of messages, after a look at received messages, events and bulks.
      let looks = 0
      await kept.apply(() => ++looks > 4)
    }
    const left = await messagesOf(workspaceId)
    expect(left).toEqual(open.messages.map(({ id }) => id))
    expect(left).not.toContain(messages[0]?.id)
    expect(await differences()).toEqual([])
  })

  it('leaves a delivery alone that is sent again meanwhile', async () => {
    const workspaceId = await bench.workspace()
    const webhook = await bench.webhook(workspaceId)
    const message = await steps.done(workspaceId, ASHA)
    pass(DAYS + 1)
    const [delivery] = await bench.deliveriesOf(message)
    const at = bench.clock.now()
    const again = () =>
      bench.storage.write(async ({ webhooks }) => {
        await webhooks.lock(workspaceId, webhook.id)
        return webhooks.requeue(workspaceId, webhook.id, [delivery?.id ?? ''], { at, tries: 1 })
      })
    const [requeued] = await Promise.all([again(), removal().apply(going)])
    await pause(1)
    const left = await bench.deliveriesOf(message)
    expect(left.filter(({ status }) => status === 'pending')).toHaveLength(requeued)
    const claimed = await bench.claimDeliveries()
    expect(claimed).toHaveLength(requeued)
    for (const one of claimed) await bench.record(one)
    pass(DAYS + 1)
    await removal().apply(going)
    expect(await messagesOf(workspaceId)).toEqual([])
    expect(await eventsOf(workspaceId)).toEqual([])
  })

  it.each(SEEDS)('agrees with the books after random histories (%s)', async (seed) => {
    const next = random(seed)
    const pick = (n: number) => Math.floor(next() * n)
    const workspaceId = await bench.workspace(10_000)
    await bench.webhook(workspaceId)
    const open = new Set<string>()
    for (let i = 0; i < 60; i++) {
      const kind = pick(7)
      if (kind === 0) await steps.refused(workspaceId, ASHA, { credits_used: SMS_PRICE })
      if (kind === 1) await steps.done(workspaceId, ASHA, pick(2) ? {} : { status: 'failed' })
      if (kind === 2) await bulkOf(workspaceId, 1 + pick(8))
      if (kind === 3) await steps.rejected(workspaceId, ['+1', ASHA])
      if (kind === 4) {
        const scheduled_at = new Date(bench.clock.now().getTime() + 5_000 * DAY_MS)
        open.add((await bench.queued(workspaceId, { scheduled_at })).id)
      }
      if (kind === 5) pass(next() * 25)
      if (kind === 6) {
        const { balance, held } = await bench.account(workspaceId)
        const young = bench.clock.now().getTime() - DAYS * DAY_MS
        const { messages } = bench.storage.read
        const before = await messages.list(workspaceId, {}, EVERYTHING)
        await removal().apply(going)
        const left = await messagesOf(workspaceId)
        for (const row of before) {
          const mayGo = row.updated_at.getTime() < young && !open.has(row.id)
          if (!mayGo) expect(left).toContain(row.id)
        }
        expect(await bench.account(workspaceId)).toMatchObject({ balance, held })
        expect(await differences()).toEqual([])
      }
    }
    await steps.announce()
    pass(DAYS + 1)
    await removal().apply(going)
    expect(new Set(await messagesOf(workspaceId))).toEqual(open)
    expect(await differences()).toEqual([])
  })

  it.each([6, 0, -1, 7.5, 36_501, Number.NaN])('refuses %s days', (days) => {
    const { storage, clock } = bench
    expect(() => createHistoryRetention({ storage, runtime: clock, days })).toThrow(
      'history_days must be a whole number from 7 to 36500',
    )
  })
})
