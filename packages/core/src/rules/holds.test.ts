import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Units, units } from '../contract/fields/units.ts'
import { type Account, decide, type Entry, newAccount, type Operation } from './decide.ts'
import {
  isReleased,
  isSettled,
  planHoldRelease,
  planHoldSettle,
  planHoldVoid,
  type Resolution,
  resolutionOperation,
} from './holds.ts'

const AT = new Date('2026-05-04T09:00:00.000Z')
const PRICE = units(2)

/** An account and the entries about the message `call`; its methods book as a storage does. */
function book() {
  let account: Account = { ...newAccount('w1'), balance: units(1_000) }
  const entries: Entry[] = []
  let ids = 0
  const post = (operation: Operation) => {
    const decision = decide(account, operation)
    if (!decision.ok) throw new Error(decision.reason)
    account = decision.account
    entries.push(decision.entry)
  }
  return {
    entries,
    account: () => account,
    hold(amount: number, n = entries.length) {
      post({
        id: `h${n}`,
        kind: 'hold',
        amount: units(0),
        held_delta: units(amount),
        counter_account: 'revenue:voice',
        reference: { type: 'message', id: 'call', n },
        channel: 'voice',
        quantity: amount / PRICE,
        unit_price: PRICE,
        resolves: null,
        actor: null,
        description: null,
        at: AT,
      })
    },
    resolve(resolutions: readonly Resolution[]) {
      const base = { message_id: 'call', actor: null, at: AT }
      for (const each of resolutions) {
        post(resolutionOperation(each, { ...base, id: `r${++ids}` }))
      }
    },
  }
}

function resolutions(plan: ReturnType<typeof planHoldSettle>): Resolution[] {
  if (plan.outcome !== 'post') throw new Error(`nothing to post: ${plan.outcome}`)
  return plan.resolutions
}

/** Kind, amount, released credits and the hold that ends. */
const inShort = (plan: readonly Resolution[]) =>
  plan.map(({ kind, amount, held_delta, resolves }) => [kind, amount, held_delta, resolves])

describe('planHoldSettle', () => {
  const cases: [string, number, number[], unknown[][], (string | null)[]][] = [
    ['the whole hold', 10, [10], [['settle', -10, -10, 'h0']], [null]],
    ['a part and releases the rest', 4, [10], [['settle', -4, -10, 'h0']], [null]],
    ['nothing', 0, [10], [['settle', 0, -10, 'h0']], [null]],
    [
      'nothing, of several',
      0,
      [10, 6],
      [
        ['void', 0, -10, 'h0'],
        ['settle', 0, -6, 'h1'],
      ],
      [null, null],
    ],
    [
      'the oldest first',
      12,
      [10, 6, 6],
      [
        ['settle', -10, -10, 'h0'],
        ['settle', -2, -6, 'h1'],
        ['void', 0, -6, 'h2'],
      ],
      [null, null, null],
    ],
    [
      'more than is held, on the last',
      20,
      [10, 6],
      [
        ['settle', -10, -10, 'h0'],
        ['settle', -10, -6, 'h1'],
      ],
      [null, 'overage of 0.000004 credits'],
    ],
  ]

  it.each(cases)('takes %s', (_, amount, held, expected, texts) => {
    const { entries, hold } = book()
    for (const each of held) hold(each)
    const plan = resolutions(planHoldSettle(entries, units(amount)))
    expect(inShort(plan)).toEqual(expected)
    expect(plan.map(({ description }) => description)).toEqual(texts)
  })

  it('carries the price and channel of the hold, and the number of consumed units', () => {
    const { entries, hold } = book()
    hold(10)
    const price = { unit_price: PRICE, channel: 'voice', counter_account: 'revenue:voice' }
    expect(resolutions(planHoldSettle(entries, units(6)))).toMatchObject([
      { ...price, quantity: 3 },
    ])
    expect(resolutions(planHoldSettle(entries, units(5)))).toMatchObject([
      { ...price, quantity: null },
    ])
  })

  it('books only the amount when the hold was released before', () => {
    const { entries, hold, resolve } = book()
    hold(10)
    resolve(planHoldRelease(entries, new Set(['h0'])))
    const plan = resolutions(planHoldSettle(entries, units(6)))
    expect(inShort(plan)).toEqual([['settle', -6, 0, null]])
    expect(plan).toMatchObject([{ n: 0, description: 'settled after its hold was released' }])
    resolve(plan)
    expect(planHoldSettle(entries, units(6))).toMatchObject({ outcome: 'repeated' })
  })

  it('does nothing for a message that never had a hold', () => {
    const { entries, hold } = book()
    expect(planHoldSettle([], units(6))).toEqual({ outcome: 'not_held' })
    hold(10)
    const foreign = entries.map((entry) => ({ ...entry, ref_type: 'bulk' }))
    expect(planHoldSettle(foreign, units(6))).toEqual({ outcome: 'not_held' })
    expect(planHoldVoid(foreign)).toEqual({ outcome: 'not_held' })
  })

  it('returns a conflict for another amount than before', () => {
    const { entries, hold, resolve } = book()
    hold(10)
    resolve(resolutions(planHoldSettle(entries, units(6))))
    const standing = entries.at(-1)
    expect(planHoldSettle(entries, units(5))).toEqual({ outcome: 'conflict', standing })
  })

  it('returns a conflict for an amount after a settled 0, but books it after a void', () => {
    const settled = book()
    settled.hold(10)
    settled.resolve(resolutions(planHoldSettle(settled.entries, units(0))))
    const standing = settled.entries.at(-1)
    expect(planHoldSettle(settled.entries, units(5))).toEqual({ outcome: 'conflict', standing })
    expect(planHoldSettle(settled.entries, units(0))).toMatchObject({ outcome: 'repeated' })
    expect(isSettled(settled.entries)).toBe(true)

    const voided = book()
    voided.hold(10)
    voided.resolve(resolutions(planHoldVoid(voided.entries)))
    expect(planHoldSettle(voided.entries, units(0))).toMatchObject({ outcome: 'repeated' })
    const late = resolutions(planHoldSettle(voided.entries, units(5)))
    expect(inShort(late)).toEqual([['settle', -5, 0, null]])
  })

  it.each([-1, Number.NaN])('throws for an amount of %d', (amount) => {
    expect(() => planHoldSettle([], amount as Units)).toThrow(RangeError)
  })
})

