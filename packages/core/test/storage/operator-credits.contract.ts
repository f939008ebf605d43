import { expect, it } from 'vitest'
import { UNITS_MAX, type Units, units } from '../../src/contract/fields/units.ts'
import { GIVEN_BALANCE_MAX } from '../../src/credits/bookings.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage } from './bench.ts'
import { soundLedger } from './ledger-sums.ts'

/** What an operator does to an account: corrections, terms, a freeze. */
export function operatorCreditsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const credits = () => createCredits({ storage: bench.storage, runtime: bench.clock })
  const of = (amount: number) => units(amount * SMS_PRICE)

  function adjustment(amount: number, options: { id?: string; force?: boolean } = {}) {
    return { amount: of(amount), id: 'a1', actor: 'operator', reason: 'counted twice', ...options }
  }

  it('corrects a balance once for each id', async () => {
    const workspaceId = await bench.workspace(5)
    const { entry, repeated } = await credits().adjust(workspaceId, adjustment(-5))
    expect(repeated).toBe(false)
    expect(entry).toMatchObject({
      kind: 'adjustment',
      amount: of(-5),
      counter_account: 'adjust:operator',
      ref_type: 'adjustment',
      ref_id: 'a1',
      actor: 'operator',
      description: 'counted twice',
    })
    const again = await credits().adjust(workspaceId, adjustment(-5))
    expect(again).toEqual({ entry, repeated: true })
    await expect(credits().adjust(workspaceId, adjustment(5))).rejects.toMatchObject({
      code: 'validation_error',
      message: 'Adjustment a1 was booked before, of -5 credits',
    })
    await credits().adjust(workspaceId, adjustment(2, { id: 'a2' }))
    expect(await soundLedger(bench, workspaceId)).toHaveLength(3)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(2) })
  })

  it('takes more than is available only by force', async () => {
    const workspaceId = await bench.workspace(5)
    const hold = { message_id: 'call', n: 0, amount: of(2), channel: 'voice' }
    const expires_at = new Date(bench.clock.now().getTime() + 60_000)
    await credits().hold(workspaceId, { ...hold, expires_at, quantity: null, unit_price: null })
    await expect(credits().adjust(workspaceId, adjustment(-4))).rejects.toMatchObject({
      code: 'validation_error',
      message: 'At most 3 credits can be taken',
      details: [{ path: 'amount' }],
    })
    expect(await soundLedger(bench, workspaceId)).toHaveLength(2)
    await credits().adjust(workspaceId, adjustment(-4, { force: true }))
    expect(await bench.account(workspaceId)).toMatchObject({ balance: of(1), held: of(2) })
    await expect(credits().adjust(workspaceId, adjustment(-1, { id: 'a3' }))).rejects.toMatchObject(
      {
        message: 'At most 0 credits can be taken',
      },
    )
    await credits().adjust(workspaceId, adjustment(0.5, { id: 'a2' }))
    await soundLedger(bench, workspaceId)
  })

  it('leaves room on an account for bookings that cannot be refused', async () => {
    const workspaceId = await bench.workspace(0)
    const fault = { code: 'validation_error', details: [{ path: 'amount' }] }
    const half = GIVEN_BALANCE_MAX
    const grant = (amount: number, id: string) =>
      credits().grant(workspaceId, { amount: amount as Units, id, actor: 'operator' })
    const adjust = (amount: number, id: string) => {
      const options = { amount: amount as Units, id, actor: 'operator', reason: 'x', force: true }
      return credits().adjust(workspaceId, options)
    }
    await expect(grant(half + 1, 'g0')).rejects.toMatchObject(fault)
    await expect(adjust(-UNITS_MAX, 'a0')).rejects.toMatchObject({
      ...fault,
      message: 'This would bring the balance below -500000000 credits',
    })
    await grant(half - 1, 'g1')
    await adjust(1, 'a1')
    for (const more of [1, UNITS_MAX]) {
      await expect(adjust(more, 'a2')).rejects.toMatchObject({
        ...fault,
        message: 'This would bring the balance above 500000000 credits',
      })
      await expect(grant(more, 'g2')).rejects.toMatchObject(fault)
    }
    // What was booked before is answered as ever.
    expect(await grant(half - 1, 'g1')).toMatchObject({ repeated: true })
    expect(await adjust(1, 'a1')).toMatchObject({ repeated: true })
    await expect(adjust(2, 'a1')).rejects.toMatchObject({ details: [{ path: 'id' }] })
    // A purchase may go beyond; then a correction may still bring it nearer.
    const paid = bench.make.grant(units(5), { kind: 'purchase' })
    await bench.storage.write(({ credits: ledger }) => ledger.post(workspaceId, paid))
    expect(await adjust(-2, 'a3')).toMatchObject({ repeated: false })
    expect(await soundLedger(bench, workspaceId)).toHaveLength(4)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: half + 3 })
  })

  it('refuses an adjustment of 0, without a reason, or of a missing workspace', async () => {
    const workspaceId = await bench.workspace(5)
    const attempt = (options: object, id = workspaceId) =>
      credits().adjust(id, { ...adjustment(1), ...options })
    const fault = (path: string) => ({ code: 'validation_error', details: [{ path }] })
    await expect(attempt({ amount: units(0) })).rejects.toMatchObject(fault('amount'))
    await expect(attempt({ reason: ' ' })).rejects.toMatchObject(fault('reason'))
    await expect(attempt({}, 'missing')).rejects.toMatchObject({ code: 'not_found' })
    expect(await bench.account(workspaceId)).toMatchObject({ seq: 1 })
  })

  it('changes the terms that are named, and no others', async () => {
    const workspaceId = await bench.workspace(1)
    const before = await credits().account(workspaceId)
    const at = bench.clock.advance(1_000)
    await credits().setTerms(workspaceId, { credit_limit: of(5), daily_limit: of(9) })
    await credits().setTerms(workspaceId, { low_balance: of(3) })
    const changed = {
      ...before,
      credit_limit: of(5),
      daily_limit: of(9),
      low_balance: of(3),
      low_balance_default: false,
      updated_at: at,
    }
    expect(await credits().account(workspaceId)).toEqual(changed)
    const answered = await credits().setTerms(workspaceId, {
      daily_limit: null,
      low_balance: 'default',
    })
    expect(answered).toEqual({ ...changed, daily_limit: null, low_balance_default: true })
    expect(await credits().account(workspaceId)).toEqual(answered)
  })

  it('freezes a workspace with a reason, and lets it go on', async () => {
    const workspaceId = await bench.workspace(5)
    const send = () => bench.accept(bench.make.send(workspaceId))
    const frozen = await credits().setTerms(workspaceId, { status: 'frozen', reason: 'disputed' })
    expect(frozen).toMatchObject({ status: 'frozen', frozen_reason: 'disputed' })
    expect(await send()).toEqual({ outcome: 'account_frozen' })
    await credits().setTerms(workspaceId, { credit_limit: of(1) })
    expect(await credits().account(workspaceId)).toMatchObject({
      status: 'frozen',
      frozen_reason: 'disputed',
      credit_limit: of(1),
    })
    const active = await credits().setTerms(workspaceId, { status: 'active' })
    expect(active).toMatchObject({ status: 'active', frozen_reason: null })
    expect(await send()).toEqual({ outcome: 'accepted' })
  })

  it('refuses a workspace that does not exist', async () => {
    const notFound = { code: 'not_found' }
    await expect(credits().account('missing')).rejects.toMatchObject(notFound)
    const change = credits().setTerms('missing', { credit_limit: of(1) })
    await expect(change).rejects.toMatchObject(notFound)
  })

  it('is logged, without the description', async () => {
    const workspaceId = await bench.workspace(0)
    const logged: object[] = []
    const log = { ...bench.clock.log, info: (fields: object) => void logged.push(fields) }
    const logging = createCredits({ storage: bench.storage, runtime: { ...bench.clock, log } })
    await logging.setTerms(workspaceId, { status: 'frozen', reason: 'Ann Example called' })
    expect(logged).toEqual([{ workspace_id: workspaceId, status: 'frozen' }])
  })
}
