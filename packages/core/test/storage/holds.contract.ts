import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { type HoldRequest, releaseHolds } from '../../src/credits/holding.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'
import { soundLedger } from './ledger-sums.ts'

const MINUTE_MS = 60_000

/** Credits held for a call: held, extended, settled, refunded, released after their time. */
export function holdsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const credits = () => createCredits({ storage: bench.storage, runtime: bench.clock })
  const release = (limit = 100) =>
    releaseHolds({ storage: bench.storage, runtime: bench.clock }, bench.clock.now(), limit)
  const of = (amount: number) => units(amount * SMS_PRICE)

  function request(amount: number, overrides: Partial<HoldRequest> = {}): HoldRequest {
    return {
      message_id: 'call',
      n: 0,
      amount: of(amount),
      expires_at: new Date(bench.clock.now().getTime() + 10 * MINUTE_MS),
      channel: 'voice',
      quantity: amount,
      unit_price: of(1),
      ...overrides,
    }
  }

  /** A workspace with 10 credits of which those are held for `call`, hold by hold. */
  async function holding(...amounts: number[]): Promise<string> {
    const workspaceId = await bench.workspace(10)
    for (const [n, amount] of amounts.entries()) {
      const held = await credits().hold(workspaceId, request(amount, { n }))
      expect(held).toMatchObject({ ok: true, repeated: false })
    }
    return workspaceId
  }

  const inShort = async (workspaceId: string) =>
    (await soundLedger(bench, workspaceId))
      .slice(1)
      .map((entry) => [entry.kind, entry.amount / SMS_PRICE, entry.held_delta / SMS_PRICE])

  it('sets credits aside, once for each number, and keeps them from being sent', async () => {
    const workspaceId = await holding(6)
    expect(await credits().hold(workspaceId, request(6))).toMatchObject({ repeated: true })
    expect(await credits().hold(workspaceId, request(8))).toMatchObject({ reason: 'ref_conflict' })
    const [, entry] = await soundLedger(bench, workspaceId)
    expect(entry).toMatchObject({
      kind: 'hold',
      counter_account: 'revenue:voice',
      ref_type: 'message',
      ref_id: 'call',
      channel: 'voice',
      quantity: 6,
      unit_price: of(1),
    })
    expect(await credits().holds(workspaceId, EVERYTHING)).toEqual([
      {
        workspace_id: workspaceId,
        id: entry?.id,
        message_id: 'call',
        n: 0,
        amount: of(6),
        expires_at: new Date(bench.clock.now().getTime() + 10 * MINUTE_MS),
        created_at: bench.clock.now(),
      },
    ])
    const send = () => bench.accept(bench.make.bulk(workspaceId, 5))
    expect(await send()).toMatchObject({ outcome: 'insufficient_credits', available: of(4) })
  })

  it('holds no more than may be spent', async () => {
    const workspaceId = await holding(6)
    const more = request(5, { n: 1 })
    expect(await credits().hold(workspaceId, more)).toEqual({
      ok: false,
      reason: 'insufficient_credits',
      required: of(5),
      available: of(4),
    })
    await credits().setTerms(workspaceId, { status: 'frozen', reason: 'disputed' })
    const refused = await credits().hold(workspaceId, request(1, { n: 1 }))
    expect(refused).toEqual({ ok: false, reason: 'account_frozen' })
    expect(await inShort(workspaceId)).toEqual([['hold', 0, 6]])
  })

  it('settles the consumed credits, the oldest hold first, and releases the rest', async () => {
    const workspaceId = await holding(4, 2, 2)
    const settled = await credits().settle(workspaceId, 'call', { amount: of(5), actor: 'voice' })
    const entries = (await bench.ledger(workspaceId)).slice(-3)
    expect(settled).toEqual({ ok: true, entries, repeated: false })
    expect(await inShort(workspaceId)).toEqual([
      ['hold', 0, 4],
      ['hold', 0, 2],
      ['hold', 0, 2],
      ['settle', -4, -4],
      ['settle', -1, -2],
      ['void', 0, -2],
    ])
    const holds = (await bench.ledger(workspaceId)).slice(1, 4)
    expect(entries.map(({ resolves }) => resolves)).toEqual(holds.map(({ id }) => id))
    expect(entries[0]).toMatchObject({ actor: 'voice', quantity: 4, unit_price: of(1) })

    const again = await credits().settle(workspaceId, 'call', { amount: of(5) })
    expect(again).toEqual({ ok: true, entries, repeated: true })
    const other = await credits().settle(workspaceId, 'call', { amount: of(4) })
    expect(other).toEqual({ ok: false, reason: 'ref_conflict', standing: entries[0] })
    expect(await credits().void(workspaceId, 'call')).toMatchObject({ repeated: true })
    expect(await credits().hold(workspaceId, request(1, { n: 3 }))).toEqual({
      ok: false,
      reason: 'settled',
    })
    expect(await bench.ledger(workspaceId)).toHaveLength(7)
  })

  it('books more than was held: a call cannot be unmade', async () => {
    const workspaceId = await holding(10)
    await credits().settle(workspaceId, 'call', { amount: of(12) })
    const last = (await soundLedger(bench, workspaceId)).at(-1)
    expect(last).toMatchObject({ balance_after: of(-2), description: 'overage of 2 credits' })
  })

  it('releases the hold of a call that never connected', async () => {
    const workspaceId = await holding(4, 2)
    expect(await credits().void(workspaceId, 'call')).toMatchObject({ ok: true, repeated: false })
    expect(await credits().void(workspaceId, 'call')).toMatchObject({ ok: true, repeated: true })
    expect((await inShort(workspaceId)).slice(2)).toEqual([
      ['void', 0, -4],
      ['void', 0, -2],
    ])
  })

  it('ends nothing of which nothing is held, nor what a stranger holds', async () => {
    const workspaceId = await holding(4)
    const stranger = await bench.workspace(10)
    const nothing = { ok: false, reason: 'not_held' }
    for (const asker of [stranger, 'missing']) {
      expect(await credits().settle(asker, 'call', { amount: of(4) })).toEqual(nothing)
      expect(await credits().void(asker, 'call')).toEqual(nothing)
    }
    expect(await credits().void(workspaceId, 'another call')).toEqual(nothing)
    expect(await inShort(workspaceId)).toEqual([['hold', 0, 4]])
  })

  it('releases what ran out, and not before; what was consumed is booked all the same', async () => {
    const workspaceId = await holding(4)
    const late = { n: 1, expires_at: new Date(bench.clock.now().getTime() + 60 * MINUTE_MS) }
    await credits().hold(workspaceId, request(2, late))
    bench.clock.advance(10 * MINUTE_MS - 1)
    expect(await release()).toBe(0)
    bench.clock.advance(1)
    expect(await release()).toBe(1)
    expect(await release()).toBe(0)
    expect(await inShort(workspaceId)).toEqual([
      ['hold', 0, 4],
      ['hold', 0, 2],
      ['void', 0, -4],
    ])
    bench.clock.advance(60 * MINUTE_MS)
    expect(await release()).toBe(1)

    await credits().settle(workspaceId, 'call', { amount: of(6) })
    await credits().settle(workspaceId, 'call', { amount: of(6) })
    const entries = await soundLedger(bench, workspaceId)
    expect(entries).toHaveLength(6)
    expect(entries.at(-1)).toMatchObject({
      kind: 'settle',
      amount: of(-6),
      held_delta: 0,
      resolves: null,
    })
  })

  it('releases all of them page by page, whosever they are', async () => {
    const [first, second] = [await bench.workspace(10), await bench.workspace(10)]
    for (const [i, workspaceId] of [first, second, first, second, first].entries()) {
      await credits().hold(workspaceId, request(1, { message_id: `call ${i}` }))
    }
    bench.clock.advance(10 * MINUTE_MS)
    expect([await release(2), await release(2)]).toEqual([5, 0])
    for (const each of [first, second]) {
      const entries = await soundLedger(bench, each)
      expect(entries.at(-1)).toMatchObject({ kind: 'void', held_after: 0 })
    }
  })

  it('releases what is behind others that cannot be released', async () => {
    const [workspaceId, sound] = [await holding(1, 1, 1), await bench.workspace(10)]
    bench.clock.advance(1)
    await credits().hold(sound, request(2))
    bench.clock.advance(10 * MINUTE_MS)
    const { storage, clock } = bench
    const broken: typeof storage = {
      ...storage,
      write: (work) =>
        storage.write((stores) => {
          const { lock } = stores.credits
          const fail = () => Promise.reject(new Error('broken'))
          const credits = {
            ...stores.credits,
            lock: (id: string) => (id === workspaceId ? fail() : lock(id)),
          }
          return work({ ...stores, credits })
        }),
    }
    expect(await releaseHolds({ storage: broken, runtime: clock }, clock.now(), 2)).toBe(1)
    expect((await inShort(sound)).at(-1)).toEqual(['void', 0, -2])
    expect(await bench.account(workspaceId)).toMatchObject({ held: of(3) })
    expect(await release(2)).toBe(3)
  })

  it('books that nothing was consumed, and nothing else afterwards', async () => {
    const workspaceId = await holding(4, 2)
    await credits().settle(workspaceId, 'call', { amount: of(0) })
    const entries = (await inShort(workspaceId)).slice(2)
    expect(entries).toEqual([
      ['void', 0, -4],
      ['settle', 0, -2],
    ])
    const again = await credits().settle(workspaceId, 'call', { amount: of(0) })
    expect(again).toMatchObject({ ok: true, repeated: true })
    const other = await credits().settle(workspaceId, 'call', { amount: of(5) })
    expect(other).toMatchObject({ ok: false, reason: 'ref_conflict' })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(10), held: 0 })
  })

  it('books once what is settled several times at the same moment', async () => {
    const workspaceId = await holding(4, 2)
    const settle = () => credits().settle(workspaceId, 'call', { amount: of(5) })
    const settled = await Promise.all(Array.from({ length: 6 }, settle))
    expect(settled.filter((each) => each.ok && !each.repeated)).toHaveLength(1)
    expect(settled.every(({ ok }) => ok)).toBe(true)
    expect(await inShort(workspaceId)).toHaveLength(4)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(5), held: 0 })
  })

  it('lets one of two different settlements win, whole', async () => {
    const workspaceId = await holding(4, 2)
    const amounts = [5, 1, 5, 1]
    const settled = await Promise.all(
      amounts.map((amount) => credits().settle(workspaceId, 'call', { amount: of(amount) })),
    )
    const won = only(amounts.filter((_, i) => isNew(settled[i])))
    const answered = settled.map((each) => each.ok)
    expect(answered).toEqual(amounts.map((amount) => amount === won))
    await soundLedger(bench, workspaceId)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(10 - won), held: 0 })
  })

  it('keeps the books whole where holds run out while they are extended and settled', async () => {
    for (let round = 0; round < 5; round++) {
      const workspaceId = await holding(4, 2)
      bench.clock.advance(10 * MINUTE_MS)
      await Promise.all([
        release(),
        credits().settle(workspaceId, 'call', { amount: of(5) }),
        credits().hold(workspaceId, request(1, { n: 2 })),
        release(),
        credits().settle(workspaceId, 'call', { amount: of(5) }),
      ])
      await soundLedger(bench, workspaceId)
      expect(await bench.account(workspaceId)).toMatchObject({ balance: of(5), held: 0 })
    }
  })
}

function isNew(ended: Awaited<ReturnType<ReturnType<typeof createCredits>['settle']>> | undefined) {
  return ended?.ok === true && !ended.repeated
}
