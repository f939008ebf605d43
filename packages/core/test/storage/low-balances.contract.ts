import { expect, it } from 'vitest'
import { type Units, units } from '../../src/contract/fields/units.ts'
import type { Account } from '../../src/rules/decide.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage } from './bench.ts'

const THRESHOLD = units(3 * SMS_PRICE)

/** Owners to notify of a low balance, once for each time that it becomes low. */
export function lowBalancesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A workspace with credits for that number of messages, notified below three. */
  async function watched(messages: number, low_balance: Units | null = THRESHOLD) {
    const row = bench.make.workspace()
    const at = bench.clock.now()
    await bench.storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, at, { low_balance })
    })
    if (messages > 0) await give(row.id, messages)
    return row.id
  }

  const give = (id: string, messages: number) =>
    bench.storage.write(({ credits }) =>
      credits.post(id, bench.make.grant(units(messages * SMS_PRICE))),
    )
  const send = (id: string) => bench.accept(bench.make.send(id))
  const due = () => bench.storage.read.lowBalances.due(100)
  const claim = (id: string) =>
    bench.storage.write(({ lowBalances }) => lowBalances.claimNotice(id))
  const set = (id: string, threshold: number | null) =>
    bench.storage.write(({ lowBalances }) =>
      lowBalances.set(id, threshold === null ? null : units(threshold), bench.clock.now()),
    )
  const setDefault = (threshold: number | null) =>
    bench.storage.write(({ lowBalances }) =>
      lowBalances.setDefault(threshold === null ? null : units(threshold), bench.clock.now()),
    )
  const stateOf = async (id: string) => (await bench.account(id)).low_state
  const thresholdOf = async (id: string) => (await bench.account(id)).low_balance

  it('are those that fell below the threshold, and no others', async () => {
    const [poor, rich] = [await watched(4), await watched(9)]
    const [born, never] = [await watched(0), await watched(3, null)]
    for (const id of [poor, rich, never]) await send(id)
    expect(await due()).toEqual([])
    for (const id of [poor, rich, never]) await send(id)
    expect(await due()).toEqual([poor])
    expect(await claim(born)).toBeNull()
    expect(await claim(rich)).toBeNull()
  })

  it('are notified once, with the balance', async () => {
    const id = await watched(3)
    await send(id)
    const low = { workspace_id: id, available: 2 * SMS_PRICE, threshold: THRESHOLD }
    expect(await claim(id)).toEqual(low)
    expect(await claim(id)).toBeNull()
    await send(id)
    expect([await due(), await claim(id), await stateOf(id)]).toEqual([[], null, 'told'])
  })

  it('are notified with the available credits, without the held ones', async () => {
    const id = await watched(4)
    const hold = { kind: 'hold', held_delta: units(2 * SMS_PRICE) } as const
    await bench.storage.write(({ credits }) => credits.post(id, bench.make.grant(units(0), hold)))
    expect(await due()).toEqual([id])
    expect(await claim(id)).toMatchObject({ available: 2 * SMS_PRICE })
  })

  it('are notified by one of many simultaneous callers', async () => {
    const id = await watched(3)
    await send(id)
    const answers = await Promise.all(Array.from({ length: 20 }, () => claim(id)))
    expect(answers.filter((answer) => answer !== null)).toHaveLength(1)
  })

  it('are notified again after a rise and another fall, but not of a fall that was made up for', async () => {
    const id = await watched(3)
    await send(id)
    await claim(id)
    await give(id, 1)
    expect([await due(), await stateOf(id)]).toEqual([[], 'no'])
    await send(id)
    expect(await due()).toEqual([id])
    await give(id, 1)
    expect([await due(), await claim(id)]).toEqual([[], null])
    await send(id)
    expect(await claim(id)).not.toBeNull()
  })

  it('are found however many there are, so many at a time', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await watched(3))
    for (const id of ids) await send(id)
    const first = await bench.storage.read.lowBalances.due(3)
    expect(first).toHaveLength(3)
    const rest = await bench.storage.read.lowBalances.due(3, first.at(-1))
    expect([...first, ...rest]).toEqual([...ids].sort())
    for (const id of first) await claim(id)
    expect([...first, ...(await due())].sort()).toEqual(ids.sort())
  })

  it('a threshold that is set above the balance notifies no owner', async () => {
    const id = await watched(3, null)
    await set(id, 5 * SMS_PRICE)
    await send(id)
    expect(await due()).toEqual([])
    await give(id, 3)
    await send(id)
    expect(await due()).toEqual([id])
    await claim(id)
    await set(id, 9 * SMS_PRICE)
    expect(await stateOf(id)).toBe('told')
  })

  it('a threshold below what is left, or none, ends what was low by the one before', async () => {
    const [lowered, cleared] = [await watched(3), await watched(3)]
    for (const id of [lowered, cleared]) await send(id)
    await set(lowered, 2 * SMS_PRICE)
    await set(cleared, null)
    expect(await due()).toEqual([])
    for (const id of [lowered, cleared]) await send(id)
    expect(await due()).toEqual([lowered])
  })

  it('the default of the service goes to those who chose none of their own, old and new', async () => {
    const [follower, own, never] = [await watched(9, null), await watched(9), await watched(9)]
    await set(own, SMS_PRICE)
    await set(never, null)
    await setDefault(7 * SMS_PRICE)
    const thresholds = async () => Promise.all([follower, own, never].map(thresholdOf))
    expect(await thresholds()).toEqual([7 * SMS_PRICE, SMS_PRICE, null])
    await setDefault(null)
    expect(await thresholds()).toEqual([null, SMS_PRICE, null])
  })

  it('a default that is set to what it is already stays one', async () => {
    const id = await watched(9)
    await set(id, THRESHOLD)
    await setDefault(SMS_PRICE)
    expect(await thresholdOf(id)).toBe(SMS_PRICE)
  })

  it('a default changes nothing else, and notifies no owner who was below it before', async () => {
    const [below, notified] = [await watched(2, null), await watched(3)]
    await send(notified)
    await claim(notified)
    const before: Account[] = [await bench.account(below), await bench.account(notified)]
    await setDefault(5 * SMS_PRICE)
    const low_balance = 5 * SMS_PRICE
    expect([await bench.account(below), await bench.account(notified)]).toEqual(
      before.map((account) => ({ ...account, low_balance })),
    )
    expect(await due()).toEqual([])
  })

  it('test keys, whose messages cost nothing, never count', async () => {
    const id = await watched(3)
    await bench.accept(bench.make.send(id, { credits_used: units(0), livemode: false }))
    expect([await due(), await stateOf(id)]).toEqual([[], 'no'])
  })

  it('an account spends at most the daily limit that it was opened with', async () => {
    const row = bench.make.workspace()
    await bench.storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, bench.clock.now(), { daily_limit: SMS_PRICE })
    })
    await give(row.id, 5)
    expect(await send(row.id)).toEqual({ outcome: 'accepted' })
    const refused = { outcome: 'daily_limit', of: 'workspace', limit: SMS_PRICE, spent: SMS_PRICE }
    expect(await send(row.id)).toMatchObject(refused)
    bench.clock.advance(24 * 60 * 60_000)
    expect(await send(row.id)).toEqual({ outcome: 'accepted' })
  })
}