describe('planHoldVoid', () => {
  it('releases all open holds, each once', () => {
    const { entries, hold, resolve } = book()
    hold(10)
    hold(6)
    const plan = resolutions(planHoldVoid(entries))
    expect(inShort(plan)).toEqual([
      ['void', 0, -10, 'h0'],
      ['void', 0, -6, 'h1'],
    ])
    resolve(plan)
    expect(planHoldVoid(entries)).toEqual({ outcome: 'repeated', entries: entries.slice(2) })
    expect(isSettled(entries)).toBe(false)
  })
})

it('planHoldRelease releases the named holds that are open', () => {
  const { entries, hold, resolve } = book()
  hold(10)
  hold(6)
  const plan = planHoldRelease(entries, new Set(['h1', 'of another message']))
  expect(inShort(plan)).toEqual([['void', 0, -6, 'h1']])
  expect(plan).toMatchObject([{ description: 'hold expired' }])
  resolve(plan)
  expect(planHoldRelease(entries, new Set(['h1']))).toEqual([])
})

it('isReleased: every hold ends without consumption', () => {
  const { entries, hold, resolve } = book()
  for (const each of [10, 6, 4]) hold(each)
  const release = (...ids: string[]) => planHoldRelease(entries, new Set(ids))
  expect(isReleased(entries, release('h0', 'h1', 'h2'))).toBe(true)
  expect(isReleased(entries, release('h0', 'h1'))).toBe(false)
  resolve(release('h0'))
  expect(isReleased(entries, release('h1', 'h2'))).toBe(true)
  expect(isReleased(entries, release('h2'))).toBe(false)
  const settled = book()
  settled.hold(10)
  settled.resolve(resolutions(planHoldSettle(settled.entries, units(4))))
  expect(isReleased(settled.entries, [])).toBe(false)
  expect(isSettled(settled.entries)).toBe(true)
  expect(isSettled(entries)).toBe(false)
})

describe('any holds', () => {
  it('end once each, leave nothing held and cost the consumed amount', () => {
    const happening = fc.record({
      held: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
      released: fc.array(fc.nat(4)),
      amount: fc.nat(120),
    })
    fc.assert(
      fc.property(happening, ({ held, released, amount }) => {
        const { entries, account, hold, resolve } = book()
        for (const each of held) hold(each)
        resolve(planHoldRelease(entries, new Set(released.map((n) => `h${n}`))))
        const plan = planHoldSettle(entries, units(amount))
        if (plan.outcome === 'post') resolve(plan.resolutions)
        else expect({ amount, held: account().held }).toEqual({ amount: 0, held: 0 })

        expect(account()).toMatchObject({ balance: 1_000 - amount, held: 0 })
        const ended = entries.flatMap(({ resolves }) => resolves ?? [])
        expect(ended.sort()).toEqual(held.map((_, n) => `h${n}`))
        expect(planHoldSettle(entries, units(amount))).toMatchObject({ outcome: 'repeated' })
        expect(planHoldVoid(entries)).toMatchObject({ outcome: 'repeated' })
      }),
    )
  })
})
