import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import type { Operation } from '../../src/rules/decide.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

/** What the ledger answers to a fact that it knows, and to an account on terms of its own. */
export function creditsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const post = (workspaceId: string, operation: Operation) =>
    bench.storage.write(({ credits }) => credits.post(workspaceId, operation))

  it('takes another amount under a booked reference for a conflict, and changes nothing', async () => {
    const workspaceId = await bench.workspace(0)
    const reference = { type: 'purchase', id: 'p1', n: 0 }
    const grant = (amount: number) => bench.make.grant(units(amount), { reference })
    await post(workspaceId, grant(SMS_PRICE))
    const standing = only(await bench.ledger(workspaceId))
    const before = await bench.account(workspaceId)

    for (const amount of [SMS_PRICE - 1, SMS_PRICE + 1]) {
      const conflict = { ok: false, reason: 'ref_conflict', standing }
      expect(await post(workspaceId, grant(amount))).toEqual(conflict)
    }
    expect(await post(workspaceId, grant(SMS_PRICE))).toEqual({ ok: true, repeated: standing })
    expect(await bench.ledger(workspaceId)).toEqual([standing])
    expect(await bench.account(workspaceId)).toEqual(before)
  })

  it('finds the entries about something, oldest first, and only those', async () => {
    const workspaceId = await bench.workspace(0)
    const about = (id: string, kind: 'grant' | 'refund', n = 0) =>
      bench.make.grant(units(SMS_PRICE), { kind, reference: { type: 'message', id, n } })
    const operations = [
      about('m1', 'grant'),
      about('m2', 'grant'),
      about('b1', 'grant'),
      about('m1', 'refund'),
    ]
    for (const operation of operations) await post(workspaceId, operation)
    const { entriesAbout } = bench.storage.read.credits
    const found = await entriesAbout(workspaceId, ['m1', 'b1'])
    expect(found.map(({ ref_id, kind }) => `${ref_id} ${kind}`)).toEqual([
      'm1 grant',
      'b1 grant',
      'm1 refund',
    ])
    expect(await entriesAbout(workspaceId, ['m3'])).toEqual([])
  })

  it('takes another hold under a booked reference for a conflict', async () => {
    const workspaceId = await bench.workspace(3)
    const reference = { type: 'message', id: 'm1', n: 0 }
    const hold = (held: number) =>
      bench.make.grant(units(0), { kind: 'hold', held_delta: units(held), reference })
    expect(await post(workspaceId, hold(SMS_PRICE))).toMatchObject({ ok: true })
    expect(await post(workspaceId, hold(2 * SMS_PRICE))).toMatchObject({ reason: 'ref_conflict' })
    expect(await bench.account(workspaceId)).toMatchObject({ held: SMS_PRICE, seq: 2 })
  })

  it('refuses a grant that repeats the id of another one', async () => {
    const workspaceId = await bench.workspace(0)
    const credits = createCredits({ storage: bench.storage, runtime: bench.clock })
    const grant = (amount: number) =>
      credits.grant(workspaceId, { amount: units(amount), id: 'may', actor: 'operator' })
    expect(await grant(SMS_PRICE)).toMatchObject({ repeated: false })
    expect(await grant(SMS_PRICE)).toMatchObject({ repeated: true })
    await expect(grant(2 * SMS_PRICE)).rejects.toMatchObject({
      code: 'validation_error',
      message: 'Grant may was given before, of 1 credit',
    })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: SMS_PRICE, seq: 1 })
  })

  it('lets a workspace spend as far as its terms go, from the next request on', async () => {
    const workspaceId = await bench.workspace(1)
    const setTerms = (id: string, terms: { credit_limit: number; status: 'active' | 'frozen' }) =>
      bench.storage.write(({ credits }) =>
        credits.setTerms(
          id,
          { ...terms, credit_limit: units(terms.credit_limit) },
          bench.clock.now(),
        ),
      )
    const send = () => bench.accept(bench.make.bulk(workspaceId, 2))
    expect(await send()).toMatchObject({ outcome: 'insufficient_credits' })

    expect(await setTerms(workspaceId, { credit_limit: SMS_PRICE, status: 'frozen' })).toBe(true)
    expect(await send()).toEqual({ outcome: 'account_frozen' })
    expect(await setTerms(workspaceId, { credit_limit: SMS_PRICE, status: 'active' })).toBe(true)
    expect(await send()).toEqual({ outcome: 'accepted' })
    expect(await bench.account(workspaceId)).toMatchObject({
      balance: -SMS_PRICE,
      credit_limit: SMS_PRICE,
    })
    expect(await send()).toMatchObject({ outcome: 'insufficient_credits', available: -SMS_PRICE })
    expect(await setTerms('missing', { credit_limit: 0, status: 'active' })).toBe(false)
  })
}
