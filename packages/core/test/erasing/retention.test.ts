import { describe, expect, it } from 'vitest'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { createRetention } from '../../src/retention/retention.ts'
import { idFloor } from '../../src/runtime/runtime.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { announce } from '../../src/verifications/ends.ts'
import { benchFor, EVERYTHING, only } from '../storage/bench.ts'
import { ENGINES } from './engines.ts'
import { historySteps, SECRET } from './history.ts'

const ASHA = '+255700000009'
const DAY_MS = 24 * 60 * 60_000
const going = () => false

describe.each(ENGINES)('retention on %s', (_, engineOf) => {
  const engine = engineOf()
  const bench = benchFor(engine.open)
  const steps = historySteps(bench)

  const retention = (storage: Storage = bench.storage) =>
    createRetention({ storage, runtime: bench.clock, days: 30 })
  const pass = (days: number) => {
    engine.advance(days * DAY_MS)
    return bench.clock.advance(days * DAY_MS)
  }
  const books = async () => verifyLedger(engine.url(), { now: bench.clock.now })

  it('removes recipients and contents of messages after their retention time', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const [sent, failed, refused] = [
      await steps.done(workspaceId, ASHA),
      await steps.done(workspaceId, ASHA, { status: 'failed' }),
      await steps.refused(workspaceId, ASHA),
    ]
    await steps.received(workspaceId, ASHA)
    await steps.received('', ASHA)
    const before = await bench.message(workspaceId, failed.id)
    expect(before.error_message).toContain(ASHA)
    const ledger = await bench.ledger(workspaceId)

    pass(29.9)
    await retention().apply(going)
    expect(await bench.message(workspaceId, failed.id)).toEqual(before)

    const at = pass(0.2)
    await retention().apply(going)
    expect(await bench.message(workspaceId, failed.id)).toEqual({
      ...before,
      recipient: 'erased',
      content: {},
      metadata: {},
      sender: null,
      error_message: null,
      provider_message_id: null,
      erased_at: at,
    })
    for (const { id } of [sent, refused]) {
      expect(await bench.message(workspaceId, id)).toMatchObject({ erased_at: at, content: {} })
    }
    expect(await bench.ledger(workspaceId)).toEqual(ledger)
    expect(await books()).toMatchObject({ differences: [] })
    const dump = await engine.dump()
    expect(dump).toContain(failed.id)
    expect(dump).not.toContain(SECRET)
    expect(dump).not.toContain(ASHA)
    expect(dump).not.toContain('wamid.')
  })

  it('removes rejected recipients of bulks, whole bulks at a time', async () => {
    const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
    const many = Array<string>(250).fill(ASHA)
    const old = [
      await steps.rejected(workspaceId, [ASHA, SECRET]),
      await steps.rejected(workspaceId, many),
      await steps.rejected(workspaceId, [ASHA]),
      await steps.rejected(other, [ASHA]),
    ]
    pass(29.9)
    const young = await steps.rejected(workspaceId, ['+1'])
    const left = async () => {
      const { rejections } = bench.storage.read.bulks
      const of = (id: string) =>
        rejections(id === old[3] ? other : workspaceId, id, { limit: 500, offset: 0 })
      return Promise.all([...old, young].map(async (id) => (await of(id)).length))
    }
    await retention().apply(going)
    expect(await left()).toEqual([2, 250, 1, 1, 1])
    pass(0.2)
    await retention().apply(going)
    expect(await left()).toEqual([0, 0, 0, 0, 1])
    pass(31)
    await retention().apply(going)
    expect(await left()).toEqual([0, 0, 0, 0, 0])
    const dump = await engine.dump()
    expect(dump).toContain(young)
    expect(dump).not.toContain(SECRET)
    expect(dump).not.toContain(ASHA)
  })

  it('removes the contents of old bulks, and the names of those to one recipient', async () => {
    const workspaceId = await bench.workspace(1_000)
    const bulkOf = async (name: string, count: number) => {
      const { messages, ...request } = bench.make.bulk(workspaceId, count)
      const said = { name, sender: 'Acme', content: { text: `${SECRET} {{name}}` } }
      const bulk = bench.make.bulkRow(messages, said)
      await bench.accept({ ...request, messages, bulk })
      return bulk.id
    }
    const old: string[] = []
    for (let i = 0; i < 401; i++) old.push(await bulkOf('old', 1 + (i % 2)))
    pass(29.9)
    const young = await bulkOf('young', 1)
    const contents = async () => {
      const rows = await Promise.all(
        [...old, young].map((id) => bench.storage.read.bulks.byId(workspaceId, id)),
      )
      return rows.map((row) =>
        row?.content ? row.name : `no content of ${row?.name} from ${row?.sender}`,
      )
    }
    await retention().apply(going)
    expect(new Set(await contents())).toEqual(new Set(['old', 'young']))
    pass(0.2)
    await retention().apply(going)
    const found = await contents()
    expect(new Set(found.slice(0, -1))).toEqual(
      new Set(['no content of null from null', 'no content of old from Acme']),
    )
    expect(found.at(-1)).toBe('young')
  })

  it('removes the name of a bulk to one recipient whose content an earlier version removed', async () => {
    const workspaceId = await bench.workspace()
    const { messages, ...request } = bench.make.bulk(workspaceId, 1)
    const bulk = bench.make.bulkRow(messages, { content: null, name: 'May', sender: 'Acme' })
    await bench.accept({ ...request, messages, bulk })
    pass(31)
    const mark = idFloor(bench.clock.now())
    await bench.storage.write(({ retention }) =>
      retention.setMark(workspaceId, 'bulk_contents' as never, mark),
    )
    await retention().apply(going)
    const found = await bench.storage.read.bulks.byId(workspaceId, bulk.id)
    expect(found).toMatchObject({ content: null, name: null, sender: null })
  })

  it('leaves nothing of long texts in the pages that they had', async () => {
    const workspaceId = await bench.workspace()
    const html = `${SECRET} `.repeat(5_000)
    for (let i = 0; i < 20; i++) {
      const content = { subject: 'Hi', html }
      const request = bench.make.send(workspaceId, { channel: 'email', recipient: ASHA, content })
      await bench.accept(request)
    }
    const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
    // A claim of long contents ends early.
    for (let due = await bench.claimMessages(); due.length > 0; due = await bench.claimMessages()) {
      for (const one of due) await bench.settle(one, { task: 'send', attempt: 1, outcome })
    }
    pass(31)
    await retention().apply(going)
    const dump = await engine.dump({ vacuum: false })
    expect(dump).toContain(workspaceId)
    expect(dump).not.toContain(SECRET)
  })

  it('keeps what is younger, to the byte', async () => {
    const workspaceId = await bench.workspace()
    const webhook = await bench.webhook(workspaceId)
    await steps.done(workspaceId, ASHA)
    pass(20)
    const young = await steps.done(workspaceId, ASHA)
    const received = await steps.received(workspaceId, ASHA)
    const stands = async () => {
      const deliveries = await bench.deliveriesOf(young)
      const { webhooks, receivedMessages, erasure } = bench.storage.read
      const ids = deliveries.map(({ event_id }) => event_id)
      const of = deliveries.map((row) => webhooks.attempts(workspaceId, row.webhook_id, row.id))
      return {
        message: await bench.message(workspaceId, young.id),
        bodies: await webhooks.eventBodies(workspaceId, ids),
        tries: await Promise.all(of),
        received: await receivedMessages.list(workspaceId, {}, EVERYTHING),
        conversations: await erasure.conversations(workspaceId, { kind: 'phone', address: ASHA }),
      }
    }
    const before = await stands()
    expect(before).toMatchObject({ received: [received], conversations: 1 })
    pass(11)
    await retention().apply(going)
    expect(await stands()).toEqual(before)
    expect(await bench.storage.read.webhooks.countDeliveries(workspaceId, webhook.id)).toBe(4)
  })

  it('removes the answer of a receiver to a delivery that was already old', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const { id } = await bench.queued(workspaceId, { recipient: ASHA })
    await bench.storage.hot.cancel({
      workspace_id: workspaceId,
      message_ids: [id],
      at: bench.clock.now(),
    })
    // It sends nothing.
    const other = await bench.workspace()
    await bench.webhook(other, { events: ['*'] })
    await bench.storage.write((stores) =>
      announce(stores, bench.clock.id, {
        event: 'broadcast.finished',
        workspace_id: other,
        data: {
          ...{ broadcast_id: bench.clock.id(), name: 'May', channel: 'sms', status: 'finished' },
          ...{ pause_reason: null, accepted: 1, livemode: true, occurred_at: bench.clock.now() },
        },
      }),
    )
    pass(31)
    await retention().apply(going)
    const answer = 'an answer that came late'
    const claimed = await bench.claimDeliveries()
    expect(new Set(claimed.map((one) => one.workspace_id))).toEqual(new Set([workspaceId, other]))
    for (const each of claimed) await bench.record(each, { response_body: answer })
    pass(75)
    await retention().apply(going)
    expect(await engine.dump()).not.toContain(answer)
  })

  it('comes back for what was not done in time, and passes nothing by that never is', async () => {
    const workspaceId = await bench.workspace()
    const scheduled_at = new Date(bench.clock.now().getTime() + 35 * DAY_MS)
    const late = await bench.queued(workspaceId, { recipient: ASHA, scheduled_at })
    const next = await bench.queued(workspaceId, { recipient: '+255700000010', scheduled_at })
    pass(31)
    await retention().apply(going)
    expect(await bench.message(workspaceId, late.id)).toEqual(late)
    pass(5)
    const claimed = only(
      (await bench.claimMessages()).filter(({ message_id }) => message_id === late.id),
    )
    const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })

    pass(30 + 75 - 36 - 1)
    await retention().apply(going)
    expect(await bench.message(workspaceId, late.id)).toMatchObject({ recipient: ASHA })
    pass(1.1)
    await retention().apply(going)
    expect(await bench.message(workspaceId, late.id)).toMatchObject({ recipient: 'erased' })
    expect(await bench.message(workspaceId, next.id)).toMatchObject({ erased_at: null })

    await bench.storage.hot.cancel({
      workspace_id: workspaceId,
      message_ids: [next.id],
      at: bench.clock.now(),
    })
    const failing = (await bench.claimMessages())[0]
    if (failing) {
      const rejection = { type: 'rejected', error_code: 'no', error_message: 'no' } as const
      await bench.settle(failing, { task: 'send', attempt: 1, outcome: rejection })
    }
    pass(60)
    await retention().apply(going)
    expect(await bench.message(workspaceId, next.id)).toMatchObject({ recipient: 'erased' })
  })

  it('goes on after a crash where it stopped, through thousands of rows and several workspaces', async () => {
    const [first, second] = [await bench.workspace(5_000), await bench.workspace(5_000)]
    const young = await bench.workspace()
    const finished = async (workspaceId: string, count: number) => {
      const { messages } = bench.make.bulk(workspaceId, count, { status: 'queued' })
      await bench.accept({ ...bench.make.request(messages), debit: null })
      await bench.storage.hot.cancel({
        workspace_id: workspaceId,
        message_ids: messages.map(({ id }) => id),
        at: bench.clock.now(),
      })
    }
    await finished(first, 1_200)
    await finished(second, 700)
    pass(31)
    await finished(young, 10)
    const left = async (workspaceId: string) => {
      const rows = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
      return rows.filter(({ erased_at }) => erased_at === null).length
    }
    let writes = 0
    const crashing: Storage = {
      ...bench.storage,
      write(work) {
        writes += 1
        if (writes === 2) throw new Error('crashed')
        return bench.storage.write(work)
      },
    }
    await expect(retention(crashing).apply(going)).rejects.toThrow('crashed')
    expect([await left(first), await left(second)]).toEqual([1_000, 700])

    const mark = await bench.storage.read.retention.mark(first, 'messages', '~')
    const counted: Storage = {
      ...bench.storage,
      write(work) {
        writes += 1
        return bench.storage.write(work)
      },
    }
    writes = 0
    const resumed = retention(counted)
    await resumed.apply(going)
    expect([await left(first), await left(second), await left(young)]).toEqual([0, 0, 10])
    expect((await bench.storage.read.retention.mark(first, 'messages', '~')) > mark).toBe(true)
    expect(writes).toBe(5 + 4)

    bench.clock.advance(60 * 60_000)
    await resumed.apply(going)
    expect(writes).toBe(5 + 4)
  })

  it('comes to what is new though a clock was ahead for a while', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    let ahead_days = 365
    const now = () => new Date(bench.clock.now().getTime() + ahead_days * DAY_MS)
    const kept = createRetention({
      storage: bench.storage,
      runtime: { ...bench.clock, now },
      days: 30,
    })
    await steps.done(workspaceId, ASHA)
    await steps.received('', ASHA)
    await kept.apply(going)
    ahead_days = 0
    const young = await steps.done(workspaceId, ASHA)
    await steps.received('', ASHA)
    await kept.apply(going)
    expect(await bench.message(workspaceId, young.id)).toMatchObject({ recipient: ASHA })
    pass(31)
    await kept.apply(going)
    expect(await bench.message(workspaceId, young.id)).toMatchObject({ recipient: 'erased' })
    const dump = await engine.dump()
    expect(dump).not.toContain(ASHA)
    expect(dump).not.toContain(SECRET)
  })

  it('stops between two steps on request', async () => {
    const workspaceId = await bench.workspace()
    const message = await steps.done(workspaceId, ASHA)
    pass(31)
    await retention().apply(() => true)
    expect(await bench.message(workspaceId, message.id)).toMatchObject({ erased_at: null })
  })

  it('does not restore erased data from a later report', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await steps.done(workspaceId, ASHA, { status: 'failed' })
    pass(31)
    await retention().apply(going)
    const report = {
      status: 'delivered',
      provider_message_id: `wamid.${SECRET}`,
      error_code: null,
      error_message: `${ASHA} ${SECRET}`,
    } as const
    const held = { workspace_id: workspaceId, message_id: message.id, token: null }
    await bench.settle(held, { task: 'callback', receipts: [report], suppress: 'complaint' })
    await bench.settle(held, { task: 'callback', receipts: [{ ...report, status: 'failed' }] })
    expect(await bench.message(workspaceId, message.id)).toMatchObject({
      status: 'delivered',
      recipient: 'erased',
      provider_message_id: null,
    })
    const [event] = await bench.claimDeliveries()
    expect(JSON.parse(event?.body ?? '')).toMatchObject({
      event: 'message.delivered',
      data: { message_id: message.id, recipient: 'erased', metadata: {} },
    })
    expect(await bench.storage.read.suppressions.count(workspaceId, {})).toBe(0)
    const dump = await engine.dump()
    expect(dump).not.toContain(ASHA)
    expect(dump).not.toContain(SECRET)
  })

  it('takes the numbers out of WhatsApp’s ids and keeps other ids', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, { recipient: ASHA })
    await bench.callback(message, 'delivered')
    const claimed = await bench.claimMessages()
    expect(claimed).toEqual([])
    pass(31)
    await retention().apply(going)
    expect(await bench.message(workspaceId, message.id)).toMatchObject({
      recipient: 'erased',
      provider_message_id: 'P1',
    })
  })

  it.each([6, 0, -1, 7.5, 36_501, Number.NaN])('refuses %s days', (days) => {
    const { storage, clock } = bench
    expect(() => createRetention({ storage, runtime: clock, days })).toThrow(
      'retention_days must be a whole number from 7 to 36500',
    )
  })
})
