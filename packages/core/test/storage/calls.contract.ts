import { describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { createHolding, releaseHolds } from '../../src/credits/holding.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { Operation } from '../../src/rules/decide.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage, only, receipt } from './bench.ts'
import { soundLedger } from './ledger-sums.ts'

/** What is held for a call of three minutes. */
const HELD = units(3 * SMS_PRICE)
const DAY_MS = 86_400_000

/** Calls: held for when accepted, charged when they end, refunded when no provider accepted them. */
export function callsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A call that was accepted just now. */
  async function called(workspaceId: string): Promise<MessageRow> {
    const fields = { channel: 'voice', credits_used: HELD, content: { text: 'Hello' } } as const
    const request = bench.make.send(workspaceId, fields)
    const debit: Operation = {
      ...(request.debit as Operation),
      kind: 'hold',
      amount: units(0),
      held_delta: HELD,
      counter_account: 'revenue:voice',
      quantity: 3,
      unit_price: SMS_PRICE,
    }
    expect(await bench.accept({ ...request, debit })).toEqual({ outcome: 'accepted' })
    return only(request.messages)
  }

  async function taken(workspaceId: string): Promise<MessageRow> {
    const message = await called(workspaceId)
    const outcome = { type: 'accepted', provider_message_id: 'C1', lookup_after_ms: null } as const
    await bench.settle(only(await bench.claimMessages()), { task: 'send', attempt: 1, outcome })
    return message
  }

  const ended = ({ workspace_id, id }: MessageRow, duration_s: number, status = 'delivered') => {
    const report = { ...receipt(status as 'delivered' | 'failed'), duration_s }
    const result: Settlement['result'] = { task: 'callback', receipts: [report] }
    return bench.settle({ workspace_id, message_id: id, token: null }, result)
  }

  const entriesOf = async (workspaceId: string) =>
    (await soundLedger(bench, workspaceId))
      .slice(1)
      .map(({ kind, amount, held_delta }) => [kind, amount / SMS_PRICE, held_delta / SMS_PRICE])
  const inShort = async ({ workspace_id, id }: MessageRow) => {
    const { credits_used, credits_refunded, status } = await bench.message(workspace_id, id)
    const { balance, held } = await bench.account(workspace_id)
    const holds = await bench.storage.read.creditHolds.open(workspace_id, EVERYTHING)
    return {
      status,
      used: credits_used / SMS_PRICE,
      refunded: credits_refunded / SMS_PRICE,
      balance: balance / SMS_PRICE,
      held: held / SMS_PRICE,
      holds: holds.length,
    }
  }

  it('hold credits from when they are accepted', async () => {
    const workspaceId = await bench.workspace(10)
    const message = await called(workspaceId)
    expect(await inShort(message)).toEqual({
      status: 'queued',
      used: 3,
      refunded: 0,
      balance: 10,
      held: 3,
      holds: 1,
    })
    const [hold] = await bench.storage.read.creditHolds.open(workspaceId, EVERYTHING)
    expect(hold).toMatchObject({ message_id: message.id, n: 0, amount: HELD })
    expect(await bench.account(workspaceId)).toMatchObject({ held: HELD })
  })

  describe('cost the minutes that began', () => {
    it.each([
      [1, 1],
      [60, 1],
      [61, 2],
      [180, 3],
    ])('%d seconds: %d', async (duration_s, cost) => {
      const workspaceId = await bench.workspace(10)
      const message = await taken(workspaceId)
      await ended(message, duration_s)
      expect(await inShort(message)).toEqual({
        status: 'delivered',
        used: cost,
        refunded: 0,
        balance: 10 - cost,
        held: 0,
        holds: 0,
      })
      expect(await entriesOf(workspaceId)).toEqual([
        ['hold', 0, 3],
        ['settle', -cost, -3],
      ])
    })

    it('and never more than was held, though a provider counts a second more', async () => {
      const workspaceId = await bench.workspace(10)
      const message = await taken(workspaceId)
      await ended(message, 181)
      expect(await inShort(message)).toMatchObject({ used: 3, balance: 7, held: 0 })
    })

    it('once, whatever is reported again', async () => {
      const workspaceId = await bench.workspace(10)
      const message = await taken(workspaceId)
      for (const duration_s of [61, 61, 170, 0]) await ended(message, duration_s)
      expect(await inShort(message)).toMatchObject({ used: 2, balance: 8, held: 0, holds: 0 })
      expect(await entriesOf(workspaceId)).toHaveLength(2)
    })

    it.each([
      [61, 0],
      [0, 61],
    ])(
      'for the first duration that is not 0, which the call shows: %d, then %d',
      async (first_s, second_s) => {
        const workspaceId = await bench.workspace(10)
        const message = await taken(workspaceId)
        const ref = { workspace_id: workspaceId, message_id: message.id, token: null }
        const reports = [first_s, second_s].map((duration_s) => ({
          ...receipt('sent'),
          duration_s,
        }))
        for (const report of reports) {
          await bench.settle(ref, { task: 'callback', receipts: [report] })
        }
        expect((await bench.message(workspaceId, message.id)).duration_s).toBe(61)
        await ended(message, second_s)
        expect(await inShort(message)).toMatchObject({ status: 'delivered', used: 2, balance: 8 })
        expect((await bench.message(workspaceId, message.id)).duration_s).toBe(61)
      },
    )

    it('once, also in one batch', async () => {
      const workspaceId = await bench.workspace(10)
      const message = await taken(workspaceId)
      const report = { ...receipt('delivered'), duration_s: 61 }
      const ref = { workspace_id: workspaceId, message_id: message.id, token: null }
      await bench.settle(ref, { task: 'callback', receipts: [report, report] })
      expect(await inShort(message)).toMatchObject({ used: 2, balance: 8, held: 0 })
    })
  })

  it('that were not answered cost nothing', async () => {
    const workspaceId = await bench.workspace(10)
    const message = await taken(workspaceId)
    await ended(message, 0, 'failed')
    expect(await inShort(message)).toEqual({
      status: 'failed',
      used: 0,
      refunded: 0,
      balance: 10,
      held: 0,
      holds: 0,
    })
    expect(await entriesOf(workspaceId)).toEqual([
      ['hold', 0, 3],
      ['void', 0, -3],
    ])
  })

  it('that no provider took are released in full, and stay so', async () => {
    const workspaceId = await bench.workspace(10)
    const message = await called(workspaceId)
    const outcome = { type: 'rejected', error_code: 'unroutable', error_message: 'No' } as const
    await bench.settle(only(await bench.claimMessages()), { task: 'send', attempt: 1, outcome })
    const expected = { status: 'failed', used: 0, refunded: 0, balance: 10, held: 0, holds: 0 }
    expect(await inShort(message)).toEqual(expected)
    await ended(message, 50)
    expect(await inShort(message)).toEqual(expected)
    expect((await entriesOf(workspaceId)).map(([kind]) => kind)).toEqual(['hold', 'void'])
  })

  it('that are canceled are released', async () => {
    const workspaceId = await bench.workspace(10)
    const message = await called(workspaceId)
    const at = bench.clock.now()
    const request = { workspace_id: workspaceId, message_ids: [message.id], at }
    expect(await bench.storage.hot.cancel(request)).toEqual(['canceled'])
    expect(await inShort(message)).toMatchObject({ used: 0, balance: 10, held: 0, holds: 0 })
  })

  it('cost what is held for them, for as long as anything is', async () => {
    const workspaceId = await bench.workspace(10)
    const message = await taken(workspaceId)
    const other = await taken(workspaceId)
    await ended(other, 61)
    const at = bench.clock.advance(60_000)
    const hold = {
      message_id: message.id,
      n: 1,
      amount: HELD,
      expires_at: new Date(at.getTime() + 3 * DAY_MS),
      channel: 'voice',
      quantity: 3,
      unit_price: SMS_PRICE,
    }
    const parts = { storage: bench.storage, runtime: bench.clock }
    expect(await createHolding(parts).hold(workspaceId, hold)).toMatchObject({ ok: true })
    const release = async (days: number) =>
      releaseHolds(parts, new Date(at.getTime() + days * DAY_MS), 100)
    expect(await release(2)).toBe(1)
    expect(await inShort(message)).toMatchObject({ used: 3, held: 3, holds: 1 })
    expect(await release(4)).toBe(1)
    expect(await inShort(message)).toMatchObject({ used: 0, held: 0, holds: 0 })
    expect(await inShort(other)).toMatchObject({ used: 2, balance: 8 })
  })

  it('whose end is reported after the hold expired are charged all the same, once', async () => {
    const workspaceId = await bench.workspace(10)
    const message = await taken(workspaceId)
    bench.clock.advance(2 * DAY_MS)
    const at = bench.clock.now()
    await releaseHolds({ storage: bench.storage, runtime: bench.clock }, at, 100)
    expect(await inShort(message)).toMatchObject({ used: 0, balance: 10, held: 0, holds: 0 })
    await ended(message, 61)
    await ended(message, 61)
    expect(await inShort(message)).toMatchObject({ used: 2, balance: 8, held: 0 })
    expect((await entriesOf(workspaceId)).map(([kind]) => kind)).toEqual(['hold', 'void', 'settle'])
  })
}
