import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { expireLots } from '../../src/credits/lots.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'
import { soundLedger } from './ledger-sums.ts'

const DAY_MS = 86_400_000

/** Granted credits that expire: which are spent first, what expires, and what does not. */
export function lotsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const credits = () => createCredits({ storage: bench.storage, runtime: bench.clock })
  const expire = (limit = 100) =>
    expireLots({ storage: bench.storage, runtime: bench.clock }, bench.clock.now(), limit)
  const of = (amount: number) => units(amount * SMS_PRICE)
  const inDays = (days: number) => new Date(bench.clock.now().getTime() + days * DAY_MS)

  async function grant(workspaceId: string, amount: number, days: number): Promise<string> {
    const fields = { amount: of(amount), actor: 'operator', expires_at: inDays(days) }
    return (await credits().grant(workspaceId, fields)).entry.id
  }
  /** Answers the messages of a bulk. */
  const send = async (workspaceId: string, count: number): Promise<string[]> => {
    const request = bench.make.bulk(workspaceId, count)
    expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
    return request.messages.map(({ id }) => id)
  }
  /** One message of that cost by itself; answers it. */
  const sendOne = async (workspaceId: string, amount: number): Promise<string> => {
    const request = bench.make.send(workspaceId, { credits_used: of(amount) })
    expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
    return request.messages.map(({ id }) => id)[0] as string
  }
  const refund = async (workspaceId: string, messageIds: readonly string[], amount = 1) => {
    for (const id of messageIds) {
      const reference = { type: 'message', id, n: 0 }
      const fields = bench.make.grant(of(amount), { kind: 'refund', reference })
      await bench.storage.write(({ credits: ledger }) => ledger.post(workspaceId, fields))
    }
  }
  const left = async (workspaceId: string) =>
    (await credits().lots(workspaceId)).map(({ remaining }) => remaining / SMS_PRICE)
  const expiries = async (workspaceId: string) =>
    (await soundLedger(bench, workspaceId))
      .filter(({ kind }) => kind === 'expire')
      .map(({ amount, ref_id }) => [amount / SMS_PRICE, ref_id])

  it('expires the rest of a grant, once, and not before its time', async () => {
    const workspaceId = await bench.workspace(5)
    const lot = await grant(workspaceId, 10, 30)
    await send(workspaceId, 3)
    bench.clock.advance(30 * DAY_MS - 1)
    expect(await expire()).toBe(0)
    bench.clock.advance(1)
    expect(await expire()).toBe(1)
    expect(await expire()).toBe(0)
    expect(await expiries(workspaceId)).toEqual([[-7, lot]])
    expect((await bench.ledger(workspaceId)).at(-1)).toMatchObject({
      counter_account: 'breakage',
      ref_type: 'lot',
      actor: null,
    })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(5) })
    expect(await credits().lots(workspaceId)).toEqual([])
  })

  it('spends what expires first before the rest, whatever was granted first', async () => {
    const workspaceId = await bench.workspace(0)
    const late = await grant(workspaceId, 10, 60)
    const soon = await grant(workspaceId, 10, 30)
    await send(workspaceId, 4)
    expect(await left(workspaceId)).toEqual([6, 10])
    await send(workspaceId, 8)
    expect(await left(workspaceId)).toEqual([0, 8])
    bench.clock.advance(30 * DAY_MS)
    expect(await expire()).toBe(1)
    expect(await expiries(workspaceId)).toEqual([])
    bench.clock.advance(30 * DAY_MS)
    await expire()
    expect(await expiries(workspaceId)).toEqual([[-8, late]])
    expect(soon).not.toBe(late)
  })

  it('does not take from a grant what was spent before it', async () => {
    const workspaceId = await bench.workspace(10)
    await send(workspaceId, 6)
    const lot = await grant(workspaceId, 3, 30)
    expect(await left(workspaceId)).toEqual([3])
    bench.clock.advance(30 * DAY_MS)
    await expire()
    expect(await expiries(workspaceId)).toEqual([[-3, lot]])
  })

  it('counts what came back, but restores nothing that was counted', async () => {
    const workspaceId = await bench.workspace(0)
    await grant(workspaceId, 10, 30)
    const messages = await send(workspaceId, 6)
    await refund(workspaceId, messages.slice(0, 4))
    expect(await left(workspaceId)).toEqual([8])
    await grant(workspaceId, 5, 60)
    await refund(workspaceId, messages.slice(4))
    expect(await left(workspaceId)).toEqual([8, 5])
  })

  it.each([
    ['a message', async (workspaceId: string) => [await sendOne(workspaceId, 50)], 50],
    ['a bulk', (workspaceId: string) => send(workspaceId, 50), 1],
  ])(
    'lets nothing that was paid for expire when %s comes back that was sent before',
    async (_, before, each) => {
      const workspaceId = await bench.workspace(100)
      const stranger = await bench.workspace(50)
      await send(stranger, 50)
      const sent = await before(workspaceId)
      await grant(workspaceId, 20, 30)
      await sendOne(workspaceId, 20)
      expect(await left(workspaceId)).toEqual([0])
      await refund(workspaceId, sent, each)
      expect(await left(workspaceId)).toEqual([0])
      bench.clock.advance(30 * DAY_MS)
      expect(await expire()).toBe(1)
      expect(await expiries(workspaceId)).toEqual([])
      expect(await bench.account(workspaceId)).toMatchObject({ balance: of(100) })
    },
  )

  it('returns refunds of failed messages and bulks to their grant', async () => {
    const workspaceId = await bench.workspace(0)
    const lot = await grant(workspaceId, 20, 30)
    const one = await sendOne(workspaceId, 5)
    const many = await send(workspaceId, 10)
    expect(await left(workspaceId)).toEqual([5])
    await refund(workspaceId, [one], 5)
    await refund(workspaceId, many.slice(0, 4))
    expect(await left(workspaceId)).toEqual([14])
    bench.clock.advance(30 * DAY_MS)
    await expire()
    expect(await expiries(workspaceId)).toEqual([[-14, lot]])
  })

  it('lets expire no more than is available: not what is held, nor what was taken back', async () => {
    const workspaceId = await bench.workspace(0)
    const lot = await grant(workspaceId, 10, 30)
    const hold = { message_id: 'call', n: 0, amount: of(4), expires_at: inDays(90) }
    await credits().hold(workspaceId, {
      ...hold,
      channel: 'voice',
      quantity: null,
      unit_price: null,
    })
    const taken = { amount: of(-3), id: 'a', actor: 'operator', reason: 'mistake' }
    await credits().adjust(workspaceId, taken)
    bench.clock.advance(30 * DAY_MS)
    await expire()
    expect(await expiries(workspaceId)).toEqual([[-3, lot]])
    await credits().settle(workspaceId, 'call', { amount: of(4) })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 0, held: 0 })
  })

  it('ends without an entry what nothing is left of, or available', async () => {
    const workspaceId = await bench.workspace(0)
    await grant(workspaceId, 10, 30)
    const taken = { amount: of(-12), id: 'a', actor: 'operator', reason: 'x', force: true }
    await credits().adjust(workspaceId, taken)
    bench.clock.advance(30 * DAY_MS)
    expect(await expire()).toBe(1)
    expect(await expire()).toBe(0)
    expect(await expiries(workspaceId)).toEqual([])
  })

  it('opens one lot for a grant that is repeated, and none for one that has expired', async () => {
    const workspaceId = await bench.workspace(0)
    const fields = { amount: of(10), id: 'may', actor: 'operator' }
    const expires_at = inDays(30)
    await credits().grant(workspaceId, { ...fields, expires_at })
    const again = await credits().grant(workspaceId, { ...fields, expires_at: inDays(60) })
    expect(again.repeated).toBe(true)
    expect(await credits().lots(workspaceId)).toEqual([
      {
        workspace_id: workspaceId,
        id: again.entry.id,
        amount: of(10),
        remaining: of(10),
        granted_seq: 1,
        counted_seq: 1,
        expires_at,
        ended_at: null,
        created_at: bench.clock.now(),
      },
    ])
    const past = { amount: of(10), actor: 'operator', expires_at: bench.clock.now() }
    await expect(credits().grant(workspaceId, past)).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path: 'expires_at' }],
    })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(10), seq: 1 })
  })

  it('ends all of them page by page, whosever they are', async () => {
    const [first, second] = [await bench.workspace(0), await bench.workspace(0)]
    for (const each of [first, second, first, second, first]) await grant(each, 2, 30)
    await grant(first, 2, 31)
    await send(first, 3)
    bench.clock.advance(30 * DAY_MS)
    expect([await expire(2), await expire(2)]).toEqual([5, 0])
    const amounts = async (each: string) => (await expiries(each)).map(([amount]) => amount)
    expect(await amounts(first)).toEqual([-1, -2])
    expect(await amounts(second)).toEqual([-2, -2])
    expect(await left(first)).toEqual([2])
  })

  it('ends what is behind others that cannot end', async () => {
    const workspaceId = await bench.workspace(0)
    const sound = await bench.workspace(0)
    for (let i = 0; i < 3; i++) await grant(workspaceId, 2, 10 + i)
    const lot = await grant(sound, 2, 30)
    bench.clock.advance(30 * DAY_MS)
    const { storage, clock } = bench
    const broken: typeof storage = {
      ...storage,
      write: (work) =>
        storage.write((stores) => {
          const { lock } = stores.credits
          const credits = {
            ...stores.credits,
            lock: async (id: string) => (id === workspaceId ? null : lock(id)),
          }
          return work({ ...stores, credits })
        }),
    }
    expect(await expireLots({ storage: broken, runtime: clock }, clock.now(), 1)).toBe(1)
    expect(await expiries(sound)).toEqual([[-2, lot]])
    expect(await left(workspaceId)).toEqual([2, 2, 2])
    expect(await expire(1)).toBe(3)
  })

  it('lets every credit be spent or expire, never both, whatever meets', async () => {
    for (let round = 0; round < 5; round++) {
      const workspaceId = await bench.workspace(0)
      await grant(workspaceId, 10, 30)
      bench.clock.advance(30 * DAY_MS)
      const sends = Array.from({ length: 8 }, () => bench.accept(bench.make.bulk(workspaceId, 2)))
      const [, ...outcomes] = await Promise.all([
        expire(),
        ...sends,
        expire(),
        grant(workspaceId, 1, 30),
      ])
      const entries = await soundLedger(bench, workspaceId)
      const sum = (kind: string) =>
        entries.reduce((total, entry) => total + (entry.kind === kind ? entry.amount : 0), 0)
      const sent = outcomes.filter((each) => Object(each).outcome === 'accepted').length
      expect(sum('send')).toBe(of(-2 * sent))
      expect(await bench.account(workspaceId)).toMatchObject({
        balance: of(11) + sum('send') + sum('expire'),
      })
      for (const { balance_after } of entries) expect(balance_after).toBeGreaterThanOrEqual(0)
      expect(entries.filter(({ kind }) => kind === 'expire').length).toBeLessThanOrEqual(1)
      expect(only(await credits().lots(workspaceId)).amount).toBe(of(1))
    }
  })
}
