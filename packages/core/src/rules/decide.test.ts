import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UNITS_MAX, type Units, units } from '../contract/fields/units.ts'
import { ENTRY_KINDS, type EntryKind } from '../rows/credits.ts'
import { type Account, dayOf, decide, isRepetition, newAccount, type Operation } from './decide.ts'

const AT = new Date('2026-05-04T09:00:00.000Z')

function account(overrides: Partial<Account> = {}): Account {
  return Object.freeze({ ...newAccount('w1'), ...overrides })
}

function operation(kind: EntryKind, amount: number, held_delta = 0): Operation {
  return Object.freeze({
    id: 'e1',
    kind,
    amount: amount as Units,
    held_delta: held_delta as Units,
    counter_account: 'revenue:sms',
    reference: { type: 'message', id: 'm1', n: 2 },
    channel: 'sms',
    quantity: 3,
    unit_price: units(1_000_000),
    resolves: null,
    actor: 'key',
    description: 'why',
    at: AT,
  })
}

describe('decide', () => {
  it('makes an entry with the operation and the sums after it', () => {
    const before = account({ balance: units(10), held: units(2), seq: 41 })
    expect(decide(before, operation('send', -3))).toEqual({
      ok: true,
      account: { ...before, balance: 7, seq: 42, spent_on: dayOf(AT), spent: 3 },
      entry: {
        id: 'e1',
        workspace_id: 'w1',
        seq: 42,
        kind: 'send',
        amount: -3,
        held_delta: 0,
        balance_after: 7,
        held_after: 2,
        counter_account: 'revenue:sms',
        ref_type: 'message',
        ref_id: 'm1',
        ref_n: 2,
        channel: 'sms',
        quantity: 3,
        unit_price: 1_000_000,
        resolves: null,
        actor: 'key',
        description: 'why',
        created_at: AT,
      },
    })
  })

  const spending: [string, Partial<Account>, Operation, number | null][] = [
    ['all there is', { balance: units(5) }, operation('send', -5), null],
    ['one more than there is', { balance: units(5) }, operation('send', -6), 5],
    ['from nothing', {}, operation('send', -1), 0],
    ['what is held', { balance: units(5), held: units(3) }, operation('send', -3), 2],
    ['beside what is held', { balance: units(5), held: units(3) }, operation('send', -2), null],
    ['down to the credit limit', { credit_limit: units(4) }, operation('send', -4), null],
    ['past the credit limit', { credit_limit: units(4) }, operation('send', -5), 0],
    ['from a debt', { balance: units(-5) }, operation('send', -1), -5],
    ['a hold of all there is', { balance: units(5) }, operation('hold', 0, 5), null],
    ['a hold of more', { balance: units(5) }, operation('hold', 0, 6), 5],
    ['a second hold', { balance: units(5), held: units(4) }, operation('hold', 0, 2), 1],
  ]

  it.each(spending)('spends %s only with enough credits', (_, overrides, proposed, available) => {
    const decision = decide(account(overrides), proposed)
    if (available === null) expect(decision.ok).toBe(true)
    else {
      const required = proposed.held_delta - proposed.amount
      expect(decision).toEqual({ ok: false, reason: 'insufficient_credits', required, available })
    }
  })

  it.each([operation('send', -1), operation('hold', 0, 1)])(
    'refuses spending of a frozen account',
    (proposed) => {
      const frozen = account({ balance: units(100), status: 'frozen' })
      expect(decide(frozen, proposed)).toEqual({ ok: false, reason: 'account_frozen' })
    },
  )

  describe('a daily limit', () => {
    const TODAY = dayOf(AT)
    const cases: [string, Partial<Account>, Operation, number | null][] = [
      ['all of it', { daily_limit: units(5) }, operation('send', -5), null],
      ['one more than it', { daily_limit: units(5) }, operation('send', -6), 0],
      ['a hold', { daily_limit: units(5) }, operation('hold', 0, 6), 0],
      [
        'the rest of the day',
        { daily_limit: units(5), spent_on: TODAY, spent: units(3) },
        operation('send', -2),
        null,
      ],
      [
        'more than the rest of the day',
        { daily_limit: units(5), spent_on: TODAY, spent: units(3) },
        operation('send', -3),
        3,
      ],
      [
        'the whole limit, used up yesterday',
        { daily_limit: units(5), spent_on: TODAY - 1, spent: units(5) },
        operation('send', -5),
        null,
      ],
      ['a limit of zero', { daily_limit: units(0) }, operation('send', -1), 0],
      [
        'more than the rest of a day that began meanwhile',
        { daily_limit: units(5), spent_on: TODAY + 1, spent: units(3) },
        operation('send', -3),
        3,
      ],
    ]

    it.each(cases)('allows or refuses %s', (_, overrides, proposed, spent) => {
      const decision = decide(account({ balance: units(100), ...overrides }), proposed)
      if (spent === null) {
        expect(decision).toMatchObject({ ok: true, account: { spent_on: TODAY } })
      } else {
        const required = proposed.held_delta - proposed.amount
        const refusal = { ok: false, reason: 'daily_limit', required, limit: overrides.daily_limit }
        expect(decision).toEqual({ ...refusal, spent })
      }
    })

    it('counts a request from before midnight on the day that has begun', () => {
      const before = account({ balance: units(9), spent_on: TODAY + 1, spent: units(4) })
      const late = decide(before, operation('send', -3))
      expect(late).toMatchObject({ account: { spent_on: TODAY + 1, spent: 7 } })
    })

    it('also counts spending without a limit, and only spending', () => {
      const before = account({ balance: units(9), spent_on: TODAY, spent: units(4) })
      const after = (proposed: Operation) => decide(before, proposed)
      expect(after(operation('send', -3))).toMatchObject({ account: { spent: 7 } })
      expect(after(operation('hold', 0, 3))).toMatchObject({ account: { spent: 7 } })
      expect(after(operation('refund', 3))).toMatchObject({ account: { spent: 4 } })
      expect(after(operation('expire', -3))).toMatchObject({ account: { spent: 4 } })
    })
  })

  describe('a low balance', () => {
    const cases: [string, Partial<Account>, Operation, Account['low_state']][] = [
      ['stays above', { balance: units(12) }, operation('send', -2), 'no'],
      ['falls below', { balance: units(12) }, operation('send', -3), 'due'],
      ['falls below by a hold', { balance: units(12) }, operation('hold', 0, 3), 'due'],
      ['falls below by an expiry', { balance: units(12) }, operation('expire', -3), 'due'],
      [
        'falls further before the notification',
        { balance: units(9), low_state: 'due' },
        operation('send', -1),
        'due',
      ],
      [
        'falls further after the notification',
        { balance: units(9), low_state: 'told' },
        operation('send', -1),
        'told',
      ],
      [
        'rises, not enough',
        { balance: units(3), low_state: 'told' },
        operation('grant', 5),
        'told',
      ],
      ['rises above', { balance: units(3), low_state: 'told' }, operation('grant', 7), 'no'],
      [
        'rises above before the notification',
        { balance: units(9), low_state: 'due' },
        operation('refund', 1),
        'no',
      ],
      ['was below from the start', { balance: units(3) }, operation('send', -1), 'no'],
    ]

    it.each(cases)('is reported once: %s', (_, overrides, proposed, low_state) => {
      const before = account({ low_balance: units(10), ...overrides })
      expect(decide(before, proposed)).toMatchObject({ ok: true, account: { low_state } })
    })

    it('is not tracked without a threshold', () => {
      const decision = decide(account({ balance: units(1) }), operation('send', -1))
      expect(decision).toMatchObject({ account: { low_state: 'no' } })
    })
  })

  /** Facts are booked in any state of the account: they have happened. */
  const facts: Operation[] = [
    operation('purchase', 5),
    operation('purchase_adjust', 5),
    operation('purchase_adjust', -500),
    operation('grant', 5),
    operation('refund', 5),
    operation('settle', -500, -1),
    operation('settle', -500),
    operation('settle', 0, -1),
    operation('void', 0, -1),
    operation('expire', -500),
    operation('adjustment', 5),
    operation('adjustment', -500),
  ]

  it.each(facts)(
    'books $kind of $amount and $held_delta without a check of the credits',
    (fact) => {
      const before = account({ balance: units(1), held: units(1), status: 'frozen' })
      expect(decide(before, fact)).toMatchObject({
        ok: true,
        account: { balance: 1 + fact.amount, held: 1 + fact.held_delta, seq: 1 },
      })
    },
  )

  /** The allowed signs of amount and hold. */
  const SIGNS: Record<EntryKind, string[]> = {
    purchase: ['+0'],
    purchase_adjust: ['+0', '-0'],
    grant: ['+0'],
    send: ['-0'],
    refund: ['+0'],
    hold: ['0+'],
    settle: ['--', '-0', '0-'],
    void: ['0-'],
    expire: ['-0'],
    adjustment: ['+0', '-0'],
  }
  const shapes = ENTRY_KINDS.flatMap((kind) =>
    [-1, 0, 1].flatMap((amount) => [-1, 0, 1].map((held) => [kind, amount, held] as const)),
  )

  it.each(shapes)(
    '%s of %d and %d: accepts its signs, throws for all others',
    (kind, amount, held) => {
      const sign = (n: number) => (n === 0 ? '0' : n < 0 ? '-' : '+')
      const rich = account({ balance: units(10), held: units(1) })
      const attempt = () => decide(rich, operation(kind, amount, held))
      if (SIGNS[kind].includes(sign(amount) + sign(held))) expect(attempt().ok).toBe(true)
      else expect(attempt).toThrow(RangeError)
    },
  )

  it.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    'throws for an amount of %d',
    (n) => {
      expect(() => decide(account(), operation('grant', n))).toThrow(RangeError)
      expect(() => decide(account({ balance: units(1) }), operation('hold', 0, n))).toThrow(
        RangeError,
      )
    },
  )

  it('repeats an entry only with the same amount and the same hold', () => {
    const decision = decide(account({ balance: units(10) }), operation('hold', 0, 4))
    if (!decision.ok) throw new Error(decision.reason)
    expect(isRepetition(decision.entry, operation('hold', 0, 4))).toBe(true)
    expect(isRepetition(decision.entry, operation('hold', 0, 5))).toBe(false)
    expect(isRepetition(decision.entry, operation('settle', -1, 4))).toBe(false)
  })

  it('throws for a balance past the cap in either direction', () => {
    const full = account({ balance: units(UNITS_MAX) })
    const broke = account({ balance: units(-UNITS_MAX) })
    expect(() => decide(full, operation('grant', 1))).toThrow('balance past the cap')
    expect(() => decide(broke, operation('adjustment', -1))).toThrow('balance past the cap')
    expect(decide(account({ balance: units(UNITS_MAX - 1) }), operation('grant', 1)).ok).toBe(true)
  })

  it('throws when more is released than held', () => {
    const before = account({ balance: units(5), held: units(1) })
    expect(() => decide(before, operation('void', 0, -2))).toThrow('more released than held')
  })
})

