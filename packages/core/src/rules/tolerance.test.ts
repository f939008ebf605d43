import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Units, units } from '../contract/fields/units.ts'
import {
  type Account,
  accountChange,
  dayOf,
  decide,
  newAccount,
  type Operation,
  relativeEntry,
  toleranceOf,
} from './decide.ts'

const AT = new Date('2026-05-04T09:00:00.000Z')
const DAY = dayOf(AT)

function operation({ amount, isHold }: { amount: number; isHold: boolean }): Operation {
  return {
    id: 'e1',
    kind: isHold ? 'hold' : 'send',
    amount: (isHold ? 0 : -amount) as Units,
    held_delta: (isHold ? amount : 0) as Units,
    counter_account: 'revenue:sms',
    reference: { type: 'message', id: 'm1', n: 0 },
    channel: 'sms',
    quantity: 1,
    unit_price: units(1),
    resolves: null,
    actor: null,
    description: null,
    at: AT,
  }
}

/** The state and the entries after the operations, and whether one was refused. */
function applied(before: Account, operations: readonly Operation[]) {
  let account = before
  let isRefused = false
  const entries = operations.flatMap((each) => {
    const decision = decide(account, each)
    if (!decision.ok) {
      isRefused = true
      return []
    }
    account = decision.account
    return [decision.entry]
  })
  return { account, entries, isRefused }
}

const small = fc.integer({ min: 0, max: 40 })
const accounts = fc
  .record({
    balance: fc.integer({ min: 0, max: 80 }),
    held: fc.integer({ min: 0, max: 10 }),
    credit_limit: fc.constantFrom(0, 5),
    seq: small,
    daily_limit: fc.option(small, { freq: 1 }),
    spent_on: fc.constantFrom(DAY, DAY, DAY, DAY - 1, DAY + 1),
    spent: small,
    low_balance: fc.option(small, { freq: 1 }),
    low_state: fc.constantFrom('no', 'no', 'due', 'told'),
  })
  .map((fields) => ({ ...newAccount('w1'), ...fields }) as Account)
const batches = fc
  .array(fc.record({ amount: fc.integer({ min: 1, max: 8 }), isHold: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((each) => each.map(operation))
const differences = fc.record({
  balance: fc.integer({ min: -30, max: 30 }),
  held: fc.integer({ min: 0, max: 10 }),
  seq: small,
  spent: small,
})

/** Whether a plan on `before` holds for the account `other`. */
function isWithin(tolerance: ReturnType<typeof toleranceOf>, other: Account): boolean {
  const { seq, available_min, spent_max } = tolerance
  if (seq !== null && other.seq !== seq) return false
  if (available_min !== null && other.balance - other.held < available_min) return false
  return spent_max === null || other.spent <= spent_max
}

describe('toleranceOf', () => {
  it('admits only accounts on which the plan has the same decisions', () => {
    let admitted = 0
    const sameDecisions = (before: Account, batch: Operation[], by: Partial<Account>) => {
      const plan = applied(before, batch)
      const other = {
        ...before,
        ...by,
        balance: (before.balance + (by.balance ?? 0)) as Units,
        seq: before.seq + 1 + (by.seq ?? 0),
      }
      if (!isWithin(toleranceOf(before, plan.account, plan.isRefused), other)) return
      admitted += 1
      const real = applied(other, batch)
      expect(real.isRefused).toBe(false)
      const relative = (from: Account, of: typeof real) =>
        of.entries.map((entry) => relativeEntry(from, entry))
      expect(relative(other, real)).toEqual(relative(before, plan))
      expect(accountChange(other, real.account)).toEqual(accountChange(before, plan.account))
    }
    fc.assert(
      fc.property(accounts, batches, differences, (before, batch, by) =>
        sameDecisions(before, batch, by as Partial<Account>),
      ),
      { numRuns: 5_000 },
    )
    expect(admitted).toBeGreaterThan(500)
  })

  it('admits the poorest account that can pay, and none that is poorer by one unit', () => {
    const before = { ...newAccount('w1'), balance: units(100), credit_limit: units(5) }
    const batch = [
      operation({ amount: 30, isHold: false }),
      operation({ amount: 20, isHold: true }),
    ]
    const spent = { ...before, spent_on: DAY }
    const tolerance = toleranceOf(spent, applied(spent, batch).account, false)
    const withBalance = (balance: number) => ({ ...spent, balance: balance as Units })
    expect(isWithin(tolerance, withBalance(45))).toBe(true)
    expect(applied(withBalance(45), batch).isRefused).toBe(false)
    expect(isWithin(tolerance, withBalance(44))).toBe(false)
    expect(applied(withBalance(44), batch).isRefused).toBe(true)
  })

  it('admits only the planned account if the plan refuses, or reaches the low balance', () => {
    const before = { ...newAccount('w1'), balance: units(10), seq: 7, spent_on: DAY }
    const plan = (account: Account, amount: number) =>
      applied(account, [operation({ amount, isHold: false })])
    const refused = plan(before, 11)
    expect(toleranceOf(before, refused.account, refused.isRefused).seq).toBe(7)
    const watched = { ...before, low_balance: units(5) }
    expect(toleranceOf(watched, plan(watched, 5).account, false).seq).toBe(null)
    expect(toleranceOf(watched, plan(watched, 6).account, false).seq).toBe(7)
  })
})
