import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { createCreditSums } from '../../src/credits/credit-sums.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { spendingOf, statementOf } from '../../src/credits/spending.ts'
import type { Entry } from '../../src/rules/decide.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage } from './bench.ts'

const DAY_MS = 86_400_000
const BROADCAST_ID = '00000000-0000-7000-8000-00000000000b'
const goesOn = () => false
const changeOf = ({ amount, held_delta }: Entry) => amount - held_delta
const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)

/** The sums of credits: they are those of the ledger, whatever the sweeper has summed. */
export function creditSumsContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const parts = () => ({ storage: bench.storage, runtime: bench.clock })
  const sweep = () => createCreditSums(bench.storage).write(goesOn)

  /** Sends a bulk, and lets this number of its messages fail, with a refund each. */
  async function bulk(workspaceId: string, size: number, fails: number, broadcast_id?: string) {
    const request = bench.make.bulk(workspaceId, size, { api_key_id: 'k1' })
    const bulk = bench.make.bulkRow(request.messages, { broadcast_id: broadcast_id ?? null })
    const { outcome } = await bench.accept({ ...request, bulk })
    expect(outcome).toBe('accepted')
    for (const message of request.messages.slice(0, fails)) await refund(workspaceId, message.id)
    return bulk.id
  }

  async function refund(workspaceId: string, messageId: string) {
    await bench.storage.write(({ credits }) =>
      credits.post(workspaceId, {
        ...bench.make.grant(units(SMS_PRICE)),
        kind: 'refund',
        channel: 'sms',
        reference: { type: 'message', id: messageId, n: 0 },
      }),
    )
  }

  async function history(workspaceId: string) {
    const single = await bench.queued(workspaceId, { api_key_id: 'k1' })
    await bench.queued(workspaceId, { api_key_id: 'k2' })
    await refund(workspaceId, single.id)
    bench.clock.advance(DAY_MS)
    const bulkId = await bulk(workspaceId, 5, 3)
    await bulk(workspaceId, 2, 0, BROADCAST_ID)
    await bulk(workspaceId, 3, 1, BROADCAST_ID)
    bench.clock.advance(2 * DAY_MS)
    await bench.storage.write(({ credits }) =>
      credits.post(workspaceId, bench.make.grant(units(12_345_678))),
    )
    await bench.queued(workspaceId, { api_key_id: 'k1' })
    return bulkId
  }

  it.each(['before the sweeper', 'after it', 'after a part of it'])(
    'equal the ledger to the last micro-credit, %s',
    async (when) => {
      const workspaceId = await bench.workspace()
      const bulkId = await history(workspaceId)
      if (when === 'after it') await sweep()
      if (when === 'after a part of it') {
        await bench.storage.write(({ creditSums }) => creditSums.extend(workspaceId, 7))
      }
      const ledger = await bench.ledger(workspaceId)
      const now = bench.clock.now()
      const today = now.toISOString().slice(0, 10)

      const statement = await statementOf(parts(), workspaceId, today.slice(0, 7))
      expect(statement.opening).toBe(0)
      expect(statement.closing).toBe(sum(ledger.map(changeOf)))
      expect(statement.counted_until).toBeNull()
      for (const { day, kind, count, credits } of statement.lines) {
        const own = ledger.filter(
          (one) => one.kind === kind && one.created_at.toISOString().startsWith(day),
        )
        expect([count, credits]).toEqual([own.length, sum(own.map(changeOf))])
      }
      expect(sum(statement.lines.map(({ count }) => count))).toBe(ledger.length)

      const spending = await spendingOf(parts(), workspaceId, { days: 30 })
      const net = spending.days.map(({ spent, refunded, other }) => other + refunded - spent)
      expect(sum(net)).toBe(sum(ledger.map(changeOf)))
      expect(spending.days.at(-1)).toEqual({
        day: today,
        spent: SMS_PRICE,
        refunded: 0,
        other: 12_345_678,
      })
      expect(spending.causes).toMatchObject([
        { cause_type: 'broadcast', cause_id: BROADCAST_ID, spent: 5 * SMS_PRICE, refunds: 1 },
        { cause_type: 'bulk', cause_id: bulkId, spent: 5 * SMS_PRICE, refunds: 3 },
      ])
      expect(spending.keys.map(({ id, spent }) => [id, spent])).toEqual([
        ['k1', 12 * SMS_PRICE],
        ['k2', SMS_PRICE],
      ])
      expect(sum(spending.kinds.map(({ credits }) => credits))).toBe(statement.closing)
      const account = await bench.account(workspaceId)
      expect(account.balance - account.held).toBe(statement.closing)
    },
  )

  it('go on from month to month, and later months begin where earlier ones end', async () => {
    const workspaceId = await bench.workspace()
    await history(workspaceId)
    const first = bench.clock.now().toISOString().slice(0, 7)
    await sweep()
    bench.clock.advance(31 * DAY_MS)
    const second = bench.clock.now().toISOString().slice(0, 7)
    await bench.queued(workspaceId)
    for (const sweeps of [false, true]) {
      if (sweeps) await sweep()
      const [one, two] = [
        await statementOf(parts(), workspaceId, first),
        await statementOf(parts(), workspaceId, second),
      ]
      expect(two.opening).toBe(one.closing)
      expect(two.closing).toBe(one.closing - SMS_PRICE)
      expect(two.lines).toMatchObject([{ kind: 'send', count: 1, credits: -SMS_PRICE }])
    }
  })

  it('are asked for by day, channel and key', async () => {
    const workspaceId = await bench.workspace()
    await history(workspaceId)
    await sweep()
    const ask = (filter: object) => spendingOf(parts(), workspaceId, { days: 7, ...filter })
    const all = await ask({})
    const [first] = all.days.filter(({ spent }) => spent > 0)
    expect((await ask({ day: first?.day })).causes).toEqual([])
    expect((await ask({ day: first?.day })).keys).toHaveLength(2)
    expect((await ask({ channel: 'email' })).keys).toEqual([])
    expect((await ask({ channel: 'sms' })).keys).toEqual(all.keys)
    const second = await ask({ key: 'k2' })
    expect(second.keys.map(({ id }) => id)).toEqual(['k2'])
    expect(second.causes).toEqual([])
    expect(sum(second.days.map(({ spent }) => spent))).toBe(SMS_PRICE)
    expect(second.forecast).toEqual(all.forecast)
  })

  it('forecast with the credits that the limit allows below 0', async () => {
    const workspaceId = await bench.workspace(3)
    for (let i = 0; i < 3; i++) {
      await bench.queued(workspaceId)
      bench.clock.advance(DAY_MS)
    }
    const forecast = async () => (await spendingOf(parts(), workspaceId, { days: 7 })).forecast
    expect(await forecast()).toMatchObject({ state: 'empty', per_day: SMS_PRICE })
    await createCredits(parts()).setTerms(workspaceId, { credit_limit: units(10 * SMS_PRICE) })
    const until = new Date(bench.clock.now().getTime() + 10 * DAY_MS)
    expect(await forecast()).toMatchObject({ state: 'until', until })
  })

  it('say until when they count, if more entries wait than an answer sums itself', async () => {
    const workspaceId = await bench.workspace()
    await history(workspaceId)
    const { creditSums } = bench.storage.read
    const late = {
      ...parts().storage,
      read: {
        ...bench.storage.read,
        creditSums: {
          ...creditSums,
          async entriesAfter(id: string, page: { seq: number; limit: number }) {
            const [one] = await creditSums.entriesAfter(id, page)
            return Array(page.limit).fill(one)
          },
        },
      },
    }
    const month = bench.clock.now().toISOString().slice(0, 7)
    const { counted_until } = await statementOf({ storage: late }, workspaceId, month)
    expect(counted_until).toEqual((await bench.ledger(workspaceId))[0]?.created_at)
  })

  it('are written in steps, of each workspace, once', async () => {
    const [one, other] = [await bench.workspace(), await bench.workspace()]
    await history(one)
    await bench.storage.write(({ creditSums }) => creditSums.extend(one, 2))
    const due = () => bench.storage.read.creditSums.due({ after: '', limit: 10 })
    expect(await due()).toEqual([one, other].sort())
    await sweep()
    expect(await due()).toEqual([])
    const days = () => bench.storage.read.creditSums.days(one, { from: 0, until: 99_999 })
    const before = await days()
    await sweep()
    expect(await days()).toEqual(before)
    expect(before.seq).toBe((await bench.ledger(one)).length)
  })
}