/** An operation of any kind, with valid signs. */
const operations = fc
  .record({
    kind: fc.constantFrom(...ENTRY_KINDS),
    amount: fc.integer({ min: 1, max: 1_000 }),
    held: fc.integer({ min: 1, max: 1_000 }),
    up: fc.boolean(),
    part: fc.constantFrom('both', 'amount', 'held'),
  })
  .map(wellShaped)

function wellShaped(proposed: {
  kind: EntryKind
  amount: number
  held: number
  up: boolean
  part: string
}): Operation {
  const { kind, amount, held, up, part } = proposed
  switch (kind) {
    case 'purchase':
    case 'grant':
    case 'refund':
      return operation(kind, amount)
    case 'send':
    case 'expire':
      return operation(kind, -amount)
    case 'purchase_adjust':
    case 'adjustment':
      return operation(kind, up ? amount : -amount)
    case 'hold':
      return operation(kind, 0, held)
    case 'void':
      return operation(kind, 0, -held)
    case 'settle':
      return operation(kind, part === 'held' ? 0 : -amount, part === 'amount' ? 0 : -held)
  }
}

describe('any history of an account', () => {
  it('balances after every operation; a refused operation changes nothing', () => {
    const starts = fc.record({
      credit_limit: fc.constantFrom(0, 500).map(units),
      status: fc.constantFrom<Account['status']>('active', 'active', 'active', 'frozen'),
    })
    fc.assert(
      fc.property(starts, fc.array(operations, { maxLength: 60 }), (start, history) => {
        let current = account(start)
        let balance = 0
        let held = 0
        let seq = 0
        for (const proposed of history) {
          const before = { ...current }
          const spends = proposed.kind === 'send' || proposed.kind === 'hold'
          const required = proposed.held_delta - proposed.amount
          const available = balance - held

          if (held + proposed.held_delta < 0) {
            expect(() => decide(current, proposed)).toThrow(RangeError)
            expect(current).toEqual(before)
            continue
          }
          const decision = decide(current, proposed)
          expect(current).toEqual(before)

          if (spends && start.status === 'frozen') {
            expect(decision).toEqual({ ok: false, reason: 'account_frozen' })
          } else if (spends && available - required < -start.credit_limit) {
            const refusal = { ok: false, reason: 'insufficient_credits', required, available }
            expect(decision).toEqual(refusal)
          } else {
            if (!decision.ok) throw new Error(`refused without a reason: ${decision.reason}`)
            balance += proposed.amount
            held += proposed.held_delta
            seq += 1
            expect(decision.entry).toMatchObject({
              seq,
              balance_after: before.balance + proposed.amount,
              held_after: before.held + proposed.held_delta,
            })
            expect(decision.account).toMatchObject({ ...start, balance, held, seq })
            if (spends) expect(balance - held).toBeGreaterThanOrEqual(-start.credit_limit)
            current = Object.freeze(decision.account)
          }
        }
      }),
      { numRuns: 500 },
    )
  })
})
